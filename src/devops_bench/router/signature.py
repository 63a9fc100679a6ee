"""A signature: a code span of the table as a matcher.

Case and the amount of white space do not count. `*` stands for anything (at most SPAN characters), `#` for one digit.
An end that is a letter or digit must also end a word in the text, so that `EOF` is not found in `GEOFF`; an end that is
`*` need not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

SPAN = 400
LEAST = 4  # literal characters: shorter ones would match ordinary text


@dataclass(frozen=True, slots=True)
class Signature:
    """`text` as written. `weight` counts its literal characters: of two that match, the heavier one counts."""

    text: str
    weight: int
    _needle: str = field(repr=False, compare=False)

    @classmethod
    def of(cls, text: str) -> Signature:
        """From a code span. ValueError when it is too unspecific to mean anything."""
        core = " ".join(text.split()).strip("*").strip()
        weight = len(re.sub(r"[*#\s]", "", core))
        if weight < LEAST:
            raise ValueError(f"signature `{text}` has fewer than {LEAST} literal characters")
        return cls(text, weight, max(re.split(r"[*#\s]+", core.lower()), key=len))

    def found_in(self, text: str) -> bool:
        """Whether `text`, in lower case, holds it."""
        return self._needle in text and _pattern(self.text).search(text) is not None


@lru_cache(maxsize=4096)
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled when its longest literal was seen for the first time: most never are."""
    core = " ".join(text.split()).strip("*").strip()
    parts = [_piece(piece) for piece in re.split(r"([*#]|\s+)", core) if piece]
    left = "" if text.startswith("*") or not core[0].isalnum() else "(?<![a-z0-9])"
    right = "" if text.endswith("*") or not core[-1].isalnum() else "(?![a-z0-9])"
    return re.compile(left + "".join(parts) + right)


def _piece(piece: str) -> str:
    if piece == "*":
        return rf"[\s\S]{{0,{SPAN}}}?"
    if piece == "#":
        return r"\d"
    return r"\s+" if piece.isspace() else re.escape(piece.lower())

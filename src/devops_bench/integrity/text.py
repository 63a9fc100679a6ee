"""Turning hostile values into text to search, and searching it in bounded time.

Arguments are flattened to their strings rather than encoded, because an escaped newline would glue itself to the next
word. google-re2 is linear by construction; where it is missing, `re` runs the same bounded patterns on short windows
with a deadline between them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

try:
    import re2
except ImportError:  # pragma: no cover - platforms without the wheel
    re2 = None

WINDOW = 256 << 10
OVERLAP = 1 << 10
"""Characters; longer than any match."""
MAX_LEAVES = 200_000

Span = tuple[int, int]


class OutOfTime(Exception):
    """The scan's deadline passed; what was not read cannot be called clean."""


class Deadline:
    """CPU seconds of this thread from now, checked between windows: a busy host must not cost a verdict."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.thread_time) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def check(self) -> None:
        """Raise OutOfTime when it has passed."""
        if self._clock() > self._end:
            raise OutOfTime


@cache
def compiled(regex: str) -> Any:
    """The pattern, without regard to case and with `^` at line starts, in the best engine there is."""
    pattern = f"(?im){regex}"
    return re.compile(pattern) if re2 is None else re2.compile(pattern)


def flatten(value: Any) -> str:
    """All strings, numbers and keys inside `value`, one a line, to any depth, at most MAX_LEAVES of them."""
    leaves: list[str] = []
    stack = [value]
    while stack and len(leaves) < MAX_LEAVES:
        item = stack.pop()
        if isinstance(item, str):
            leaves.append(item)
        elif isinstance(item, Mapping):
            for key, inner in reversed(list(item.items())):
                stack += [inner, str(key)]
        elif isinstance(item, list | tuple):
            stack.extend(reversed(item))
        elif item is not None:
            leaves.append(str(item))
    return encodable("\n".join(leaves))


def encodable(text: str) -> str:
    """`text` without lone surrogates, which RE2 cannot take."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def windows(text: str, deadline: Deadline) -> Iterator[tuple[int, str]]:
    """Pieces of `text` with their offsets, each overlapping the next; the deadline is checked before each."""
    start = 0
    while True:
        deadline.check()
        yield start, text[start : start + WINDOW]
        start += WINDOW - OVERLAP
        if start + OVERLAP >= len(text):
            return


def find(regex: str, text: str, deadline: Deadline) -> Iterator[Span]:
    """Spans of matches in `text`, each once. What touches a window's border is left to the one that holds it whole."""
    pattern = compiled(regex)
    last = -1
    for offset, piece in windows(text, deadline):
        ends_early = offset + len(piece) < len(text)
        for match in pattern.finditer(piece):
            start, end = match.span()
            cut = (offset > 0 and start == 0) or (ends_early and end == len(piece))
            if start == end or cut or offset + start <= last:
                continue
            last = offset + start
            yield offset + start, offset + end

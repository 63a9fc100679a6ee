"""The near miss behind a misspelt word: every 'unknown' message of the matrix offers one."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, ignoring case; None when nothing is close."""
    table = {name.lower(): name for name in known}
    hits = get_close_matches(word.lower(), list(table), n=1, cutoff=0.5)
    return table[hits[0]] if hits else None


def advice(word: str, known: Iterable[str]) -> str:
    """What to do about an unknown `word`: `did you mean 'mcp'? known: mcp, skills`."""
    names = list(known)
    hit = nearest(word, names)
    listing = f"known: {', '.join(names)}"
    return f"did you mean {hit!r}? {listing}" if hit else f"use one of these; {listing}"

"""Text for people: what comes from outside (agents, clusters, models, file names) made harmless, counts, columns."""

from __future__ import annotations

from collections.abc import Sequence


def one_line(text: str, limit: int = 0) -> str:
    """One line without control, escape or direction characters, cut to `limit` characters when that is not 0."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if not limit or len(line) <= limit else line[: limit - 1] + "…"


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 combo`, `2 combos`; `plural` where that is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def visible(text: str) -> str:
    """The text with its lines and tabs; every other unprintable character as its escape."""
    return "".join(char if char.isprintable() or char in "\n\t" else f"\\x{ord(char):02x}" for char in text)


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of equally many cells as lines of left-aligned columns, each as wide as its widest cell."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]

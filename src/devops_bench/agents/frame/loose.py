"""JSON that an agent wrote, as plain values: whatever is there, the answer has the asked type or is the empty one.

A transcript is hostile input: fields are missing, of another type, or a megabyte of brackets. Adapters read it by these
functions alone, so that none of them can be made to raise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

MAX_LINE = 16 << 20
MAX_RECORDS = 200_000


def record(line: bytes) -> dict[str, Any] | None:
    """The JSON object in one line; None for anything else."""
    if len(line) > MAX_LINE or line.lstrip()[:1] != b"{":
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def records(lines: Iterable[bytes]) -> tuple[list[dict[str, Any]], int]:
    """The objects of JSON lines, and how many lines that are not empty could not be read."""
    found: list[dict[str, Any]] = []
    broken = 0
    for line in lines:
        if not line.strip():
            continue
        one = record(line)
        if one is None or len(found) >= MAX_RECORDS:
            broken += 1
        else:
            found.append(one)
    return found, broken


def mapping(value: object) -> Mapping[str, Any]:
    """An object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """A list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: object) -> str:
    """A string, else an empty one."""
    return value if isinstance(value, str) else ""


def tidy(*values: object) -> tuple[str, ...]:
    """Messages, each on one line of at most 500 characters; what is no text is left out."""
    return tuple(" ".join(said.split())[:500] for value in values if (said := text(value)))


def count(value: object) -> int | None:
    """A whole number from 0 to 2^53, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1 << 53:
        return None
    return int(value)


def number(value: object) -> float | None:
    """A finite number not below 0, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return float(value)


def arguments(value: object) -> dict[str, Any]:
    """The arguments of a tool call: an object, or one written as a string; anything else under `raw`."""
    if isinstance(value, str):
        one = record(value.encode())
        return one if one is not None else ({"raw": value} if value.strip() else {})
    return dict(value) if isinstance(value, dict) else {}


def moment(value: object, default: float = 0.0) -> float:
    """An ISO 8601 time as epoch seconds, else `default`."""
    try:
        return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() if isinstance(value, str) else default
    except (ValueError, OverflowError, OSError):
        return default


def words(content: object, depth: int = 8) -> str:
    """The text of a content field: a string, or a list of parts of which those with `text` (or `refusal`) count, a line
    each.
    """
    if isinstance(content, str) or depth == 0:
        return text(content)
    if isinstance(content, dict):
        return text(content.get("text")) or text(content.get("refusal")) or words(content.get("content"), depth - 1)
    return "\n".join(part for part in (words(item, depth - 1) for item in items(content)[:10_000]) if part)

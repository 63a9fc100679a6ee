"""What a fixer spent, by its own word: a file, or what headless coding agents print.

Nobody stands between a fixer and its provider, so its word is all there is. `None` is "it did not say", never nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VARIABLE = "BENCH_FIX_SPEND"
LARGEST = 64 << 10
# Anthropic's usage counts cached input apart, OpenAI's within.
_PARTS = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


@dataclass(frozen=True, slots=True)
class Spend:
    """USD and tokens; None: not told."""

    cost: float | None = None
    tokens: int | None = None


def spend_of(file: Path, said: bytes) -> Spend:
    """The file's `{"cost_usd": USD, "tokens": N}` if the fixer wrote it, else what its output tells line by line."""
    try:
        with file.open("rb") as handle:
            data = _object(handle.read(LARGEST))
    except OSError:
        data = {}
    written = Spend(_figure(data.get("cost_usd")), _count(data.get("tokens")))
    return written if written != Spend() else _printed(said)


def _printed(said: bytes) -> Spend:
    """`claude -p --output-format json` ends with one object, `codex exec --json` tells the usage of each turn."""
    cost, turns, whole = None, [], None
    for line in said.splitlines():
        if b'"usage"' not in line and b'"total_cost_usd"' not in line:
            continue
        data = _object(line)
        tokens = _total(data.get("usage"))
        if data.get("type") == "turn.completed" and tokens is not None:
            turns.append(tokens)
        elif data.get("type") == "result":
            cost, whole = _figure(data.get("total_cost_usd")), tokens
    return Spend(cost, whole if whole is not None else sum(turns) if turns else None)


def _total(usage: Any) -> int | None:
    if not isinstance(usage, Mapping):
        return None
    found = [count for name in _PARTS if (count := _count(usage.get(name))) is not None]
    return sum(found) if found else None


def _object(raw: bytes) -> Mapping[str, Any]:
    try:
        data = json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _figure(value: Any) -> float | None:
    fine = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < float("inf")
    return float(value) if fine else None


def _count(value: Any) -> int | None:
    figure = _figure(value)
    return int(figure) if figure is not None else None

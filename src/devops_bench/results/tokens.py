"""Token figures of any provider under six names. A figure that nobody told is None, never 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devops_bench.results.scorekeys import number

INPUT = ("input", "prompt_tokens", "prompt_token_count", "input_tokens")
OUTPUT = ("output", "candidates_tokens", "candidates_token_count", "completion_tokens", "output_tokens")
CACHED = ("cached", "cache_read_input_tokens", "cached_content_token_count", "cacheRead")
CACHE_WRITE = ("cache_write", "cache_creation_input_tokens", "cacheWrite")
REASONING = ("reasoning", "thoughts_token_count", "reasoning_tokens", "reasoningTokens")
TOTAL = ("total", "total_tokens", "total_token_count", "totalTokens")


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counts of one attempt; None where not told."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    cache_write: int | None = None
    reasoning: int | None = None
    total: int | None = None


def read_tokens(tokens: Mapping[str, Any] | None) -> Tokens:
    """The six counts of a `tokens` dict; per count the first key that holds a number wins."""
    usage = tokens or {}

    def first(keys: tuple[str, ...]) -> int | None:
        for key in keys:
            found = number(usage.get(key))
            if found is not None and found >= 0:
                return int(found)
        return None

    return Tokens(first(INPUT), first(OUTPUT), first(CACHED), first(CACHE_WRITE), first(REASONING), first(TOTAL))

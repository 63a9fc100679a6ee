"""Token figures under any provider's names."""

from __future__ import annotations

from typing import Any

import pytest

from devops_bench.results import tokens as t
from devops_bench.results.tokens import Tokens, read_tokens

NAMES = {
    "input": t.INPUT,
    "output": t.OUTPUT,
    "cached": t.CACHED,
    "cache_write": t.CACHE_WRITE,
    "reasoning": t.REASONING,
    "total": t.TOTAL,
}


@pytest.mark.parametrize(("field", "names"), NAMES.items())
def test_each_name_is_read_and_the_first_one_wins(field: str, names: tuple[str, ...]) -> None:
    for position, name in enumerate(names):
        later = dict.fromkeys(names[position + 1 :], 999)
        assert getattr(read_tokens({**later, name: 5}), field) == 5


def test_the_names_are_those_of_the_format() -> None:
    assert NAMES == {
        "input": ("input", "prompt_tokens", "prompt_token_count", "input_tokens"),
        "output": ("output", "candidates_tokens", "candidates_token_count", "completion_tokens", "output_tokens"),
        "cached": ("cached", "cache_read_input_tokens", "cached_content_token_count", "cacheRead"),
        "cache_write": ("cache_write", "cache_creation_input_tokens", "cacheWrite"),
        "reasoning": ("reasoning", "thoughts_token_count", "reasoning_tokens", "reasoningTokens"),
        "total": ("total", "total_tokens", "total_token_count", "totalTokens"),
    }


@pytest.mark.parametrize("nothing", [None, "12", True, float("nan"), -1, [], {}])
def test_what_is_no_count_is_passed_over(nothing: Any) -> None:
    assert read_tokens({"input": nothing, "prompt_tokens": 9}).input == 9
    assert read_tokens({"input": nothing}).input is None


def test_zero_is_a_count() -> None:
    assert read_tokens({"cached": 0, "cacheRead": 7}).cached == 0


def test_nothing_told_is_nothing_known() -> None:
    assert read_tokens(None) == read_tokens({}) == Tokens()

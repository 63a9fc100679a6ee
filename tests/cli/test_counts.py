"""One is one: counts in messages agree with their noun."""

from __future__ import annotations

import pytest

from devops_bench.plaintext import counted


@pytest.mark.parametrize(
    ("number", "noun", "plural", "text"),
    [
        (0, "combo", "", "0 combos"),
        (1, "combo", "", "1 combo"),
        (2, "combo", "", "2 combos"),
        (1, "fix", "fixes", "1 fix"),
        (3, "fix", "fixes", "3 fixes"),
    ],
)
def test_a_count_agrees_with_its_noun(number: int, noun: str, plural: str, text: str) -> None:
    assert counted(number, noun, plural) == text

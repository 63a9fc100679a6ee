"""Estimators against brute force and published values."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.scoring.stats import pass_at_k, pass_pow_k, wilson


@given(st.integers(1, 8).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n), st.integers(1, n))))
def test_both_estimators_equal_the_count_over_all_draws(case: tuple[int, int, int]) -> None:
    n, c, k = case
    draws = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(any(draw) for draw in draws) / len(draws))
    assert pass_pow_k(n, c, k) == pytest.approx(sum(all(draw) for draw in draws) / len(draws))


def test_fewer_attempts_than_k_prove_nothing() -> None:
    assert pass_at_k(4, 4, 5) is None
    assert pass_pow_k(0, 0, 1) is None


@pytest.mark.parametrize(
    ("c", "n", "low", "high"),
    # Newcombe 1998, Statistics in Medicine 17, table I, method 3
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_wilson_interval_has_its_published_values(c: int, n: int, low: float, high: float) -> None:
    found = wilson(c, n)
    assert found == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n))))
def test_the_interval_holds_the_rate_and_mirrors(case: tuple[int, int]) -> None:
    n, c = case
    found, mirrored = wilson(c, n), wilson(n - c, n)
    assert found is not None and mirrored is not None
    assert 0 <= found[0] <= c / n <= found[1] <= 1
    assert found[0] == pytest.approx(1 - mirrored[1])


@pytest.mark.parametrize(("n", "c", "k"), [(1, 2, 1), (1, -1, 1), (1, 1, 0)])
def test_impossible_counts_are_refused(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="need"):
        pass_at_k(n, c, k)


def test_nothing_has_no_interval() -> None:
    assert wilson(0, 0) is None

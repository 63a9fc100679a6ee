"""The leaderboard says what the numbers allow and no more."""

from __future__ import annotations

from math import comb
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.report.model import Combo, Run, Verdict
from devops_bench.report.ranking import best, mcnemar_exact, standings
from devops_bench.report.table import leader


def cell(task: str, setup: str, verdict: Verdict, *, score: float | None = None, repeat: int = 0) -> Combo:
    return Combo(
        rid=f"{task}-{setup}-{repeat}", task=task, title="", category="", model=setup, preset="api", harness="api",
        provider="kwok", repeat=repeat, verdict=verdict, state="", score=score,
    )  # fmt: skip


def run_of(*combos: Combo) -> Run:
    return Run("s", Path(), combos, len(combos), complete=True, done=True)


def outcomes(setup: str, text: str) -> list[Combo]:
    """`p` passed, `f` failed, `i` invalid, `u` unfinished; one task per letter."""
    words = {"p": Verdict.PASSED, "f": Verdict.FAILED, "i": Verdict.INVALID, "u": Verdict.UNFINISHED}
    scores = {"p": 1.0, "f": 0.0}
    return [cell(f"t{i}", setup, words[letter], score=scores.get(letter)) for i, letter in enumerate(text)]


def test_invalid_and_unfinished_combos_are_in_no_rate() -> None:
    [one] = standings(run_of(*outcomes("a", "ppfiu")))
    assert (one.planned, one.scored, one.passed, one.invalid, one.unfinished) == (5, 3, 2, 1, 1)
    assert one.rate == pytest.approx(2 / 3)
    assert (one.mean_score, one.score_n) == (pytest.approx(2 / 3), 3)


def test_a_setup_without_scores_has_no_rate_and_comes_last() -> None:
    ranked = standings(run_of(*outcomes("a", "ii"), *outcomes("b", "ff")))
    assert [s.setup for s in ranked] == ["b · api", "a · api"]
    assert (ranked[1].rate, ranked[1].low, ranked[1].mean_score, ranked[1].mean_cost) == (None, None, None, None)
    assert ranked[0].rate == 0.0


def test_equal_rates_are_ordered_by_n_then_name() -> None:
    ranked = standings(run_of(*outcomes("b", "pp"), *outcomes("a", "pp"), *outcomes("c", "ppp")))
    assert [s.model for s in ranked] == ["c", "a", "b"]


def test_few_tasks_cannot_tell_and_say_tied() -> None:
    run = run_of(*outcomes("a", "pppp"), *outcomes("b", "ffff"))
    found = best(run, standings(run))
    assert found is not None
    assert [s.model for s in found.tied] == ["b"]
    assert "4/4 passed (100%, 95% interval 51–100%, n=4); tied with b · api 0/4" in leader(run)


def test_enough_tasks_tell() -> None:
    run = run_of(*outcomes("a", "p" * 8), *outcomes("b", "f" * 6 + "pp"))
    found = best(run, standings(run))
    assert found is not None
    assert (found.leader.model, found.tied, found.others) == ("a", (), 1)
    assert "better than the other 1" in leader(run)


def test_setups_are_compared_on_the_tasks_they_share_only() -> None:
    easy = [cell(f"easy{i}", "a", Verdict.PASSED, score=1.0) for i in range(20)]
    hard = [cell(f"hard{i}", "b", Verdict.FAILED, score=0.0) for i in range(20)]
    run = run_of(*easy, *hard)
    found = best(run, standings(run))
    assert found is not None
    assert [s.model for s in found.tied] == ["b"]


def test_nothing_scored_has_no_best() -> None:
    run = run_of(*outcomes("a", "iu"))
    assert best(run, standings(run)) is None
    assert leader(run) == "best: none, nothing was scored"


def test_a_single_setup_is_not_called_better() -> None:
    assert leader(run_of(*outcomes("a", "pf"))).endswith("; the only setup with scores")


@pytest.mark.parametrize(
    ("b", "c", "p"), [(0, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (8, 1, 0.0390625), (3, 3, 1.0)]
)
def test_mcnemars_exact_p(b: int, c: int, p: float) -> None:
    assert mcnemar_exact(b, c) == pytest.approx(p)
    assert mcnemar_exact(c, b) == mcnemar_exact(b, c)


@settings(deadline=None)
@given(st.integers(0, 40), st.integers(0, 40))
def test_mcnemar_is_the_two_sided_sign_test(b: int, c: int) -> None:
    n, least = b + c, min(b, c)
    tail = sum(comb(n, k) for k in range(n + 1) if min(k, n - k) <= least)
    assert mcnemar_exact(b, c) == pytest.approx(min(1.0, tail / 2**n))

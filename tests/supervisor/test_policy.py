"""What may start, what is tried again: decisions as functions of data."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState
from devops_bench.supervisor import policy
from devops_bench.supervisor.state import ComboStatus

STATES = st.sampled_from(list(ComboState))


@given(st.lists(STATES, max_size=20), st.integers(0, 8), st.integers(1, 8), st.sets(st.integers(0, 19)))
def test_never_more_than_max_parallel_and_only_what_is_planned(
    states: list[ComboState], busy: int, limit: int, held: set[int]
) -> None:
    combos = {str(n): ComboStatus(state=state) for n, state in enumerate(states)}
    chosen = policy.startable(combos, combos, busy, limit, frozenset(map(str, held)))
    assert len(chosen) + busy <= max(limit, busy)
    assert all(combos[rid].state in {ComboState.PLANNED, ComboState.WAITING} for rid in chosen)
    assert not set(chosen) & set(map(str, held))
    open_rids = [rid for rid in combos if combos[rid].state in {ComboState.PLANNED, ComboState.WAITING}]
    free = [rid for rid in open_rids if int(rid) not in held]
    assert chosen == free[: max(0, limit - busy)]


def test_a_hung_combo_takes_one_slot_and_not_the_others() -> None:
    combos = {"hung": ComboStatus(state=ComboState.RUNNING), "next": ComboStatus(), "last": ComboStatus()}
    assert policy.startable(combos, combos, 1, 3, frozenset()) == ["next", "last"]


@pytest.mark.parametrize(
    ("state", "transient", "retries", "again"),
    [
        (ComboState.INVALID, True, 0, True),
        (ComboState.INVALID, True, 1, True),
        (ComboState.INVALID, True, policy.MAX_RETRIES, False),
        (ComboState.INVALID, False, 0, False),
        (ComboState.FAILED, True, 0, False),
        (ComboState.SCORED, True, 0, False),
        (ComboState.STOPPED, True, 0, False),
    ],
)
def test_only_transient_invalid_attempts_are_tried_again(
    state: ComboState, transient: bool, retries: int, again: bool
) -> None:
    outcome = Outcome(state, 1, signature="x", transient=transient)
    assert (policy.decide_retry(outcome, retries, random.Random(1)) is not None) is again


def test_a_cause_that_names_a_delay_is_waited_for() -> None:
    outcome = Outcome(ComboState.INVALID, 1, signature="x", transient=True, delay=30.0)
    retry = policy.decide_retry(outcome, 0, random.Random(1))
    assert retry is not None and retry.delay == 30.0


def test_backoff_grows() -> None:
    outcome = Outcome(ComboState.INVALID, 1, signature="x", transient=True)
    first = policy.decide_retry(outcome, 0, random.Random(1))
    second = policy.decide_retry(outcome, 1, random.Random(1))
    assert first is not None and second is not None and second.delay > first.delay

"""The scheduling core with an invented clock: slots, retries, rate limits, budgets, the circuit breaker."""

from __future__ import annotations

import random

import pytest

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor.follow_up import fault_of, follow_up
from devops_bench.supervisor.schedule import Budget, End, HaltKind, Job, Rules, Scheduler
from devops_bench.supervisor.state import ComboStatus

RNG = random.Random(1)
PASSED = End(ComboState.SCORED)


def scheduler(count: int, now: float = 0.0, **more: object) -> Scheduler:
    rules = Rules(**{"max_parallel": 3, **more})  # type: ignore[arg-type]
    made = Scheduler([Job(str(n), n, "google", "api") for n in range(count)], rules, now)
    for n in range(count):
        made.ready(str(n), now, now)
    return made


def invalid(klass: str = "infra", signature: str = "x", **more: object) -> Outcome:
    return Outcome(ComboState.INVALID, 1, klass=klass, signature=signature, **more)  # type: ignore[arg-type]


# -- slots ------------------------------------------------------------------------------------------------------------


def test_combos_start_in_plan_order_and_never_more_than_max_parallel() -> None:
    plan = scheduler(6)
    assert plan.due(0) == ["0", "1", "2"] and plan.due(0) == []
    plan.ended("1", PASSED, 1)
    assert plan.due(1) == ["3"]


def test_a_delayed_combo_takes_no_slot_and_comes_back_in_plan_order() -> None:
    plan = scheduler(5)
    plan.due(0)
    plan.ended("0", End(ComboState.INVALID), 1)
    plan.ready("0", 10, 1)
    assert plan.due(1) == ["3"] and plan.next_change(1) == 10
    plan.ended("1", PASSED, 11)
    assert plan.due(11) == ["0"]


def test_a_heavy_agent_takes_its_share_only_and_others_pass_it() -> None:
    jobs = [Job(str(n), n, None, "openclaw" if n < 4 else "api") for n in range(8)]
    plan = Scheduler(jobs, Rules(4, weights={"openclaw": 1}), 0)
    for job in jobs:
        plan.ready(job.rid, 0, 0)
    assert plan.due(0) == ["0", "4", "5", "6"]
    plan.ended("4", PASSED, 1)
    assert plan.due(1) == ["7"]


def test_what_needs_a_cluster_that_is_not_ready_waits_and_the_rest_runs() -> None:
    jobs = [Job("a", 0, cluster="kwok"), Job("b", 1), Job("c", 2, cluster="kwok")]
    plan = Scheduler(jobs, Rules(3), 0)
    for job in jobs:
        plan.ready(job.rid, 0, 0)
    assert plan.due(0, frozenset({"kwok"})) == ["b"]
    assert plan.only_waits_for(frozenset({"kwok"}))
    assert plan.due(0) == ["a", "c"]


def test_an_adopted_combo_counts() -> None:
    plan = scheduler(4)
    plan.running("3")
    assert plan.due(0) == ["0", "1"]


# -- retries ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "retries", "before", "again"),
    [
        (invalid("infra", "process-died", transient=True), 0, ("", ""), True),
        (invalid("infra", "process-died", transient=True), 1, ("process-died", "agent"), True),
        (invalid("infra", "process-died", transient=True), 2, ("process-died", "agent"), False),
        (invalid("infra", "agent-oom", phase="agent"), 0, ("", ""), True),
        (invalid("infra", "agent-oom", phase="agent"), 1, ("agent-oom", "agent"), False),
        (invalid("config-auth", "model-auth", phase="agent"), 0, ("", ""), False),
        (invalid("setup", "x", transient=True), 0, ("", ""), False),
        (invalid("model", "empty", transient=True), 0, ("", ""), False),
        (Outcome(ComboState.FAILED, 1, transient=True), 0, ("", ""), False),
        (Outcome(ComboState.SCORED, 0), 0, ("", ""), False),
    ],
)
def test_only_what_the_table_calls_transient_is_tried_again(
    outcome: Outcome, retries: int, before: tuple[str, str], again: bool
) -> None:
    combo = ComboStatus(state=outcome.state, retries=retries, retried_for=before)
    found = follow_up(combo, outcome, fault_of(outcome), False, Rules(3), RNG)
    assert (found.retry is not None) is again
    assert found.final is not again


def test_an_unknown_failure_is_tried_once_more_and_the_same_one_again_stops() -> None:
    outcome = invalid("unknown", "", reason="the gizmo fell over at 10:00:01", phase="verify")
    fault = fault_of(outcome)
    assert fault is not None and fault.signature.startswith("fp-")
    first = follow_up(ComboStatus(), outcome, fault, False, Rules(3), RNG)
    assert first.retry is not None
    again = ComboStatus(retries=1, retried_for=(fault.signature, "verify"))
    later = invalid("unknown", "", reason="the gizmo fell over at 11:22:33", phase="verify")
    end = follow_up(again, later, fault_of(later), False, Rules(3), RNG)
    assert end.retry is None and end.final and end.exhausted
    other = invalid("unknown", "", reason="quite another thing", phase="verify")
    assert follow_up(again, other, fault_of(other), False, Rules(3), RNG).retry is not None


def test_nothing_is_planned_while_stopping() -> None:
    outcome = invalid("infra", "process-died", transient=True)
    found = follow_up(ComboStatus(), outcome, fault_of(outcome), True, Rules(3), RNG)
    assert found.retry is None and not found.final


def test_backoff_doubles_and_a_named_delay_is_waited_for() -> None:
    rules = Rules(3, backoff=10)
    delays = []
    for retries in (0, 1):
        outcome = invalid("infra", "process-died", transient=True)
        retry = follow_up(ComboStatus(retries=retries), outcome, fault_of(outcome), False, rules, RNG).retry
        assert retry is not None
        delays.append(retry.delay)
    assert 10 <= delays[0] <= 15 and 20 <= delays[1] <= 30
    named = invalid("infra", "model-rate-limit", transient=True, delay=900.0, phase="agent")
    retry = follow_up(ComboStatus(), named, fault_of(named), False, rules, RNG).retry
    assert retry is not None and retry.delay == 900.0


# -- rate limits ------------------------------------------------------------------------------------------------------


def test_a_429_halves_once_per_storm_and_a_quiet_spell_gives_back_half_of_it() -> None:
    plan = scheduler(40, max_parallel=8, quiet=60.0)
    assert len(plan.due(0)) == 8
    change = plan.limited("google", 1.0)
    assert change is not None and (change.was, change.cap) == (None, 4)
    assert plan.limited("google", 2.0) is None, "the same storm"
    assert plan.limited("google", 30.0) is None, "eight still run: they were started before"
    for n in range(5):
        plan.ended(str(n), PASSED, 31)
    assert plan.due(31) == ["8"], "three are left, so one may start"
    assert plan.grow(60) == []
    (grown,) = plan.grow(91)
    assert (grown.was, grown.cap) == (4, 6)
    assert plan.due(91) == ["9", "10"]
    assert plan.limited("google", 92.0) is None and plan.limited("google", 93.0) is None, "strays keep it where it is"
    (grown,) = plan.grow(153)
    assert (grown.was, grown.cap) == (6, 7), "and smaller steps lead on"
    (lifted,) = plan.grow(400)
    assert lifted.cap is None


def test_a_provider_that_names_a_time_is_left_alone_until_then_and_others_go_on() -> None:
    jobs = [Job(str(n), n, "google" if n % 2 else "openai") for n in range(8)]
    plan = Scheduler(jobs, Rules(4), 0)
    for job in jobs:
        plan.ready(job.rid, 0, 0)
    assert plan.due(0) == ["0", "1", "2", "3"]
    change = plan.limited("google", 1, wait=120)
    assert change is not None and change.wait == 120
    for rid in ("0", "1", "2", "3"):
        plan.ended(rid, PASSED, 2)
    assert plan.due(2) == ["4", "6"]
    assert plan.next_change(2) == 121
    assert plan.due(121) == ["5"]


def test_an_attempt_that_ended_for_a_rate_limit_halves_too() -> None:
    plan = scheduler(20, max_parallel=4)
    plan.due(0)
    change = plan.ended("0", End(ComboState.INVALID, FailureClass.INFRA, "429", rate_limit=True), 1)
    assert change is not None and change.cap == 2


# -- halts ------------------------------------------------------------------------------------------------------------


def test_the_circuit_breaks_after_k_alike_setup_failures_in_a_row() -> None:
    plan = scheduler(10)
    plan.due(0)
    alike = End(ComboState.INVALID, FailureClass.CONFIG_AUTH, "model-auth")
    plan.ended("0", alike, 1)
    plan.ended("1", alike, 1)
    assert plan.halt is None and plan.due(1) == ["3", "4"]
    plan.ended("2", alike, 2)
    assert plan.halt is not None and plan.halt.kind is HaltKind.BREAKER and "model-auth" in plan.halt.reason
    assert plan.due(2) == [] and plan.waiting, "the rest stays planned"


@pytest.mark.parametrize(
    "between",
    [
        PASSED,
        End(ComboState.FAILED),
        End(ComboState.INVALID, FailureClass.CONFIG_AUTH, "another"),
        End(ComboState.INVALID, FailureClass.INFRA, "model-auth"),
    ],
)
def test_anything_else_in_between_keeps_the_circuit_closed(between: End) -> None:
    plan = scheduler(10)
    alike = End(ComboState.INVALID, FailureClass.CONFIG_AUTH, "model-auth")
    for n, end in enumerate([alike, alike, between, alike, alike]):
        plan.due(n)
        plan.ended(str(n), end, n)
    assert plan.halt is None


def test_infra_failures_never_break_the_circuit() -> None:
    plan = scheduler(10)
    for n in range(6):
        plan.due(n)
        plan.ended(str(n), End(ComboState.INVALID, FailureClass.INFRA, "process-died"), n)
    assert plan.halt is None


@pytest.mark.parametrize(
    ("budget", "word"),
    [(Budget(cost=1.0), "--max-cost"), (Budget(tokens=1000), "--max-tokens"), (Budget(duration=50), "--max-duration")],
)
def test_a_budget_stops_launching_and_what_runs_finishes(budget: Budget, word: str) -> None:
    plan = scheduler(10, budget=budget)
    plan.due(0)
    plan.spending("1", 0.6, 600)
    plan.ended("0", PASSED, 40)
    plan.spent(0.5, 500)
    assert plan.due(60) == []
    assert plan.halt is not None and plan.halt.kind is HaltKind.BUDGET and word in plan.halt.reason
    assert plan.busy == 2 and plan.waiting


def test_a_budget_counts_what_was_spent_before_a_restart() -> None:
    jobs = [Job("a", 0)]
    plan = Scheduler(jobs, Rules(1, budget=Budget(cost=2.0)), 0, cost=2.5)
    plan.ready("a", 0, 0)
    assert plan.due(0) == []
    late = Scheduler(jobs, Rules(1, budget=Budget(duration=100)), 1000, worked=99)
    late.ready("a", 1000, 1000)
    assert late.next_change(1000) == 1001 and late.due(1001) == []


def test_a_budget_that_is_reached_by_the_last_combo_is_no_halt() -> None:
    plan = scheduler(1, budget=Budget(cost=1.0))
    plan.due(0)
    plan.ended("0", PASSED, 1)
    plan.spent(5.0, None)
    assert plan.due(2) == [] and plan.halt is None


def test_what_budgets_leave_counts_running_attempts_and_is_never_below_nothing() -> None:
    rules = Rules(2, budget=Budget(cost=1.0, tokens=100, duration=50.0))
    plan = Scheduler([Job("a", 0), Job("b", 1)], rules, 100.0, worked=10.0, cost=0.25, tokens=30)
    for rid in ("a", "b"):
        plan.ready(rid, 0, 0)
    assert plan.due(100.0) == ["a", "b"]
    plan.spending("a", 0.5, 40)
    assert plan.left(120.0) == Budget(0.25, 30, 20.0) and plan.used_up(120.0) == ""
    assert "--max-duration" in plan.used_up(140.0) and plan.halt is None, "it is asked, nothing is halted by it"
    plan.spent(2.0, 500)
    assert plan.left(140.0) == Budget(0.0, 0, 0.0) and "--max-cost" in plan.used_up(120.0)
    assert Scheduler([], Rules(1), 0).left(10) == Budget() and Scheduler([], Rules(1), 0).used_up(10) == ""

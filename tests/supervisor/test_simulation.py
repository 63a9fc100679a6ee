"""10,000 combos through the real scheduling core with random failures, crashes and limits: none lost, none doubled."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState
from devops_bench.supervisor.schedule import Budget, Job, Rules

from .simulation import ENDS, PASSED, Simulation, Storm, Weather

FINAL = {"scored", "failed", "invalid"}


def flaky(rate: float, ends: tuple[Outcome, ...] = ENDS):  # type: ignore[no-untyped-def]
    def outcome(rng: random.Random, rid: str, attempt: int) -> Outcome:
        return rng.choice(ends) if rng.random() < rate else PASSED

    return outcome


def jobs(count: int) -> list[Job]:
    kinds = [("google", "api"), ("openai", "codex"), ("anthropic", "openclaw"), (None, "noop")]
    return [Job(f"c{n}", n, *kinds[n % 4]) for n in range(count)]


def check(world: Simulation) -> None:
    """The invariants of any supervised run."""
    rules, log = world.rules, world.log
    assert [line["seq"] for line in log] == list(range(1, len(log) + 1))
    assert world.most_at_once <= rules.max_parallel
    for weight, most in rules.weights.items():
        assert world.most_by_weight[weight] <= most
    attempts: Counter[str] = Counter()
    running: set[str] = set()
    verdict: dict[str, str] = {}
    retries: Counter[str] = Counter()
    for line in log:
        rid = line.get("rid")
        if line["event"] == "combo_started":
            assert rid not in running and verdict.get(rid) not in {"scored", "failed"}, "ran again after its verdict"
            attempts[rid] += 1
            assert line["attempt"] == attempts[rid]
            running.add(rid)
        elif line["event"] == "combo_finished":
            assert rid in running, "finished twice, or without a start"
            running.discard(rid)
            verdict[rid] = line["state"]
        elif line["event"] == "retry_planned":
            assert verdict[rid] == "invalid", "only invalid attempts are retried"
            retries[rid] += 1
            verdict[rid] = "planned"
    assert not running
    assert max(retries.values(), default=0) <= 2
    if world.plan.halt is None or world.state.all_terminal:
        assert set(verdict) == set(world.by_rid) and set(verdict.values()) <= FINAL, "no combo is lost"
        assert log[-1]["event"] == "done" and sum(line["event"] == "done" for line in log) == 1
    else:
        assert not any(line["event"] == "done" for line in log)


def test_ten_thousand_combos_with_failures_crashes_limits_and_busy_tokens() -> None:
    rules = Rules(16, weights={"openclaw": 2}, breaker=50)
    world = Simulation(jobs(10_000), rules, seed=20261129, outcome=flaky(0.3), crashes=25, busy_tokens=0.02)
    world.run()
    check(world)
    assert world.plan.halt is None
    states = Counter(combo.state for combo in world.state.combos.values())
    assert states[ComboState.SCORED] > 7_000 and states[ComboState.INVALID] > 100
    assert any(line["event"] == "limit_changed" for line in world.log)
    assert any(line["event"] == "retry_exhausted" for line in world.log)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    count=st.integers(1, 60),
    parallel=st.integers(1, 9),
    rate=st.floats(0, 1),
    seed=st.integers(0, 2**32),
    crashes=st.integers(0, 6),
    busy=st.floats(0, 0.3),
    cost=st.one_of(st.none(), st.floats(0.01, 1)),
    duration=st.one_of(st.none(), st.floats(1, 2000)),
    breaker=st.integers(1, 5),
)
def test_no_combo_is_lost_or_doubled_whatever_happens(
    count: int, parallel: int, rate: float, seed: int, crashes: int, busy: float,
    cost: float | None, duration: float | None, breaker: int,
) -> None:  # fmt: skip
    budget = Budget(cost=cost, duration=duration)
    rules = Rules(parallel, weights={"openclaw": 1}, budget=budget, breaker=breaker)
    world = Simulation(jobs(count), rules, seed, flaky(rate), crashes=crashes, busy_tokens=busy)
    world.run()
    check(world)
    if cost is not None:
        # Only what was running when the budget was reached may go beyond it.
        assert world.state.spent_usd <= cost + 0.01 * parallel + 1e-6
        later = [line for line in world.log if line["event"] == "combo_started"]
        assert len(later) <= count * 3


def test_a_halted_run_goes_on_from_where_it_stopped() -> None:
    rules = Rules(4, budget=Budget(cost=0.2))
    world = Simulation(jobs(60), rules, 7, flaky(0.0))
    world.run()
    check(world)
    assert world.plan.halt is not None and "--max-cost" in world.plan.halt.reason
    done = {rid for rid, combo in world.state.combos.items() if combo.state.terminal}
    assert 20 <= len(done) <= 24
    world.rules = Rules(4)
    world.record("resumed")
    world.restart()
    while world.plan.waiting or world.alive:
        world.start()
        world.step()
    assert all(combo.attempt == 1 for combo in world.state.combos.values())
    assert world.state.all_terminal


@pytest.mark.parametrize("burst", [10.0, 30.0])
@pytest.mark.parametrize(
    ("combos", "parallel", "share"),
    [(200, 16, 0.5), (200, 16, 0.25), (120, 8, 0.6), (300, 32, 0.4), (100, 4, 0.5), (150, 10, 0.11)],
)
def test_a_429_storm_costs_little_beyond_what_the_allowed_rate_costs_anyway(
    combos: int, parallel: int, share: float, burst: float
) -> None:
    """`share`: what the provider allows of what all at once would ask; it takes `burst` seconds' worth at once."""
    latency = 6.0
    rate = parallel * 60 / latency * share
    storm = Storm(combos, requests=20, parallel=parallel, rate=rate, latency=latency, burst=burst)
    took = storm.run()
    assert took <= 1.3 * storm.ideal, (took / storm.ideal, storm.changes[:20])
    halvings = [(was, cap) for _, was, cap in storm.changes if cap is not None and (was is None or cap < was)]
    growths = [(was, cap) for _, was, cap in storm.changes if was is not None and (cap is None or cap > was)]
    assert halvings and halvings[0] == (None, parallel // 2)
    assert growths, "and it grows back"


def comes_and_goes(period: float, first: float, length: float, share: float, free: float = 1e6) -> Weather:
    """Of `period` seconds the provider allows `share` of all requests for `length` from `first` on; else `free`."""
    return lambda now: share if first <= now % period < first + length else free


@pytest.mark.parametrize("parallel", [4, 8, 16, 32])
@pytest.mark.parametrize(
    "weather",
    [
        pytest.param(comes_and_goes(300, 100, 20, 0.0), id="out for 20 s in 5 min"),
        pytest.param(comes_and_goes(600, 100, 60, 0.0), id="out for a minute in ten"),
        pytest.param(comes_and_goes(1e9, 0, 300, 0.1), id="tight at first"),
        pytest.param(comes_and_goes(1200, 0, 600, 0.5), id="half for ten minutes, then free"),
        pytest.param(comes_and_goes(600, 0, 300, 0.2, 1.2), id="a fifth for five minutes, then free"),
        pytest.param(comes_and_goes(240, 0, 120, 0.2, 1.2), id="a fifth for two minutes, then free"),
        pytest.param(comes_and_goes(120, 60, 60, 0.1), id="a tenth every other minute"),
    ],
)
def test_a_limit_that_comes_and_goes_is_forgotten_soon_after_it_is_gone(parallel: int, weather: Weather) -> None:
    """The ideal knows the weather beforehand; a quiet spell is what it takes to find out."""
    combos, latency = 20 * parallel, 6.0
    storm = Storm(
        combos, requests=20, parallel=parallel, rate=parallel * 60 / latency, latency=latency, weather=weather
    )
    took = storm.run()
    assert took <= 1.3 * storm.ideal, (took / storm.ideal, storm.changes[:20])
    assert all(cap is None or 1 <= cap < parallel for _, _, cap in storm.changes)

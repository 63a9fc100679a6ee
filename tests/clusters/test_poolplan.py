"""Decisions of the warm pool: who gets a plane first, what is kept, what must go."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.clusters.poolplan import Limits, Step, plan_pool, room_for

ROOMY = Limits(ahead=2, boots=4, room=100)


@pytest.mark.parametrize(
    ("waiting", "upcoming", "ready", "booting", "limits", "expected"),
    [
        pytest.param([], [], [], [], ROOMY, Step(), id="nothing wanted"),
        pytest.param([], ["a", "b", "c"], [], [], ROOMY, Step(boot=("a", "b")), id="boots ahead up to its size"),
        pytest.param(["x"], ["a", "b"], [], [], ROOMY, Step(boot=("x", "a", "b")), id="who waits comes first"),
        pytest.param([], ["a", "b"], ["b"], ["a"], ROOMY, Step(), id="enough there"),
        pytest.param([], ["a", "a"], ["a"], [], ROOMY, Step(boot=("a",)), id="a plane serves one combo"),
        pytest.param([], ["b"], ["a", "b"], [], ROOMY, Step(kill=("a",)), id="useless planes end"),
        pytest.param([], [], ["a"], ["b"], ROOMY, Step(kill=("a", "b")), id="at the end nothing stays"),
        pytest.param([], ["b", "c", "a"], ["a"], [], ROOMY, Step(boot=("b",)), id="later use keeps a plane"),
        pytest.param(["x"], ["a"], [], [], Limits(2, 1, 100), Step(boot=("x",)), id="boots are rationed"),
        pytest.param(["x"], ["a"], [], ["x"], Limits(2, 1, 100), Step(), id="no second boot for who is served"),
        pytest.param([], ["a", "b"], [], [], Limits(2, 4, 1), Step(boot=("a",)), id="memory bounds the pool"),
        pytest.param(["x"], [], [], [], Limits(2, 4, 0), Step(), id="no room, nothing to give up"),
        pytest.param(
            ["x"], ["a"], ["a"], [], Limits(1, 4, 0), Step(boot=("x",), kill=("a",)), id="an idle plane makes room"
        ),
        pytest.param(
            ["x"],
            ["b", "a"],
            ["b", "a"],
            [],
            Limits(1, 4, 0),
            Step(boot=("x",), kill=("a",)),
            id="the one wanted last makes room",
        ),
        pytest.param(["x"], ["a"], [], [], Limits(0, 4, 9), Step(boot=("x",)), id="a pool of size 0 boots on demand"),
    ],
)
def test_step(
    waiting: list[str], upcoming: list[str], ready: list[str], booting: list[str], limits: Limits, expected: Step
) -> None:
    assert plan_pool(waiting, upcoming, ready, booting, limits) == expected


keys = st.lists(st.sampled_from("abc"), max_size=6)


@given(keys, keys, keys, keys, st.integers(0, 4), st.integers(1, 3), st.integers(0, 5))
def test_a_step_stays_within_its_limits_and_never_starves_who_waits(
    waiting: list[str], upcoming: list[str], ready: list[str], booting: list[str], ahead: int, boots: int, room: int
) -> None:
    step = plan_pool(waiting, upcoming, ready, booting, Limits(ahead, boots, room))
    assert not Counter(step.kill) - Counter([*ready, *booting])
    assert len(step.boot) <= room + len(step.kill)
    assert len(booting) + len(step.boot) <= max(boots, len(booting))
    kept = Counter([*ready, *booting]) - Counter(step.kill)
    served = sum(min(count, kept[key]) for key, count in Counter(waiting).items())
    unserved = len(waiting) - served - len(step.boot)
    # Somebody is left without a plane on its way only for want of boots or of room after every idle plane was given up.
    if unserved > 0:
        no_boots = len(booting) + len(step.boot) >= boots
        assert no_boots or len(step.boot) >= room + len(step.kill)


@given(keys, keys, st.integers(0, 4), st.integers(1, 3), st.integers(0, 9))
def test_repeated_steps_settle(waiting: list[str], upcoming: list[str], ahead: int, boots: int, room: int) -> None:
    """Applying steps until nothing is decided ends, and never boots and ends one plane in turn."""
    ready: list[str] = []
    for _ in range(30):
        step = plan_pool(waiting, upcoming, ready, [], Limits(ahead, boots, room - len(ready)))
        if step == Step():
            break
        for key in step.kill:
            ready.remove(key)
        ready += step.boot
    else:
        pytest.fail("the pool never settles")
    assert len(ready) <= max(ahead + len(waiting), 0)


def test_planes_that_boot_have_not_taken_their_memory_yet() -> None:
    assert room_for(available=5000, reserve=1000, per_plane=400, booting=0) == 10
    assert room_for(available=5000, reserve=1000, per_plane=400, booting=3) == 7
    assert room_for(available=900, reserve=1000, per_plane=400, booting=0) == 0

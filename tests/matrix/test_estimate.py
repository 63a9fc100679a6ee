"""The estimate: earlier judged attempts where there are any, the provider's default elsewhere."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.matrix.estimate import (
    AGENT_DEFAULT,
    AGENT_WITHOUT_MODEL,
    PROVIDER_DEFAULT,
    History,
    Sample,
    estimate,
    makespan,
    read_history,
)
from devops_bench.matrix.expand import plan_of
from devops_bench.matrix.plan import Combo, Plan
from tests.matrix.conftest import OPTIONS, selected, spec_of


def plan(*configs: str, models: tuple[str, ...] = ("m",), parallel: int = 1, repeats: int = 1) -> Plan:
    options = dataclasses.replace(OPTIONS, max_parallel=parallel, agent_timeout_sec=100)
    task = selected("common/a", infrastructure={"provider": "kwok"})
    return plan_of(spec_of(*configs, models=models, options=options, repeats=repeats), [task])


def attempt(
    run_dir: Path, combo: Combo, seconds: int, *, state: str = "scored", cost: object = None, n: int = 0
) -> None:
    folder = run_dir / combo.rid / f"run_20300101_00000{n}_{combo.rid}"
    folder.mkdir(parents=True)
    started, ended = "2030-01-01T00:00:00.000Z", f"2030-01-01T00:{seconds // 60:02d}:{seconds % 60:02d}.000Z"
    (folder / "attempt.json").write_text(json.dumps({"started": started, "ended": ended}))
    (folder / "outcome.json").write_text(json.dumps({"state": state, "cost_usd": cost}))


def run_dir(root: Path, stamp: str, of: Plan) -> Path:
    folder = root / stamp
    folder.mkdir(parents=True)
    dataclasses.replace(of, stamp=stamp).write(folder)
    return folder


def test_without_history_each_provider_and_agent_has_a_default() -> None:
    wanted = plan("noop", "api", models=("m", "scripted:x"))
    found = estimate(wanted, History())
    kwok = PROVIDER_DEFAULT["kwok"]
    seconds = {rid: one.seconds for rid, one in found.combos.items()}
    assert seconds == {
        "a__m__noop": kwok + AGENT_WITHOUT_MODEL,
        "a__m__api": kwok + AGENT_DEFAULT,
        "a__scripted~x__noop": kwok + AGENT_WITHOUT_MODEL,
        "a__scripted~x__api": kwok + AGENT_WITHOUT_MODEL,
    }
    assert found.wall_seconds == sum(seconds.values())
    assert found.longest_seconds == 4 * (100 + kwok)
    assert (found.cost_usd, found.costed, found.measured, found.runs) == (None, 0, 0, 0)


def test_history_is_the_median_of_judged_attempts_of_the_same_cell(tmp_path: Path) -> None:
    wanted = plan("noop", "api", repeats=2)
    noop, api, again, _ = wanted.combos
    first = run_dir(tmp_path, "20300101_000000-aaaa", wanted)
    attempt(first, noop, 10, cost=0.5)
    attempt(first, again, 30, state="failed", cost=0.1)
    attempt(first, noop, 3000, state="invalid", cost=9, n=1)
    second = run_dir(tmp_path, "20300102_000000-bbbb", plan("noop"))
    attempt(second, noop, 20)
    other = run_dir(tmp_path, "20300103_000000-cccc", plan("noop", models=("other",)))
    attempt(other, plan("noop", models=("other",)).combos[0], 1000)
    found = estimate(wanted, read_history(tmp_path, wanted.combos))
    assert found.combos[noop.rid] == found.combos[again.rid]
    assert (found.combos[noop.rid].seconds, found.combos[noop.rid].samples) == (20, 3)
    assert found.combos[noop.rid].cost_usd == pytest.approx(0.3)
    assert found.combos[api.rid].samples == 0
    assert (found.measured, found.costed, found.runs) == (2, 2, 2)
    assert found.cost_usd == pytest.approx(0.6)


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"version": 99}', '{"started": 1}', '{"cost_usd": "x"}'])
def test_what_cannot_be_read_is_passed_over(tmp_path: Path, damage: str) -> None:
    wanted = plan("noop")
    for stamp, name in (
        ("20300101_000000-a", "plan.json"),
        ("20300102_000000-b", "attempt.json"),
        ("2-c", "outcome.json"),
    ):
        folder = run_dir(tmp_path, stamp, wanted)
        attempt(folder, wanted.combos[0], 10)
        (path,) = folder.rglob(name)
        path.write_text(damage)
    (tmp_path / "a file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    assert read_history(tmp_path, wanted.combos).samples == {}
    assert read_history(tmp_path / "gone", wanted.combos).samples == {}


def test_costs_that_are_no_costs_are_unknown(tmp_path: Path) -> None:
    wanted = plan("noop")
    folder = run_dir(tmp_path, "20300101_000000-a", wanted)
    for number, cost in enumerate([True, -1, "1", None]):
        attempt(folder, wanted.combos[0], 10, cost=cost, n=number)
    samples = read_history(tmp_path, wanted.combos).samples.values()
    assert [sample for one in samples for sample in one] == [Sample(10, None)] * 4


@given(st.lists(st.floats(0, 1e6), max_size=40), st.integers(1, 8))
def test_the_wall_time_lies_between_the_bounds_of_any_schedule(seconds: list[float], lanes: int) -> None:
    wall = makespan(seconds, lanes)
    slack = 1e-6 * (1 + sum(seconds))
    assert wall <= sum(seconds) + slack
    assert wall >= max([sum(seconds) / lanes, *seconds], default=0) - slack
    assert makespan(seconds, 1) == pytest.approx(sum(seconds))
    assert makespan(seconds, len(seconds) + 1) == max(seconds, default=0)

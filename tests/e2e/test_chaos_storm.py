"""A storm of 429s from a provider on loopback, through the real gateway: how many combos ask at once is halved, grows
back when it is quiet, and nobody is lost.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from devops_bench.models.http import Connection, Request
from devops_bench.models.server import ScriptedServer

from .agents_world import ANSWER
from .world import World, assert_no_residue, done, events, of, until

pytestmark = pytest.mark.sandbox
MODEL = "gpt-5.2"
SLOW_DOWN = json.dumps({"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}})


class Storm(ScriptedServer):
    """Refuses the first `refusals` requests that offer tools, then plays its scenario; all answers wait for `calm`."""

    def __init__(self, folder: Path, refusals: int, headers: dict[str, str], calm: Callable[[], object]) -> None:
        self.left, self.refused, self.more, self.calm = refusals, 0, headers, calm
        self._counting = threading.Lock()
        super().__init__(folder)

    def _handle(self, connection: Connection, request: Request) -> None:
        with self._counting:
            refuse = self.left > 0 and b'"tools"' in request.body
            self.left -= refuse
            self.refused += refuse
        if refuse:
            connection.send(429, SLOW_DOWN.encode(), "application/json", self.more)
        else:
            self.calm()
            super()._handle(connection, request)


def launch(world: World, storm: Storm, combos: int, parallel: int) -> Path:
    tasks = [world.task(f"task-{n}") for n in range(combos)]
    flags = world.matrix(*tasks, models=MODEL, configs="api", max_parallel=str(parallel), agent_timeout_sec="300")
    run_dir = world.launch(
        *flags,
        BENCH_SMOKE="off",
        SKIP_MODEL_PREFLIGHT="1",
        BENCH_LIMIT_QUIET_SEC="2",
        OPENAI_API_KEY="sk-of-the-test-000000",
        OPENAI_BASE_URL=f"{storm.url}/v1",
    )
    done(run_dir, 900)
    return run_dir


def provider(world: World, refusals: int, calm: Callable[[], object] = lambda: None, **headers: str) -> Storm:
    folder = world.root / "provider"
    folder.mkdir()
    (folder / "real.json").write_text(json.dumps({"model": MODEL, "turns": [{"shell": ANSWER}, {"text": "Done."}]}))
    return Storm(folder, refusals, {name.replace("_", "-"): text for name, text in headers.items()}, calm)


def grew(world: World) -> bool:
    """Whether the world's run has let its limit grow."""
    return any(e["why"] == "quiet" for run_dir in world.runs.iterdir() for e in of(run_dir, "limit_changed"))


def caps_hold(journal: list[dict[str, Any]], parallel: int) -> list[int | None]:
    """No combo is started beyond the cap that was in force; the caps in order."""
    cap: int | None = None
    running: set[str] = set()
    caps: list[int | None] = []
    for event in journal:
        if event["event"] == "limit_changed":
            assert event["was"] == cap, event
            if event["cap"] != cap:
                caps.append(event["cap"])
            cap = event["cap"]
        if event["event"] == "combo_intent":
            running.add(event["rid"])
            assert len(running) <= (parallel if cap is None else max(cap, 1)), (event, cap)
        if event["event"] == "combo_finished":
            running.discard(event["rid"])
    return caps


def test_a_storm_that_names_a_time_halves_and_recovers_and_costs_no_attempt(world: World) -> None:
    calm = partial(until, partial(grew, world), "the limit grows back")
    with provider(world, 8, calm, Retry_After="1") as storm:
        run_dir = launch(world, storm, combos=8, parallel=4)
        assert storm.refused == 8
    journal = events(run_dir)
    told = of(run_dir, "rate_limited")
    assert len(told) == 8 and {e["status"] for e in told} == {429} and {e["retry_after"] for e in told} == {1}
    first, *_ = changes = of(run_dir, "limit_changed")
    assert first["provider"] == "openai" and first["was"] is None and first["why"] == "rate limited", changes
    assert 1 <= first["cap"] <= 2, "at most half of what ran"
    assert any(e["why"] == "quiet" for e in changes), "it grows back"
    caps_hold(journal, 4)
    ends = of(run_dir, "combo_finished")
    assert Counter(e["state"] for e in ends) == {"scored": 8}, "all waited, none failed"
    assert not of(run_dir, "retry_planned")
    assert_no_residue(world)


def test_a_storm_without_a_time_ends_attempts_which_are_tried_again(world: World) -> None:
    with provider(world, 5) as storm:
        run_dir = launch(world, storm, combos=8, parallel=4)
        assert storm.refused == 5
    journal = events(run_dir)
    ends = of(run_dir, "combo_finished")
    lost = [e for e in ends if e["state"] == "invalid"]
    assert {(e["class"], e["signature"]) for e in lost} == {("infra", "model-rate-limit")}, lost
    assert len(lost) == len(of(run_dir, "rate_limited")) == 5
    caps = caps_hold(journal, 4)
    assert caps and caps[0] is not None and caps[0] <= 2, caps
    final = {e["rid"]: e["state"] for e in ends}
    assert Counter(final.values()) == {"scored": 8}, final
    assert_no_residue(world)

"""A run and its webhook, end to end: told of each end, held up by none, and the URL is in no file of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.supervisor.test_notify import Receiver, receiver

from .world import World, assert_no_residue, done, of, until, working

__all__ = ["receiver"]
pytestmark = pytest.mark.sandbox
WAITING = "for i in $(seq 3000); do sleep 0.1; [ -e go ] && break; done"
RID = "write-answer__none__scripted"
MARK = "right-to-post"


def kinds(receiver: Receiver) -> list[str]:
    return [body["metadata"]["event_type"] for _path, _headers, body in receiver.got]


def files_with(word: str, root: Path) -> list[Path]:
    return [path for path in root.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_a_run_tells_of_its_stop_and_of_its_end_and_keeps_the_url_to_itself(world: World, receiver: Receiver) -> None:
    env = {"BENCH_NOTIFY_WEBHOOK": receiver.url}
    run_dir = world.launch(*world.matrix(world.task(before=f"env; {WAITING}")), **env)
    working(run_dir)
    assert world.call("stop", "--now", run_dir.name, **env).returncode == 0
    until(lambda: kinds(receiver) == ["devops_bench_stopped"], "people are told of the stop")
    assert world.call("resume", "--detach", run_dir.name, **env).returncode == 0
    working(run_dir, 2)
    world.release(RID)
    done(run_dir)
    until(lambda: kinds(receiver) == ["devops_bench_stopped", "devops_bench_done"], "and of the end")
    assert run_dir.name in receiver.got[1][2]["text"] and "1 passed" in receiver.got[1][2]["text"]
    assert not of(run_dir, "notify_failed")
    assert_no_residue(world)
    assert files_with(MARK, world.root) == []


def test_a_webhook_that_hangs_holds_up_neither_combos_nor_the_end(world: World, receiver: Receiver) -> None:
    receiver.hang = True
    env = {"BENCH_NOTIFY_WEBHOOK": receiver.url, "BENCH_HEARTBEAT_SEC": "0.5"}
    tasks = [world.task(f"task-{n}", before="sleep 1") for n in range(3)]
    ended = world.call("run", "--hands-off", *world.matrix(*tasks, max_parallel="1"), timeout=400, **env)
    (run_dir,) = world.runs.iterdir()
    assert ended.returncode == 0 and (run_dir / ".done").exists(), ended.stderr
    assert {event["state"] for event in of(run_dir, "combo_finished")} == {"scored"}
    assert "devops_bench_heartbeat" in kinds(receiver), "it was asked, and never answered"
    again = world.call("run", "--detach", "--no-wait", *world.matrix(*tasks, max_parallel="1"))
    assert again.returncode == 0, "the matrix is free while the last message still waits"
    receiver.over.set()

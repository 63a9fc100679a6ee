"""SIGKILL and SIGSTOP at random moments on supervisor, fork server, combos, agents, MCP servers and control planes:
nothing is lost, doubled or left behind, and the summary is right.

The seed is in the test's name; a failure prints the whole plan. `make test` plays one seed with a few acts, `make soak`
240 acts over twenty seeds.
"""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from devops_bench.process import identity
from devops_bench.supervisor import locks

from .chaos import PAUSE, Act, Chaos, matrix, plan
from .world import PROGRAM, World, assert_no_residue, done, of, until, working

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]


@pytest.fixture(autouse=True)
def _binary(kube_binary: Path, world: World) -> None:
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)


@pytest.mark.parametrize("seed", [1])
def test_a_few_signals(world: World, seed: int) -> None:
    under_fire(world, seed, plan(seed, 5), clusters=1, plain=2)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_signals_at_random_moments(world: World, seed: int) -> None:
    under_fire(world, seed, plan(seed, 12), clusters=2, plain=5)


@pytest.mark.soak
def test_under_hands_off_a_stopped_supervisor_is_let_go_on(world: World) -> None:
    world.env["BENCH_SMOKE"] = "off"
    run_dir = world.launch("--hands-off", *world.matrix(world.task(before=PAUSE), world.task("second")))
    owner = locks.owner(run_dir)
    assert owner is not None
    os.kill(owner.pid, signal.SIGSTOP)
    done(run_dir, 600)
    assert not of(run_dir, "resumed"), "it was woken, not replaced"
    assert_no_residue(world)


def test_attach_without_a_supervisor_lets_a_stopped_combo_go_on(world: World) -> None:
    world.env["BENCH_SMOKE"] = "off"
    run_dir = world.launch(*world.matrix(world.task(before="sleep 3")))
    working(run_dir)
    owner, combo = locks.owner(run_dir), of(run_dir, "combo_started")[0]["worker"]["pid"]
    assert owner is not None
    os.kill(owner.pid, signal.SIGKILL)
    os.kill(combo, signal.SIGSTOP)
    attached = world.call("attach", run_dir.name, timeout=600)
    assert attached.returncode == 3
    (end,) = of(run_dir, "combo_finished")
    assert end["state"] == "scored"
    assert_no_residue(world)


@pytest.mark.soak
@pytest.mark.parametrize("round_", range(5))
def test_four_launches_of_one_matrix_at_one_instant_make_one_run(world: World, round_: int) -> None:
    """All are stopped right before the program begins, and let go on together."""
    world.env["BENCH_SMOKE"] = "off"
    flags = world.matrix(world.task(before="sleep 20"), world.task("second"), max_parallel="2")
    command = ["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", PROGRAM, "run", "--detach", *flags]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    env = world.environment()
    launches = [subprocess.Popen(command, env=env, **pipes) for _ in range(4)]  # type: ignore[call-overload]
    until(lambda: all((who := identity(one.pid)) and who.state() == "T" for one in launches), "all wait")
    for one in launches:
        one.send_signal(signal.SIGCONT)
    answers = [(one.communicate(timeout=600), one.returncode) for one in launches]
    stamps = {line for (out, _), _ in answers for line in out.splitlines() if line.startswith("STAMP=")}
    assert len(stamps) == 1, answers
    assert {code for _, code in answers} <= {0, 4} and 0 in {code for _, code in answers}, answers
    (run_dir,) = world.runs.iterdir()
    done(run_dir, 600)
    assert len(of(run_dir, "combo_started")) == 2 and len(of(run_dir, "launched")) == 1
    assert_no_residue(world)


def under_fire(world: World, seed: int, acts: list[Act], clusters: int, plain: int) -> None:
    """Play all acts, over as many runs as it takes."""
    flags, combos = matrix(world, seed, clusters, plain)
    count = len(acts)
    hit: list[str] = []
    while acts:
        chaos = Chaos(world, world.launch(*flags), seed, acts, combos)
        acts = chaos.play()
        chaos.verify()
        hit += chaos.hit
        assert chaos.hit, f"a run in which nothing could be hit: {chaos.context}"
    assert len(hit) == count
    print(f"seed {seed}: {', '.join(hit)}")

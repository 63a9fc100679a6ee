"""Random signals on every process of a run, and what must hold afterwards.

A seed gives a plan: which kind of process is hit by what, after which pause. Which process of the kind it is, and what
it was doing, is the host's. The plan is in every failure, so a seed plays the same plan again.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import psutil

from devops_bench.supervisor import locks

from .agents_world import ECHO, mcp_server, scale_task, scenario
from .world import PROGRAM, World, assert_no_residue, events, of, until

TARGETS = ("supervisor", "zygote", "combo", "agent", "mcp", "plane")
VERDICTS = {"scored", "failed"}
PARALLEL = 3
PATIENCE = 900.0  # seconds for the whole of a run on a host that does ten other things
PAUSE = "sleep 1"
SCALE = "kubectl -n shop scale deployment web --replicas 3; echo three > note.txt"

DONE = {"text": "Done."}
PLAY = {
    "sections": [
        {
            "when": "deployment web",
            "turns": [
                ECHO,
                {"shell": f"{PAUSE}; {SCALE}"},
                DONE,
            ],
        }
    ],
    "turns": [ECHO, {"shell": PAUSE}, {"shell": "echo ready > answer.txt"}, DONE],
}


@dataclass(frozen=True)
class Act:
    """Hit one process of kind `target` after `pause` seconds: `kill`, `stop` (and let go on after `hold` seconds), or
    `freeze` (nobody lets it go on but the program itself).
    """

    pause: float
    target: str
    how: str
    hold: float


def plan(seed: int, count: int) -> list[Act]:
    """The acts of a seed."""
    rng = random.Random(seed)
    acts = []
    for number in range(count):
        # Every kind is hit, in an order of the seed's own.
        target = TARGETS[(number + seed) % len(TARGETS)] if number < len(TARGETS) else rng.choice(TARGETS)
        how = rng.choices(("kill", "stop", "freeze"), (6, 3, 1))[0]
        acts.append(Act(round(rng.uniform(0.05, 1.5), 3), target, how, round(rng.uniform(0.1, 2.0), 3)))
    return acts


def matrix(world: World, seed: int, clusters: int, plain: int) -> tuple[list[str], int]:
    """Flags of a matrix and its number of combos: each task by the scripted agent and by `api+mcp`, whose turn goes
    through both gateways.
    """
    rng = random.Random(seed)
    solution = f"set -eu\n{PAUSE}\n# fix: scale\n{SCALE}\n"
    tasks = [scale_task(world, f"kwok-{n}", solution=solution) for n in range(clusters)]
    tasks += [world.task(f"none-{n}", before=PAUSE) for n in range(plain)]
    rng.shuffle(tasks)
    world.env |= mcp_server(world) | {
        "BENCH_SMOKE": "off",
        # What is frozen for good has to be noticed within a test; ten times what is usual on a quiet host.
        "BENCH_STALL_SEC": "45",
        "BENCH_STOP_GRACE_SEC": "10",
    }
    model = scenario(world, PLAY)
    more = {"scenarios_dir": str(world.root / "scenarios"), "max_parallel": str(PARALLEL), "agent_timeout_sec": "90"}
    return world.matrix(*tasks, models=model, configs="scripted api+mcp", **more), len(tasks) * 2


@dataclass
class Chaos:
    """One run under fire. `hit` is what was done; `folders` are the agents' folders that were seen."""

    world: World
    run_dir: Path
    seed: int
    acts: list[Act]
    combos: int
    hit: list[str] = field(default_factory=list)
    folders: set[Path] = field(default_factory=set)
    answers: ClassVar[frozenset[int]] = frozenset({0, 3, 4})

    def __post_init__(self) -> None:
        self.rng = random.Random(self.seed)
        self._held: list[tuple[float, int]] = []

    def play(self) -> list[Act]:
        """Play the acts until the run is done; what was not played is returned. Then the run is brought to its end."""
        left = list(self.acts)
        while left and not self.done:
            act = left[0]
            self._wait(act.pause)
            if self._hit(act):
                left.pop(0)
            elif not self._appears(act.target):
                left.append(left.pop(0))  # none of that kind for now: later
            self.operate()
        self._finish()
        return left

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return (self.run_dir / ".done").exists()

    @property
    def context(self) -> str:
        """For a failure: all that is needed to play it again, and what the run said."""
        log = self.run_dir / "supervisor.log"
        said = log.read_text(errors="replace")[-1500:] if log.exists() else ""
        kept = ("event", "rid", "state", "signature", "reason")
        last = [{key: event[key] for key in kept if key in event} for event in events(self.run_dir)]
        return f"seed {self.seed}, hit {self.hit}, plan {self.acts}\n{last[-12:]}\n{said}"

    # -- acts -------------------------------------------------------------------------------------------------------

    def _hit(self, act: Act) -> bool:
        found = self.candidates(act.target)
        if not found:
            return False
        pid = self.rng.choice(sorted(found))
        try:
            os.kill(pid, signal.SIGKILL if act.how == "kill" else signal.SIGSTOP)
        except ProcessLookupError:
            return False
        if act.how == "stop":
            self._held.append((time.monotonic() + act.hold, pid))
        self.hit.append(f"{act.how} {act.target}")
        return True

    def _appears(self, target: str) -> bool:
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and not self.done:
            if self.candidates(target):
                return True
            self._wait(0.05)
        return False

    def _wait(self, seconds: float) -> None:
        """Let time pass (here real time is the subject), letting go on what was only held."""
        deadline = time.monotonic() + seconds
        while True:
            self._let_go()
            self.look()
            left = deadline - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(0.05, left))

    def _let_go(self, *, everything: bool = False) -> None:
        now = time.monotonic()
        for until_, pid in list(self._held):
            if everything or now >= until_:
                self._held.remove((until_, pid))
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass

    def look(self) -> None:
        """Remember the folders that agents work in: none may be left."""
        for link in self.world.state.glob("*/workspace"):
            try:
                self.folders.add(Path(os.readlink(link)).parent)
            except OSError:
                continue

    def candidates(self, target: str) -> set[int]:
        """Pids of that kind now; only of this run."""
        if target in {"supervisor", "zygote"}:
            wanted = {"supervisor": "devops_bench.supervisor", "zygote": "devops_bench.supervisor.zygote"}[target]
            return {pid for pid, argv in commands() if wanted in argv and str(self.run_dir) in argv}
        if target == "plane":
            return {pid for pid, argv in commands() if "--dir" in argv and str(self.world.state) in " ".join(argv)}
        combos = {e["worker"]["pid"] for e in self.open_attempts() if Path(f"/proc/{e['worker']['pid']}").exists()}
        if target == "combo":
            return combos
        server = str(self.world.root / "server.py")
        below = [(child.pid, argv(child.pid)) for pid in combos for child in children(pid)]
        return {pid for pid, line in below if line and (server in line) == (target == "mcp")}

    def open_attempts(self) -> list[dict[str, Any]]:
        """`combo_started` events without an end."""
        ended = {(e["rid"], e["attempt"]) for e in of(self.run_dir, "combo_finished")}
        return [e for e in of(self.run_dir, "combo_started") if (e["rid"], e["attempt"]) not in ended]

    # -- what a person would do -------------------------------------------------------------------------------------

    def operate(self) -> None:
        """Resume a run whose supervisor is dead; attach to one that is stopped."""
        if self.done:
            return
        if not locks.held(self.run_dir):
            words = self.rng.choice([["resume", "--detach"], ["resume", "--detach"], ["attach"]])
            answer = self.world.call(*words, self.run_dir.name, timeout=PATIENCE)
            assert answer.returncode in self.answers, (self.context, answer.stderr)
            assert "Traceback" not in answer.stderr, (self.context, answer.stderr)
            return
        owner = locks.owner(self.run_dir)
        held = {pid for _, pid in self._held}
        if owner is not None and owner.state() == "T" and owner.pid not in held:
            self._attach_until(lambda: owner.state() != "T", "attach wakes a stopped supervisor")

    def _attach_until(self, condition: Any, what: str) -> None:
        command = [PROGRAM, "attach", self.run_dir.name]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        attached = subprocess.Popen(command, env=self.world.environment(), **quiet)  # type: ignore[call-overload]
        try:
            until(condition, f"{what}: {self.context}", PATIENCE)
        finally:
            attached.terminate()
            attached.wait(60)

    def _finish(self) -> None:
        """No more acts: the run comes to its end, with the help of a person where the supervisor is dead."""
        self._let_go(everything=True)
        deadline = time.monotonic() + PATIENCE
        while not self.done:
            assert time.monotonic() < deadline, f"the run does not end: {self.context}"
            self._wait(0.2)
            self.operate()

    # -- what must hold ---------------------------------------------------------------------------------------------

    def verify(self) -> None:
        """Nothing lost, nothing doubled, nothing left, a correct summary."""
        until(lambda: not locks.held(self.run_dir), "the supervisor ends", 60)
        final = journal_is_sound(events(self.run_dir), self.combos, self.context)
        files_agree(self.run_dir, final, self.context)
        allowed = {"scored", "invalid"} | ({"failed"} if any("agent" in hit for hit in self.hit) else set())
        assert set(final.values()) <= allowed, (final, self.context)
        attached = self.world.call("attach", self.run_dir.name)
        wanted = 3 if "invalid" in final.values() else 1 if "failed" in final.values() else 0
        assert attached.returncode == wanted, (attached.stderr, self.context)
        status = json.loads(self.world.call("status", "--json", self.run_dir.name).stdout)
        assert status["state"] == "done", self.context
        counted = Counter(final.values())
        assert {k: n for k, n in status["counts"].items() if n} == dict(counted), (status["counts"], self.context)
        cleaned = self.world.call("clean")
        assert cleaned.returncode == 0, cleaned.stderr
        assert_no_residue(self.world)
        left = [path for path in self.folders if path.exists()]
        assert left == [], (left, self.context)


def journal_is_sound(journal: list[dict[str, Any]], combos: int, context: str) -> dict[str, str]:
    """Final states by rid. Sequence whole, one attempt of a combo at a time, none after its verdict, `done` last."""
    assert [e["seq"] for e in journal] == list(range(1, len(journal) + 1)), context
    assert [e["event"] for e in journal if e["event"] in {"launched", "done"}] == ["launched", "done"], context
    assert journal[-1]["event"] == "done", context
    final: dict[str, str] = {}
    running: dict[str, int] = {}
    for event in journal:
        rid, kind = event.get("rid"), event["event"]
        if kind == "combo_started":
            assert rid not in running, (rid, "two attempts at once", context)
            assert final.get(rid) not in VERDICTS, (rid, "ran again after its verdict", context)
            running[rid] = event["attempt"]
            assert len(running) <= PARALLEL, (running, context)
        if kind == "combo_finished":
            assert final.get(rid) not in VERDICTS, (rid, "finished twice", context)
            assert running.pop(rid, event["attempt"]) == event["attempt"], (rid, context)
            final[rid] = event["state"]
    assert not running, (running, context)
    assert len(final) == combos, (sorted(final), context)
    return final


def files_agree(run_dir: Path, final: dict[str, str], context: str) -> None:
    """Status files, attempts, rows and summary say what the journal says."""
    scores = {}
    for rid, state in final.items():
        code = (run_dir / rid / "status").read_text()
        assert (code == "exit=0\n") == (state == "scored"), (rid, code, state, context)
        attempts = [path for path in (run_dir / rid).iterdir() if path.is_dir()]
        outcomes = []
        for path in attempts:
            told = path / "events.jsonl"
            phases = [line for line in told.read_text().splitlines() if '"preflight"' in line] if told.exists() else []
            assert len(phases) <= 1, (path, "one attempt, played twice", context)
            if (path / "outcome.json").exists():
                outcomes.append(json.loads((path / "outcome.json").read_text()))
        judged = [one for one in outcomes if one["state"] in VERDICTS]
        assert len(judged) == (state in VERDICTS), (rid, outcomes, context)
        scores[rid] = judged[0]["score"] if judged else None
    rows = json.loads((run_dir / "rows.json").read_text())
    assert len(rows) == len(final), (len(rows), context)
    summary = json.loads((run_dir / "summary.json").read_text())
    told = {row["rid"]: row["state"] for row in summary["combos"]}
    assert told == final, (told, final, context)
    assert sorted(row["outcomeScore"] for row in rows if row["outcomeScore"] is not None) == sorted(
        score for score in scores.values() if score is not None
    ), context


def commands() -> list[tuple[int, list[str]]]:
    """Pid and arguments of every process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (words := argv(int(entry.name))):
            found.append((int(entry.name), words))
    return found


def argv(pid: int) -> list[str]:
    """The arguments of a living process; empty for others."""
    try:
        return [word.decode(errors="replace") for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")]
    except OSError:
        return []


def children(pid: int) -> list[psutil.Process]:
    """The process tree below `pid`."""
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        return []

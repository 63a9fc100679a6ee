"""What a host does to a run, in the middle of it and beside random signals: the disk fills up, the file system turns
read-only, the clock is set, notes and locks are deleted. Nothing is lost, doubled or left, and the summary is right.

Real: the full disk (a small tmpfs), the read-only file system (ext4 on a loop device that the kernel itself remounts
after an error, with files open), deleted files. Simulated: the clock. Setting the host's would hit everybody on it,
and no namespace has a wall clock of its own; so every Python process of the run reads one with an offset, through
`sitecustomize`. Agents and control planes keep the real one.
"""

from __future__ import annotations

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devops_bench.supervisor import locks
from tests.mounts import small_disk

from .chaos import PATIENCE, Act, Chaos, matrix
from .world import World, attempts, of, until, working

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]

SEEDS = [
    1,
    *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(200, 206)),
]
CLOCK = '''\
"""A wall clock with an offset that a file holds."""

import datetime
import time

_real, _wall = datetime.datetime, time.time


def _offset():
    try:
        with open({file!r}) as handle:
            return float(handle.read() or 0)
    except (OSError, ValueError):
        return 0.0


class _Meta(type):
    def __instancecheck__(cls, one):
        return isinstance(one, _real)


class datetime_(_real, metaclass=_Meta):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(time.time(), tz)

    @classmethod
    def utcnow(cls):
        return cls.now(datetime.timezone.utc).replace(tzinfo=None)


datetime_.__name__ = datetime_.__qualname__ = "datetime"
time.time = lambda: _wall() + _offset()
time.time_ns = lambda: int(time.time() * 1e9)
datetime.datetime = datetime_
'''


@pytest.fixture(autouse=True)
def _binary(kube_binary: Path, world: World) -> None:
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)


class HostChaos(Chaos):
    """Acts of kind `host` call `fault(rng, hold)`; the others are signals as ever."""

    fault: Callable[[random.Random, float], str]
    answers = frozenset({0, 2, 3, 4})  # 2: where nothing can be written, nothing is resumed

    def _hit(self, act: Act) -> bool:
        if act.target != "host":
            return super()._hit(act)
        self.hit.append(f"host {self.fault(self.rng, act.hold)}")
        return True


def host_plan(seed: int, faults: int, signals: int) -> list[Act]:
    """`faults` of the host between `signals`."""
    rng = random.Random(seed)
    kinds = ["host"] * faults + [rng.choice(("supervisor", "combo", "zygote")) for _ in range(signals)]
    rng.shuffle(kinds)
    return [Act(round(rng.uniform(0.3, 2.0), 3), kind, "kill", round(rng.uniform(0.5, 3.0), 3)) for kind in kinds]


def play(
    world: World, seed: int, fault: Callable[[Path], Callable[[random.Random, float], str]], acts: list[Act]
) -> list[HostChaos]:
    """All acts, over as many runs as it takes."""
    flags, combos = matrix(world, seed, clusters=1, plain=2)
    played = []
    while acts:
        chaos = HostChaos(world, world.launch(*flags), seed, acts, combos)
        chaos.fault = fault(chaos.run_dir)
        acts = chaos.play()
        chaos.verify()
        played.append(chaos)
    assert any(hit.startswith("host") for one in played for hit in one.hit)
    return played


# -- a full disk ------------------------------------------------------------------------------------------------------


@pytest.fixture
def disk(world: World) -> Iterator[Path]:
    with small_disk(world.runs) as mounted:
        yield mounted


@pytest.mark.parametrize("seed", SEEDS)
def test_a_disk_that_fills_up_again_and_again(world: World, disk: Path, seed: int) -> None:
    def fault(_run_dir: Path) -> Callable[[random.Random, float], str]:
        def fill(_rng: random.Random, hold: float) -> str:
            filler = disk / ".filler"
            with filler.open("wb", buffering=0) as handle:
                try:
                    while handle.write(bytes(1 << 16)):
                        pass
                except OSError:
                    pass
            time.sleep(hold)
            filler.unlink()
            return "disk full"

        return fill

    few = seed < 100
    for chaos in play(world, seed, fault, host_plan(seed, 1 if few else 3, 1 if few else 3)):
        assert "Traceback" not in (chaos.run_dir / "supervisor.log").read_text(), chaos.context


# -- a file system that turns read-only -------------------------------------------------------------------------------


class Loop:
    """An ext4 file system in a file, mounted at `target`; `fail` makes the kernel turn it read-only."""

    def __init__(self, image: Path, target: Path) -> None:
        self.image, self.target, self.device = image, target, ""

    def make(self) -> bool:
        with self.image.open("wb") as handle:
            handle.truncate(400 << 20)  # a run wants 256 MiB
        made = subprocess.run(["mkfs.ext4", "-q", "-m", "0", str(self.image)], check=False, capture_output=True)
        if made.returncode != 0:
            return False
        found = subprocess.run(["losetup", "-f", "--show", self.image], check=False, capture_output=True, text=True)
        self.device = found.stdout.strip()
        # Every sandbox on this host has a copy of all mounts. Below a shared one they hear of it when this one goes.
        around = str(self.target.parent)
        subprocess.run(["mount", "--bind", around, around], check=False, capture_output=True)
        subprocess.run(["mount", "--make-shared", around], check=False, capture_output=True)
        return bool(self.device) and self.mount()

    @property
    def trigger(self) -> Path:
        return Path("/sys/fs/ext4") / Path(self.device).name / "trigger_fs_error"

    def mount(self) -> bool:
        command = ["mount", "-o", "errors=remount-ro", self.device, str(self.target)]
        return subprocess.run(command, check=False, capture_output=True).returncode == 0

    def fail(self) -> None:
        self.trigger.write_text("1")
        with pytest.raises(OSError, match="Read-only"):
            (self.target / "probe").write_text("")

    def repair(self) -> None:
        until(lambda: self._unmounted(), "nobody has a file open on it", 300)
        fixed = subprocess.run(["fsck.ext4", "-fy", self.device], check=False, capture_output=True, text=True)
        assert fixed.returncode <= 2, fixed.stdout + fixed.stderr
        assert self.mount()
        (self.target / "probe").write_text("it can be written again")
        (self.target / "probe").unlink()

    def _unmounted(self) -> bool:
        return subprocess.run(["umount", str(self.target)], check=False, capture_output=True).returncode == 0

    def remove(self) -> None:
        for path in (self.target, self.target.parent):
            subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
        if self.device:
            subprocess.run(["losetup", "-d", self.device], check=False, capture_output=True)


@pytest.fixture
def loop(world: World, tmp_path: Path) -> Iterator[Loop]:
    world.runs.mkdir()
    made = Loop(tmp_path / "disk.img", world.runs)
    try:
        if not made.make() or not made.trigger.exists():
            pytest.skip("an ext4 file system cannot be mounted from a file here")
        yield made
    finally:
        made.remove()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_file_system_that_turns_read_only(world: World, loop: Loop, seed: int) -> None:
    """As after a failing disk: what was not made durable is gone, and `resume` goes on from what was."""

    def fault(run_dir: Path) -> Callable[[random.Random, float], str]:
        def turn(rng: random.Random, _hold: float) -> str:
            loop.fail()
            until(lambda: not locks.held(run_dir), "the supervisor gives up", PATIENCE)
            words = rng.choice([["attach"], ["resume", "--detach"], ["status"], ["stop", "--now"]])
            answer = world.call(*words, run_dir.name, timeout=PATIENCE)
            # What only reads works; the others say in one line what is wrong.
            assert "internal error" not in answer.stderr and answer.stderr.count("\n") <= 1, (words, answer.stderr)
            assert answer.returncode == 0 or "Read-only" in answer.stderr, (words, answer.stderr)
            loop.repair()
            return f"read-only, {words[0]}"

        return turn

    few = seed < 100
    for chaos in play(world, seed, fault, host_plan(seed, 1 if few else 2, 0 if few else 2)):
        assert "Traceback" not in (chaos.run_dir / "supervisor.log").read_text(), chaos.context


# -- a clock that is set ----------------------------------------------------------------------------------------------

DAY = 86400.0


@pytest.fixture
def clock(world: World) -> Path:
    """The file with the offset in seconds."""
    file, folder = world.root / "offset", world.root / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(CLOCK.format(file=str(file)))
    world.env["PYTHONPATH"] = str(folder)
    return file


def set_clock(file: Path, offset: float) -> None:
    draft = file.with_suffix(".new")
    draft.write_text(str(offset))
    draft.rename(file)


@pytest.mark.parametrize("days", [10, -10])
def test_a_combo_that_is_adopted_after_the_clock_was_set_is_not_out_of_time(
    world: World, clock: Path, days: float
) -> None:
    task = world.task(before="sleep 20")  # longer than a resume takes on a busy host
    world.env["BENCH_SMOKE"] = "off"
    run_dir = world.launch(*world.matrix(task))
    working(run_dir)
    set_clock(clock, days * DAY)
    owner = locks.owner(run_dir)
    assert owner is not None
    subprocess.run(["kill", "-KILL", str(owner.pid)], check=True)
    until(lambda: not owner.alive(), "the supervisor is dead")
    assert world.call("resume", "--detach", run_dir.name).returncode == 0
    until(lambda: (run_dir / ".done").exists(), "it is done", PATIENCE)
    assert of(run_dir, "adopted"), "it was still running"
    (end,) = of(run_dir, "combo_finished")
    assert end["state"] == "scored", end
    assert len(attempts(run_dir, end["rid"])) == 1
    started = of(run_dir, "launched")[0]["time"][:10]
    assert of(run_dir, "done")[0]["time"][:10] != started, "the clock of this run was set"


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(200, 206))
def test_a_clock_that_jumps_again_and_again(world: World, clock: Path, seed: int) -> None:
    def fault(_run_dir: Path) -> Callable[[random.Random, float], str]:
        def jump(rng: random.Random, _hold: float) -> str:
            offset = rng.choice((-1, 1)) * rng.choice((5.0, 3600.0, DAY, 400 * DAY)) * rng.random()
            set_clock(clock, offset)
            return f"clock {offset:+.0f} s"

        return jump

    play(world, seed, fault, host_plan(seed, 4, 3))


# -- deleted notes and locks ------------------------------------------------------------------------------------------


def deletable(world: World, run_dir: Path) -> list[Path]:
    """Every file that says who owns something, and every cache; never the journal, the plan or a result."""
    names = ("supervisor.json", "snapshot.json", "heartbeat.json", ".ballast")
    found = [run_dir / name for name in names]
    found += [path for pattern in ("planes/*/lease.json", "planes/*/log") for path in world.state.glob(pattern)]
    found += [*run_dir.rglob("*.lock"), *world.state.rglob("*.lock")]
    return [path for path in found if path.exists()]


def test_deleting_every_note_lets_nobody_in_twice(world: World) -> None:
    world.env |= {"BENCH_SMOKE": "off", "BENCH_HEARTBEAT_SEC": "0.5"}
    flags = world.matrix(world.task(before="sleep 30"))  # longer than two refusals take on a busy host
    run_dir = world.launch(*flags)
    working(run_dir)
    for path in deletable(world, run_dir):
        path.unlink(missing_ok=True)
    assert world.call("resume", run_dir.name).returncode == 4
    again = world.call("run", "--detach", "--no-wait", *flags)
    assert again.returncode == 4, again.stdout + again.stderr
    until(lambda: locks.owner(run_dir) is not None, "the supervisor says again who it is")
    attached = world.call("attach", run_dir.name)
    assert attached.returncode == 0, attached.stderr
    assert len(of(run_dir, "combo_started")) == 1
    assert [path.name for path in world.runs.iterdir()] == [run_dir.name]


@pytest.mark.parametrize("seed", SEEDS)
def test_notes_and_locks_that_are_deleted(world: World, seed: int) -> None:
    world.env["BENCH_HEARTBEAT_SEC"] = "0.5"

    def fault(run_dir: Path) -> Callable[[random.Random, float], str]:
        def delete(rng: random.Random, _hold: float) -> str:
            path = rng.choice(sorted(deletable(world, run_dir)) or [run_dir / "none"])
            path.unlink(missing_ok=True)
            return f"deleted {path.name}"

        return delete

    few = seed < 100
    play(world, seed, fault, host_plan(seed, 2 if few else 5, 1 if few else 3))

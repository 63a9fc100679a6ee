"""Proofs that are interrupted leave no folder, process or control plane, and what a SIGKILL leaves `clean` removes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.world import PROGRAM, processes, until

WORKSPACE_TASK = """\
task_id: slow
name: slow
infrastructure: {{deployer: noop, provider: {provider}}}
prompt: Write the word ready into answer.txt.
verification_spec:
  - name: answered
    check: {{type: file, file: answer.txt, op: contains, value: ready}}
"""
SOLUTION = (
    "#!/usr/bin/env bash\nset -eu\necho begun > begun.txt\n# fix: answer\nsleep 600; echo ready > answer.txt\n# end\n"
)


class Place:
    """A short temporary folder that the command believes is the host's."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def temporary(self) -> Path:
        return self.root / "t"

    def task(self, provider: str = "none") -> Path:
        folder = self.root / "slow"
        (folder / "solution").mkdir(parents=True)
        (folder / "task.yaml").write_text(WORKSPACE_TASK.format(provider=provider))
        (folder / "solution" / "solve.sh").write_text(SOLUTION)
        (folder / "solution" / "solve.sh").chmod(0o755)
        return folder

    def start(self, *args: str, **env: str) -> subprocess.Popen[str]:
        self.temporary.mkdir(exist_ok=True)
        own = {**os.environ, "TMPDIR": str(self.temporary), "BENCH_RUN_STATE_ROOT": str(self.root / "state"), **env}
        return subprocess.Popen([PROGRAM, *args], env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def call(self, *args: str) -> str:
        process = self.start(*args)
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        return out

    @property
    def worlds(self) -> list[Path]:
        return list(self.temporary.glob("dbp-*"))

    def working(self) -> None:
        """Wait until the solution runs in its sandbox."""
        until(lambda: list(self.temporary.glob("dbp-*/w/begun.txt")), "the solution works", 240)

    def ended(self) -> None:
        """Nothing that names the place runs any more."""
        until(lambda: not list(processes(str(self.root))), f"all ends: {list(processes(str(self.root)))}", 60)


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place(Path(tempfile.mkdtemp(prefix="lv-", dir="/tmp")))
    yield made
    for pid, _command in processes(str(made.root)):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    shutil.rmtree(made.root, ignore_errors=True)


@pytest.mark.sandbox
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_interrupted_validation_leaves_nothing(place: Place, number: signal.Signals) -> None:
    process = place.start("tasks", "validate", str(place.task()), "--no-record", "--case", "solution*", "--jobs", "1")
    place.working()
    process.send_signal(number)
    _out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + number, err
    assert "interrupted; nothing is left" in err and "Traceback" not in err
    assert place.worlds == []
    place.ended()


@pytest.mark.kwok
def test_an_interrupted_calibration_leaves_no_control_plane(place: Place, kube_binary: Path) -> None:
    task = place.task("kwok")
    process = place.start("tasks", "calibrate", str(task), "--jobs", "2", DEVOPS_BENCH_KUBE=str(kube_binary))
    until(lambda: list(place.temporary.glob("dbp-*/s/planes/*")), "a control plane is made", 240)
    process.send_signal(signal.SIGTERM)
    _out, err = process.communicate(timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, err
    assert place.worlds == []
    place.ended()


@pytest.mark.sandbox
def test_what_a_sigkill_leaves_is_removed_by_clean_and_a_living_world_is_not(place: Place) -> None:
    process = place.start("tasks", "validate", str(place.task()), "--no-record", "--case", "solution*", "--jobs", "1")
    place.working()
    (world,) = place.worlds
    assert "nothing to remove" in place.call("clean") and world.exists(), "its process is alive"
    process.kill()
    process.communicate(timeout=60)
    place.ended()
    assert world.exists()
    assert f"would remove world of a proof {world}" in place.call("clean", "--dry-run") and world.exists()
    assert f"removed world of a proof {world}" in place.call("clean")
    assert place.worlds == []


def test_folders_that_only_look_like_worlds_stay(place: Place) -> None:
    place.temporary.mkdir()
    (place.temporary / "dbp-file").write_text("x")
    (place.temporary / "dbp-new").mkdir()
    (place.root / "mine").mkdir()
    (place.temporary / "dbp-link").symlink_to(place.root / "mine")
    assert "nothing to remove" in place.call("clean")
    assert len(place.worlds) == 3

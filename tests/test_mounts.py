"""What a killed test session left mounted is unmounted by the next one; what a living one mounted is not."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mounts import LOCK, small_disk, sweep


def session(root: Path, name: str, pid: int) -> Path:
    folder = root / name
    folder.mkdir()
    (folder / LOCK).write_text(str(pid))
    return folder


def dead_pid() -> int:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


@pytest.mark.parametrize("name", ["runs", "two words", "naïve"])
def test_mounts_of_a_session_that_is_gone_are_unmounted(tmp_path: Path, name: str) -> None:
    with small_disk(session(tmp_path, "pytest-1", dead_pid()) / name) as disk:
        assert disk.is_mount()
        assert sweep(tmp_path) == [disk]
        assert not disk.is_mount()


def test_mounts_of_a_living_session_and_of_an_unknown_one_stay(tmp_path: Path) -> None:
    unknown = tmp_path / "pytest-2"
    unknown.mkdir()
    with small_disk(session(tmp_path, "pytest-1", os.getpid()) / "runs") as mine, small_disk(unknown / "runs") as other:
        assert sweep(tmp_path) == []
        assert mine.is_mount()
        assert other.is_mount()

"""Locks: one supervisor per run, one holder per token, nothing that can be deleted from under a holder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.combo.token import take_token
from devops_bench.errors import RefusedError
from devops_bench.process import identity
from devops_bench.supervisor import locks
from devops_bench.supervisor.locks import RunLock

HOLDER = """
import sys
from pathlib import Path
from devops_bench.combo.token import take_token
from devops_bench.supervisor.locks import RunLock
if sys.argv[1] == "run":
    lock = RunLock(Path(sys.argv[2])); lock.acquire("supervisor")
else:
    fd = take_token(sys.argv[3], Path(sys.argv[2])); assert fd is not None
print("held", flush=True)
sys.stdin.read()
"""


def hold(*args: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()


def test_a_second_supervisor_is_refused_and_told_how_to_attach(tmp_path: Path) -> None:
    process = hold("run", str(tmp_path))
    try:
        with pytest.raises(RefusedError, match="already active") as caught:
            RunLock(tmp_path).acquire("supervisor")
        assert caught.value.exit_code == 4
        assert f"attach {tmp_path.name}" in caught.value.message()
        assert locks.held(tmp_path)
        recorded = locks.owner(tmp_path)
        assert recorded is not None and recorded.pid == process.pid
    finally:
        end(process)
    assert not locks.held(tmp_path)
    with RunLock(tmp_path) as lock:
        lock.acquire("supervisor")
        assert locks.owner(tmp_path) == identity()


def test_deleting_files_of_the_run_does_not_admit_a_second_supervisor(tmp_path: Path) -> None:
    process = hold("run", str(tmp_path))
    try:
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(RefusedError):
            RunLock(tmp_path).acquire("supervisor")
    finally:
        end(process)


def test_a_token_has_one_holder_per_state_root_and_dies_with_it(tmp_path: Path) -> None:
    process = hold("token", str(tmp_path), "c1234567")
    try:
        assert take_token("c1234567", tmp_path) is None
        for other in (take_token("c7654321", tmp_path), take_token("c1234567", tmp_path / "other")):
            assert other is not None
            os.close(other)
        assert list(tmp_path.iterdir()) == [], "a lock leaves nothing on disk"
    finally:
        end(process)
    fd = take_token("c1234567", tmp_path)
    assert fd is not None
    os.close(fd)


def test_a_token_lives_on_in_whoever_was_handed_it(tmp_path: Path) -> None:
    fd = take_token("c1234567", tmp_path)
    assert fd is not None
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    child = subprocess.Popen(waits, stdin=subprocess.PIPE, pass_fds=[fd])
    os.close(fd)
    assert take_token("c1234567", tmp_path) is None
    child.kill()
    child.communicate()
    again = take_token("c1234567", tmp_path)
    assert again is not None
    os.close(again)

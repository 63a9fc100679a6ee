"""Measuring a command with everything it starts, detached or not.

The bench makes itself the reaper of orphans: a daemon that leaves its parent still ends as our child, its CPU time is
counted. Every process of a command carries one variable; memory and leftovers are found by it in /proc.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TOKEN = "PEERS_TOKEN"
STAND_IN = b"sleep\x003600\x00"
"""The command line of a process that stands for a container."""
_SUBREAPER = 36
_SAMPLE_SEC = 0.25
_SETTLE_SEC = 600.0


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds until the command returned; CPU seconds and peak memory (MB, shared pages split) of all its processes."""

    wall: float
    cpu: float
    peak_mb: float
    exit: int


def token() -> str:
    """A new mark for a family of processes."""
    return uuid.uuid4().hex


def become_reaper() -> None:
    """Orphans of all later commands become our children."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def measure(argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> Used:
    """Run `argv` to its end and wait until its processes are gone; `env` holds TOKEN. Output goes to `log`."""
    mark = env[TOKEN]
    before = _children()
    peak = [0.0]
    over = threading.Event()
    sampler = threading.Thread(target=_sample, args=(mark, peak, over), daemon=True)
    started = time.perf_counter()
    process = start(argv, env, cwd, log)
    sampler.start()
    _pid, status = os.waitpid(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    settle(mark)
    over.set()
    sampler.join()
    return Used(wall, _children() - before, peak[0], process.returncode)


def start(argv: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path) -> subprocess.Popen[bytes]:
    """Start `argv` and leave it running."""
    with log.open("ab") as out:
        return subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, cwd=cwd)


def settle(mark: str, patience: float = _SETTLE_SEC) -> None:
    """Reap until nothing of the family but stand-ins is left, or `patience` seconds are over."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        _reap()
        if not family(mark):
            return
        time.sleep(0.02)


def family(mark: str, stand_ins: bool = False) -> list[int]:
    """Process ids that carry `mark`; zombies do not count."""
    found = []
    wanted = f"{TOKEN}={mark}".encode()
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            folder = Path(entry.path)
            if wanted not in (folder / "environ").read_bytes().split(b"\0"):
                continue
            if stand_ins or (folder / "cmdline").read_bytes() != STAND_IN:
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def kill(pids: Sequence[int]) -> None:
    """SIGKILL, whoever is still there."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _sample(mark: str, peak: list[float], over: threading.Event) -> None:
    while not over.wait(_SAMPLE_SEC):
        peak[0] = max(peak[0], sum(_pss(pid) for pid in family(mark)))


def _pss(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0

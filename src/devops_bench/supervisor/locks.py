"""One supervisor per run: a flock on the run directory itself, so that there is no lock file somebody could delete.

The descriptor is close-on-exec and never inherited. The lock of a cluster token is `combo.token`.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from pathlib import Path

from devops_bench.errors import RefusedError
from devops_bench.paths import atomic_write
from devops_bench.process import ProcessIdentity, identity

OWNER = "supervisor.json"
PROBE_SEC = 0.4


class RunLock:
    """Exclusive right to write a run's journal.

    A context manager; `acquire` raises RefusedError when held elsewhere.
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self._fd = -1

    def acquire(self, role: str) -> None:
        """Take the lock and leave our identity in the run folder; `role` is `supervisor` or `collector`."""
        fd = os.open(self.run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        deadline = time.monotonic() + PROBE_SEC
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                # Somebody may only be looking (`held`), which takes the lock for a moment.
                if time.monotonic() < deadline:
                    time.sleep(0.02)
                    continue
                os.close(fd)
                raise RefusedError(
                    f"run {self.run_dir.name} is already active",
                    fix=f"follow it with `devops-bench attach {self.run_dir.name}`",
                ) from None
        self._fd = fd
        sign(self.run_dir, role)

    def release(self) -> None:
        """Give it back; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()


def sign(run_dir: Path, role: str) -> None:
    """Leave our identity in the run folder for those who look. A note only: the lock is the descriptor."""
    me = identity()
    assert me is not None
    atomic_write(run_dir / OWNER, json.dumps({"role": role, **me.to_data()}))


def held(run_dir: Path) -> bool:
    """True if some process holds the run's lock now."""
    fd = os.open(run_dir, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def alive(run_dir: Path) -> tuple[ProcessIdentity | None, bool]:
    """The recorded supervisor and whether it holds the run's lock now."""
    who = owner(run_dir)
    return who, bool(who is not None and held(run_dir) and who.alive())


def owner(run_dir: Path) -> ProcessIdentity | None:
    """The last process that took the run's lock, or None if none is recorded."""
    try:
        return ProcessIdentity.from_data(json.loads((run_dir / OWNER).read_text()))
    except (OSError, ValueError):
        return None

"""Who may do what: one supervisor per run, one holder per cluster token on this host.

The run's lock is a flock on the run directory itself: no lock file that somebody could delete. The token's lock is a
bound abstract socket: the kernel drops it when the last holder dies, nothing on disk can be removed, and its
descriptor can be handed to the combo. Both descriptors are close-on-exec and never inherited by agents.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import socket
from pathlib import Path

from devops_bench.errors import RefusedError
from devops_bench.paths import atomic_write
from devops_bench.process import ProcessIdentity, identity

OWNER = "supervisor.json"


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
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            raise RefusedError(
                f"run {self.run_dir.name} is already active",
                fix=f"follow it with `devops-bench attach {self.run_dir.name}`",
            ) from None
        self._fd = fd
        me = identity()
        assert me is not None
        atomic_write(self.run_dir / OWNER, json.dumps({"role": role, **me.to_data()}))

    def release(self) -> None:
        """Give it back; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> RunLock:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release()


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


def owner(run_dir: Path) -> ProcessIdentity | None:
    """The last process that took the run's lock, or None if none is recorded."""
    try:
        return ProcessIdentity.from_data(json.loads((run_dir / OWNER).read_text()))
    except (OSError, ValueError):
        return None


def take_token(token: str, state_root: Path) -> int | None:
    """Bind the token's lock; returns its descriptor, or None when another combo on this host holds it.

    The name is a hash: other users of the host learn nothing from it, and different state roots do not collide.
    """
    name = hashlib.sha256(f"{state_root.resolve()}\0{token}".encode()).hexdigest()[:24]
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        lock.bind(b"\0" + name.encode())
    except OSError:
        lock.close()
        return None
    return lock.detach()

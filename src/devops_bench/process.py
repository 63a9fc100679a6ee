"""Processes as durable things: who they are after a reboot, how to wait for one that is no child, how to end one.

A pid alone is not an identity: it is reused, and after a reboot or in another pid namespace it names something else.
Linux only; `supported()` tells. Used by the supervisor, the pool, combos and every sweep.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any


def supported() -> bool:
    """True where pidfds and /proc exist (Linux)."""
    return sys.platform == "linux" and hasattr(os, "pidfd_open")


def boottime() -> float:
    """Seconds since boot, sleep of the host included: no clock setting changes them."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@lru_cache(maxsize=1)
def boot_id() -> str:
    """The kernel's random id of this boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


@lru_cache(maxsize=1)
def _own_pid_namespace() -> str:
    return os.readlink("/proc/self/ns/pid")


def _fields(pid: int) -> list[bytes] | None:
    """/proc/PID/stat from the state (field 3 of proc(5)) on; None if there is no such process."""
    try:
        raw = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The command name may hold spaces and parentheses: fields start after the last one.
    return raw[raw.rindex(b")") + 2 :].split()


def _stat(pid: int) -> tuple[str, int] | None:
    """State letter and start ticks of a process; None if it does not exist."""
    fields = _fields(pid)
    return (fields[0].decode(), int(fields[19])) if fields is not None else None


def cpu_seconds(pid: int) -> float:
    """Seconds of processor time of a process, without its children; 0 if it does not exist."""
    fields = _fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields is not None else 0.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Boot id, pid namespace, pid and raw start ticks: equal only for one and the same process."""

    pid: int
    ticks: int
    boot: str
    namespace: str

    def state(self) -> str | None:
        """The state letter of /proc (R, S, T, Z ...), or None when this very process is gone."""
        if self.foreign:
            return None
        now = _stat(self.pid)
        return now[0] if now is not None and now[1] == self.ticks else None

    @property
    def foreign(self) -> bool:
        """True when this process cannot tell whether it lives: another boot, or another pid namespace."""
        return self.boot != boot_id() or self.namespace != _own_pid_namespace()

    def age(self) -> float:
        """Seconds since it started, sleep of the host included; meaningful only where it is not `foreign`."""
        return max(0.0, boottime() - self.ticks / os.sysconf("SC_CLK_TCK"))

    def alive(self) -> bool:
        """True while it runs or is stopped; a zombie has ended."""
        return self.state() not in {None, "Z", "X"}

    def open_pidfd(self) -> int | None:
        """A pidfd of this very process, or None when it is gone. The caller closes it."""
        try:
            fd = os.pidfd_open(self.pid)
        except (ProcessLookupError, OSError):
            return None
        # Checked after opening: the pid cannot be reused while the descriptor names its process.
        if not self.alive():
            os.close(fd)
            return None
        return fd

    def to_data(self) -> dict[str, Any]:
        """JSON form."""
        return asdict(self)

    @classmethod
    def from_data(cls, data: Any) -> ProcessIdentity | None:
        """Read the JSON form; None when it is damaged."""
        try:
            return cls(int(data["pid"]), int(data["ticks"]), str(data["boot"]), str(data["namespace"]))
        except (KeyError, TypeError, ValueError):
            return None


def identity(pid: int | None = None) -> ProcessIdentity | None:
    """The identity of `pid` (default: this process), or None when there is none."""
    pid = os.getpid() if pid is None else pid
    now = _stat(pid)
    return None if now is None else ProcessIdentity(pid, now[1], boot_id(), _own_pid_namespace())


def wait_ended(pidfd: int, timeout: float) -> bool:
    """Wait until the process of `pidfd` has ended, at most `timeout` seconds; True if it has. Needs no parenthood."""
    poller = select.poll()
    poller.register(pidfd, select.POLLIN)
    deadline = time.monotonic() + timeout
    while True:
        left = deadline - time.monotonic()
        if poller.poll(max(0, int(left * 1000))):
            return True
        if left <= 0:
            return False


def end_process(who: ProcessIdentity, grace: float, *, group: bool = False) -> bool:
    """End a process that need not be our child: TERM and CONT, `grace` seconds later KILL. True if it has ended.

    CONT goes along because a stopped process keeps TERM pending. With `group` the signals go to its process group as
    well (only while the leader lives, so that a reused group id is never hit).
    """
    fd = who.open_pidfd()
    if fd is None:
        return True
    try:
        for sig, wait in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
            with _gone_is_fine():
                if group and os.getpgid(who.pid) == who.pid and who.alive():
                    os.killpg(who.pid, sig)
                signal.pidfd_send_signal(fd, sig)
                if sig == signal.SIGTERM:
                    signal.pidfd_send_signal(fd, signal.SIGCONT)
            if wait_ended(fd, wait):
                return True
        return False
    finally:
        os.close(fd)


@contextmanager
def _gone_is_fine() -> Iterator[None]:
    try:
        yield
    except ProcessLookupError:
        pass


def tagged(variable: str, content: str) -> list[int]:
    """Pids of processes whose environment holds `variable=content`: how strays of an unsandboxed tree are found."""
    needle = f"{variable}={content}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if needle in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue
    return found

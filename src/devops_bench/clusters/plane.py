"""One control plane as a process: start it, learn that it serves, hand it over, end it.

Its life hangs on the read end of its standard input. Whoever holds the write end (close-on-exec, in exactly one
process) holds the plane: when that process dies, by whatever signal, the kernel closes the descriptor and the plane
ends. Nothing here blocks except `wait_ready` and `end`, so that an event loop can watch `stdout_fd` and `pidfd`.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from devops_bench.clusters import leases
from devops_bench.clusters.leases import Lease, PlaneState, Ready
from devops_bench.clusters.needs import faults_yaml, needs_key, nodes_yaml, stage_files
from devops_bench.errors import HarnessError, TransientError
from devops_bench.process import ProcessIdentity, identity, wait_ended
from devops_bench.settings import value
from devops_bench.tasks.spec import ClusterNeeds

READY_LINE_CAP = 64 << 10
LOG_TAIL = 400
# A plane that runs ends within a second of the end of its input.
EOF_GRACE = 1.0
KEPT_ENVIRONMENT = ("PATH", "LANG", "TZ", "GOMAXPROCS", "GODEBUG")
RESET_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD, signal.SIGUSR1)


class Plane:
    """A plane that this process started or was handed. Not thread-safe; one owner at a time.

    `folder` holds its lease, `pidfd` becomes readable when it has ended, `stdout_fd` when it has something to say (None
    once it is ready, unless it `obeys` commands), `write_fd` is its life (None once given away).
    """

    def __init__(
        self,
        folder: Path,
        lease: Lease,
        write_fd: int | None,
        stdout_fd: int | None,
        pidfd: int,
        *,
        obeys: bool = False,
    ) -> None:
        self.obeys = obeys
        self.folder = folder
        self.lease = lease
        self.write_fd = write_fd
        self.stdout_fd = stdout_fd
        self.pidfd = pidfd
        self.started = time.monotonic()
        self._heard = b""

    def __repr__(self) -> str:
        return f"<Plane {self.folder.name} {self.lease.state} pid={self.pid}>"

    @property
    def process(self) -> ProcessIdentity:
        """Who it is, durably."""
        assert self.lease.plane is not None
        return self.lease.plane

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def ready(self) -> Ready | None:
        """What it said when it was ready; None before."""
        return self.lease.ready

    @property
    def directory(self) -> Path:
        """Its private directory (0700): never visible to an agent."""
        return self.folder / leases.DATA

    def on_readable(self) -> Ready | None:
        """Take what `stdout_fd` has; the ready information once it is whole, None while it is not.

        Raises TransientError when the plane ended first, HarnessError when it talks nonsense.
        """
        if self.lease.ready is not None:
            return self.lease.ready
        assert self.stdout_fd is not None
        try:
            chunk = os.read(self.stdout_fd, READY_LINE_CAP)
        except BlockingIOError:
            return None
        self._heard += chunk
        if b"\n" in self._heard:
            ready = parse_ready(self._heard.split(b"\n", 1)[0])
            self.lease = replace(self.lease, ready=ready, state=PlaneState.READY)
            leases.write(self.folder, self.lease)
            if not self.obeys:
                os.close(self.stdout_fd)
                self.stdout_fd = None
            return ready
        if not chunk or len(self._heard) > READY_LINE_CAP:
            raise TransientError(f"control plane ended before it was ready{self._tail()}", delay=1.0)
        return None

    def wait_ready(self, timeout: float | None = None) -> Ready:
        """Block until it serves, at most `timeout` seconds (default: setting `plane_ready_timeout`).

        Raises as `on_readable`, and TransientError at the deadline; the plane is ended in each case.
        """
        seconds = value("plane_ready_timeout") if timeout is None else timeout
        deadline = time.monotonic() + seconds
        try:
            while (ready := self.lease.ready) is None:
                assert self.stdout_fd is not None
                poller = select.poll()
                poller.register(self.stdout_fd, select.POLLIN)
                left = deadline - time.monotonic()
                if left <= 0 or not poller.poll(left * 1000):
                    raise TransientError(f"control plane not ready after {seconds:g} s{self._tail()}", delay=1.0)
                self.on_readable()
        except BaseException:
            self.end(grace=0)
            raise
        return ready

    def lease_to(self, owner: ProcessIdentity, name: str) -> None:
        """Write durably that `owner` has it, as the cluster `name`. Before the write end is handed over."""
        self.lease = replace(self.lease, owner=owner, name=name, state=PlaneState.LEASED)
        leases.write(self.folder, self.lease)

    def give_away(self) -> None:
        """Close this process's copy of the write end after it was sent to the new owner; the plane lives on there.

        `pidfd` stays open: its parent has to learn of its end and `reap` it.
        """
        for name in ("write_fd", "stdout_fd"):
            fd = getattr(self, name)
            if fd is not None:
                os.close(fd)
                setattr(self, name, None)

    def reap(self) -> bool:
        """True when it has ended; collects its exit status if it is our child. Never blocks."""
        if not wait_ended(self.pidfd, 0):
            return False
        try:
            os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED | os.WNOHANG)
        except ChildProcessError:
            pass  # handed over to us, or a subreaper was faster
        return True

    def end(self, grace: float = EOF_GRACE) -> None:
        """End it and remove its folder; idempotent. At most `grace` seconds for each polite step, then KILL."""
        self.give_away()
        if self.pidfd >= 0:
            end_by_pidfd(self.pidfd, grace)
            self.reap()
            os.close(self.pidfd)
            self.pidfd = -1
        remove(self.folder)

    def _tail(self) -> str:
        return log_tail(self.folder)


def start(
    binary: Path,
    state_root: Path,
    needs: ClusterNeeds,
    *,
    owner: ProcessIdentity | None = None,
    obeys: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Plane:
    """Start a plane and return at once; `owner` is this process unless told otherwise. `obeys`: see `rewinding`.

    Raises TransientError when the host refuses (disk, processes, memory), TaskError for a missing stage file.
    """
    arguments = ["up", "--dir", leases.DATA, f"--stdin={'commands' if obeys else 'watch'}"]
    for path in stage_files(needs):
        arguments += ["--stages", str(path)]
    try:
        folder, lease = leases.reserve(state_root, owner or leases.myself(), needs_key(needs))
    except OSError as error:
        raise TransientError(f"cannot make a plane's folder: {error.strerror}", where=state_root, delay=5.0) from error
    try:
        arguments[2] = str(folder / leases.DATA)
        if (nodes := nodes_yaml(needs)) is not None:
            (folder / leases.NODES).write_text(nodes)
            arguments += ["--nodes", str(folder / leases.NODES)]
        if (faults := faults_yaml(needs)) is not None:
            (folder / leases.FAULTS).write_text(faults)
            arguments += ["--stages", str(folder / leases.FAULTS)]
        write_fd, stdout_fd, pid = _spawn(binary, arguments, folder, env)
        who = identity(pid)
        assert who is not None  # our child, not reaped yet: it is in /proc even if it has ended
        lease = replace(lease, plane=who)
        plane = Plane(folder, lease, write_fd, stdout_fd, os.pidfd_open(pid), obeys=obeys)
    except OSError as error:
        remove(folder)
        raise TransientError(f"cannot start a control plane: {error.strerror}", where=binary, delay=5.0) from error
    try:
        leases.write(folder, lease)
    except OSError as error:
        plane.end(grace=0)
        raise TransientError(f"cannot write a lease: {error.strerror}", where=folder, delay=5.0) from error
    return plane


def _spawn(binary: Path, arguments: Sequence[str], folder: Path, env: Mapping[str, str]) -> tuple[int, int, int]:
    """Spawn the binary in a session of its own; (write end of its stdin, read end of its stdout, pid)."""
    stdin_read, write_fd = os.pipe2(os.O_CLOEXEC)
    stdout_fd, stdout_write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(stdout_write, True)
    log = leases.hold_log(folder)
    try:
        pid = os.posix_spawn(
            binary,
            ["kube", *arguments],
            {name: env[name] for name in KEPT_ENVIRONMENT if name in env}
            | {"HOME": str(folder), "TMPDIR": str(folder)},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, stdin_read, 0),
                (os.POSIX_SPAWN_DUP2, stdout_write, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                *((os.POSIX_SPAWN_CLOSE, fd) for fd in inheritable()),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=RESET_SIGNALS,
        )
    except BaseException:
        os.close(write_fd)
        os.close(stdout_fd)
        raise
    finally:
        for fd in (stdin_read, stdout_write, log):
            os.close(fd)
    return write_fd, stdout_fd, pid


def inheritable() -> list[int]:
    """Descriptors above 2 that a child would inherit (a shell's, make's): a plane must not keep them open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        try:
            if fd > 2 and os.get_inheritable(fd):
                found.append(fd)
        except OSError:
            continue  # the descriptor of the listing itself
    return found


def adopt(folder: Path, write_fd: int) -> Plane:
    """The plane of `folder`, in a process that was handed `write_fd`. Raises TransientError when it has ended."""
    os.set_inheritable(write_fd, False)
    lease = leases.read(folder)
    pidfd = lease.plane.open_pidfd() if lease is not None and lease.plane is not None else None
    if lease is None or lease.ready is None or pidfd is None:
        os.close(write_fd)
        if pidfd is not None:
            os.close(pidfd)
        raise TransientError(f"control plane ended before it was used{log_tail(folder)}", where=folder)
    return Plane(folder, lease, write_fd, None, pidfd)


def parse_ready(line: bytes) -> Ready:
    """Read the line that `kube up` prints when it serves. Raises HarnessError when it is not of that form."""
    try:
        data = json.loads(line)
        files = data["kubeconfigs"]
        return Ready(
            server=str(data["server"]),
            admin=Path(files["admin"]),
            agent=Path(files["agent"]),
            agent_mcp=Path(files["agent-mcp"]),
            audit_log=Path(data["audit_log"]),
            kubernetes=str(data["kubernetes"]),
            nodes=int(data["nodes"]),
            seconds=float(data["seconds"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise HarnessError(f"the control plane's first line is not its ready line: {line[:120]!r}") from error


def log_tail(folder: Path) -> str:
    """`; it said: ...` with the last line of the plane's log, or nothing."""
    for path in (folder / leases.LOG, folder / leases.DATA / "plane.log"):
        try:
            lines = path.read_bytes()[-LOG_TAIL * 4 :].decode(errors="replace").strip().splitlines()
        except OSError:
            continue
        if lines:
            return f"; it said: {lines[-1][-LOG_TAIL:]}"
    return ""


def end_by_pidfd(pidfd: int, grace: float) -> bool:
    """End a plane whose write end is closed: wait, TERM, KILL, each after `grace` seconds; CONT comes with every step.

    A stopped plane hears neither the end of its input nor TERM. True when it has ended.
    """
    for sig, wait in ((None, grace), (signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        if grace <= 0 and sig is not signal.SIGKILL:
            continue
        for each in (sig, signal.SIGCONT):
            if each is not None:
                try:
                    signal.pidfd_send_signal(pidfd, each)
                except ProcessLookupError:
                    return True
        if wait_ended(pidfd, wait):
            return True
    return False


def remove(folder: Path) -> None:
    """Remove a plane's folder, its lease last. Missing pieces are fine."""
    shutil.rmtree(folder / leases.DATA, ignore_errors=True)
    for name in (leases.LOG, leases.NODES, leases.FAULTS):
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)

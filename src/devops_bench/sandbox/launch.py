"""Start one process tree, feed it, read it within bounds, end it, and say what it took.

Used by `Sandbox` alone. The invariant: a tree runs its command only after its limits stand and only while we live.
Every start goes through a gate (a bash that waits for one line and then becomes the command), so there is no instant in
which the command runs unlimited or unowned.
"""

from __future__ import annotations

import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from devops_bench import settings
from devops_bench.errors import HarnessError
from devops_bench.process import tagged, wait_ended
from devops_bench.sandbox.completed import CappedOutput, Completed, Limit
from devops_bench.sandbox.disk import DiskWatch
from devops_bench.sandbox.lasting import lasting
from devops_bench.sandbox.limits import Cage, Figures, SandboxLimits, apply_rlimits
from devops_bench.sandbox.watch import Watch, descendants

# Neutral, like every name that can be seen from inside.
TAG = "SANDBOX_ID"
GATE = 'printf . >&"$1"; IFS= read -r -u "$2" _ || exit 97; eval "exec $1>&- $2<&-"; shift 2; exec "$@"'
# When our end of its pipe closes without a word, it ends the group, the cgroup and whoever still carries the tag.
WATCHDOG = r"""
IFS= read -r -u "$1" _
kill -KILL -- "-$2"
tag=$3; shift 3
for round in 1 2; do
  for folder; do while read -r pid; do kill -KILL "$pid"; done <"$folder/cgroup.procs"; done
  for process in /proc/[0-9]*; do grep -qzxF "$tag" "$process/environ" && kill -KILL "${process#/proc/}"; done
done
"""
START_DEADLINE = 30.0


class Tree:
    """A started tree, held at the gate until `open_gate`. Close it in any case."""

    def __init__(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        fds: Sequence[int],
        tag: str,
        *,
        bare: bool,
        executable: Path | None = None,
        split: bool,
        cwd: Path,
    ) -> None:
        """Start `argv` behind the gate. `bare`: no namespace around it, so a watchdog kills its group when we die.

        `executable`: what argv[0] really is, so that the process list inside does not show where it was installed.
        """
        self.tag = tag
        self.bare = bare
        self.killed_by: Limit | None = None
        self.taken: Figures | None = None
        self._struck: list[Limit] = []
        self._cage = Cage("none")
        self._watch: Watch | None = None
        ready_read, ready_write = os.pipe()
        gate_read, self._gate = os.pipe()
        gate = ["/bin/bash", "-c", GATE, "gate", str(ready_write), str(gate_read)]
        # bubblewrap options end with the command, so the gate stands where the command would.
        prefix, command = ((), argv) if bare else split_command(argv)
        try:
            self.process = lasting(
                lambda: subprocess.Popen(
                    [*prefix, *gate, *command],
                    executable=executable,
                    env={**env, TAG: tag},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if split else subprocess.STDOUT,
                    pass_fds=[ready_write, gate_read, *fds],
                    process_group=0,
                    cwd=cwd,
                )
            )
        except OSError as error:
            os.close(self._gate)
            raise HarnessError(f"cannot start {argv[0]}: {error}") from None
        finally:
            os.close(ready_write)
            os.close(gate_read)
        try:
            self._await_ready(ready_read)
        except BaseException:
            self.close()
            raise
        finally:
            os.close(ready_read)
        self.pidfd = os.pidfd_open(self.process.pid)
        chain = descendants(self.process.pid)  # bubblewrap, its init, the gate
        self.leaf = chain[-1]
        # bubblewrap ends before what it kills has ended; with the init of a namespace everything in it is gone.
        self._init = os.pidfd_open(chain[1]) if not bare and len(chain) > 1 else None

    def _await_ready(self, ready: int) -> None:
        """One byte at the gate says that the namespaces stand and the shell runs."""
        with selectors.DefaultSelector() as selector:
            selector.register(ready, selectors.EVENT_READ)
            got = selector.select(START_DEADLINE)
        if got and os.read(ready, 1):
            return
        self.process.kill()
        stream = self.process.stderr or self.process.stdout
        said = stream.read(2000).decode(errors="replace") if stream else ""
        raise HarnessError(f"the sandbox does not start: {said.strip() or 'no answer'}")

    def open_gate(
        self,
        limits: SandboxLimits,
        disk: DiskWatch | None = None,
        inspect: Callable[[Sequence[str], Mapping[str, str]], bool] | None = None,
    ) -> None:
        """Set the limits, begin to watch what no kernel bounds here, then let the command run."""
        self._cage = Cage.create(limits)
        self._cage.add(self.leaf)
        with suppress(ProcessLookupError):
            apply_rlimits(self.leaf, limits, count_processes=not self._cage.counts_processes)
        if self.bare:
            self._watchdog()
        # The kernel exempts root from the process rlimit: without a cgroup somebody has to count.
        count = limits.processes if not self._cage.counts_processes and os.getuid() == 0 else None
        self._watch = Watch(self.process.pid, self._cage, self.end_for, disk=disk, processes=count, inspect=inspect)
        os.write(self._gate, b"\n")

    @property
    def cage(self) -> str:
        """Which cgroup version holds it, or `none`."""
        return self._cage.version

    def _watchdog(self) -> None:
        """A process that outlives us for an instant and ends the tree when our end of its pipe closes."""
        folders = [str(folder) for folder in self._cage.folders.values()]
        read, self._lifeline = os.pipe()
        try:
            self._guard = subprocess.Popen(
                [
                    "/bin/bash",
                    "-c",
                    WATCHDOG,
                    "watchdog",
                    str(read),
                    str(self.process.pid),
                    f"{TAG}={self.tag}",
                    *folders,
                ],
                env={},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[read],
                start_new_session=True,
            )
        finally:
            os.close(read)

    def end_for(self, limit: Limit) -> None:
        """End the tree because of a limit, and remember which."""
        self.killed_by = self.killed_by or limit
        self.note(limit)
        self.kill()

    def note(self, limit: Limit) -> None:
        """Remember that a limit refused something."""
        if limit not in self._struck:
            self._struck.append(limit)

    @property
    def struck(self) -> tuple[Limit, ...]:
        """Every limit met so far; complete once the tree is closed."""
        return tuple(self._struck)

    def terminate(self) -> None:
        """Ask the command to end: TERM to its processes, not to bubblewrap, which would take everything at once."""
        if self.bare:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            return
        for pid in descendants(self.leaf):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        """End everything now."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        if self.process.returncode is None:
            # Not Popen.kill, which reaps what has ended, and with it the figures that wait4 gives.
            with suppress(ProcessLookupError):
                os.kill(self.process.pid, signal.SIGKILL)
        if self.bare:
            self._cage.kill()
            for pid in tagged(TAG, self.tag):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def close(self) -> tuple[int, Figures]:
        """Kill what is left, reap, free everything; the command's exit and what the tree took."""
        if self._watch is not None:
            self._watch.stop()
        self._cage.sample()
        self.kill()
        usage: resource.struct_rusage | None = None
        if self.process.returncode is None:
            try:
                _pid, status, usage = os.wait4(self.process.pid, 0)
                self.process.returncode = os.waitstatus_to_exitcode(status)
            except ChildProcessError:
                self.process.returncode = -signal.SIGKILL
        init: int | None = getattr(self, "_init", None)
        if init is not None:
            wait_ended(init, 10.0)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                with suppress(OSError):
                    stream.close()
        guard: subprocess.Popen[bytes] | None = getattr(self, "_guard", None)
        if guard is not None:
            # Before its pipe closes: it must not act on a group number that may be another's by now.
            guard.kill()
            guard.wait()
        for name in ("_gate", "_lifeline", "pidfd", "_init"):
            fd = getattr(self, name, None)
            if fd is not None:
                os.close(fd)
                setattr(self, name, None)
        figures = self._cage.figures(usage)
        if self.taken is None:  # a second close knows less
            self.taken = figures
        for limit in self._cage.struck():
            self.note(limit)
        self._cage.close()
        code = self.process.returncode
        code = code if code >= 0 else 128 - code
        if code == 128 + signal.SIGKILL and self.killed_by is None and Limit.MEMORY in self._struck:
            self.killed_by = Limit.MEMORY
        return code, figures


def communicate(
    tree: Tree,
    *,
    stdin: bytes,
    timeout: float,
    cap: int,
    most: int,
    on_output: Callable[[bytes], None] | None,
    on_error: Callable[[bytes], None] | None,
    is_full: Callable[[], bool],
) -> Completed:
    """Run an opened tree to its end, within `timeout` seconds and `cap` bytes of memory per stream; closes it.

    Past `most` bytes of output it is ended. `is_full` tells whether the kernel refuses to write more.
    """
    started = time.monotonic()
    deadline = started + timeout
    ladder = min(settings.TABLE["kill_ladder"].value, 1.5)
    out, err = CappedOutput(cap), CappedOutput(cap)
    timed_out = ended = False
    try:
        with selectors.DefaultSelector() as selector:
            _register(selector, tree.process.stdout, (out, on_output))
            _register(selector, tree.process.stderr, (err, on_error))
            selector.register(tree.pidfd, selectors.EVENT_READ, "ended")
            left = _feed(selector, tree.process.stdin, stdin)
            while not ended:
                wait = deadline - time.monotonic()
                if wait <= 0 and not timed_out:
                    timed_out = True
                    tree.terminate()
                    deadline, wait = time.monotonic() + ladder, ladder
                elif wait <= 0:
                    tree.kill()
                    deadline, wait = time.monotonic() + 10, 10
                for key, _mask in selector.select(wait):
                    if key.data == "ended":
                        ended = True
                    elif key.data == "stdin":
                        left = _write(selector, key.fileobj, left)
                    else:
                        _read(selector, key.fd, key.fileobj, *key.data)
                if out.total + err.total > most and tree.killed_by is None:
                    tree.end_for(Limit.OUTPUT)
            # What was written before the end is still in the pipes.
            for key in [key for key in selector.get_map().values() if isinstance(key.data, tuple)]:
                while _read(selector, key.fd, key.fileobj, *key.data):
                    pass
    finally:
        code, figures = tree.close()
    if is_full():
        tree.note(Limit.DISK)
    return Completed(
        exit=124 if timed_out else code,
        out=out.value(),
        err=err.value(),
        duration=time.monotonic() - started,
        timed_out=timed_out,
        dropped=out.dropped + err.dropped,
        cpu_sec=figures.cpu_sec,
        rss_peak=figures.rss_peak,
        source=figures.source,
        killed_by=tree.killed_by,
        struck=tree.struck,
    )


def split_command(argv: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Options and command of a bubblewrap line, parted at its `--`."""
    at = list(argv).index("--") + 1
    return argv[:at], argv[at:]


def _register(selector: selectors.BaseSelector, stream: IO[bytes] | None, data: object) -> None:
    if stream is not None:
        os.set_blocking(stream.fileno(), False)
        selector.register(stream, selectors.EVENT_READ, data)


def _feed(selector: selectors.BaseSelector, stream: IO[bytes] | None, data: bytes) -> bytes:
    assert stream is not None
    if not data:
        stream.close()
        return b""
    os.set_blocking(stream.fileno(), False)
    selector.register(stream, selectors.EVENT_WRITE, "stdin")
    return data


def _write(selector: selectors.BaseSelector, stream: object, data: bytes) -> bytes:
    try:
        data = data[os.write(stream.fileno(), data[:65536]) :]  # type: ignore[attr-defined]
    except BlockingIOError:
        return data
    except OSError:
        data = b""
    if not data:
        selector.unregister(stream)  # type: ignore[arg-type]
        with suppress(OSError):
            stream.close()  # type: ignore[attr-defined]
    return data


def _read(
    selector: selectors.BaseSelector, fd: int, stream: object, kept: CappedOutput, tell: Callable[[bytes], None] | None
) -> bool:
    """Read once; false at the end or when nothing is there."""
    try:
        data = os.read(fd, 1 << 16)
    except BlockingIOError:
        return False
    if not data:
        selector.unregister(stream)  # type: ignore[arg-type]
        return False
    kept.feed(data)
    if tell is not None:
        tell(data)
    return True

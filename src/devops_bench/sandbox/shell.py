"""A long-lived bash in the sandbox that runs one command after another, as an agent's terminal does.

Commands go in through a pipe, exit codes come back through another, and each command's output has a FIFO of its own, so
that what a background process still writes never lands in a later result. Every command is a new bash in its own
process group: on a timeout that group is killed, the shell and everything else stays.

The shell does not use `wait -f`: bash has been seen to look for ever for the record of a process whose end it had told
already. Plain `wait` also returns when a command is stopped, so the shell looks again until the process is gone.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from devops_bench import settings
from devops_bench.sandbox.box import Sandbox, Started
from devops_bench.sandbox.completed import CappedOutput, Completed, Limit
from devops_bench.sandbox.watch import descendants

SERVER = r"""
set -m
exec >/dev/null 2>&1
in=$1 out=$2 dir=$3
word() { IFS= read -r -d '' -u "$in" "$1"; }
while word id && word where && word count; do
  argv=()
  for ((; count > 0; count--)); do word item && argv+=("$item"); done
  (
    eval "exec $in<&- $out>&-"
    cd -- "$where" && exec "${argv[@]}" <"$dir/$id.in"
  ) >"$dir/$id.out" 2>&1 &
  pid=$!
  printf '%s start %s\n' "$id" "$pid" >&"$out"
  while wait "$pid"; code=$?; ((code > 128)) && kill -0 "$pid"; do sleep 0.1; done
  printf '%s exit %s\n' "$id" "$code" >&"$out"
done
"""
DRAIN_SEC = 0.1
GIVE_UP_SEC = 5.0  # after the KILL of a command: then the shell itself is broken and goes, too


class ShellEnded(Exception):
    """The shell is gone (the agent killed it, or its limits did). A new one may be opened; its /tmp is lost."""


class Shell:
    """One shell. A context manager."""

    def __init__(self, sandbox: Sandbox, env: Mapping[str, str] | None = None) -> None:
        """Start it. HarnessError when the sandbox cannot."""
        self._sandbox = sandbox
        self._number = 0
        commands, self._commands = os.pipe()
        self._reports, reports = os.pipe()
        argv = [
            "/bin/bash",
            "--norc",
            "--noprofile",
            "-c",
            SERVER,
            "shell",
            str(commands),
            str(reports),
            str(sandbox.run_dir),
        ]
        try:
            self._started: Started = sandbox.start(argv, env=env, fds=[commands, reports])
        except BaseException:
            os.close(self._commands)
            os.close(self._reports)
            raise
        finally:
            os.close(commands)
            os.close(reports)
        os.set_blocking(self._reports, False)
        self._pending = b""
        self._closed = False

    def run(
        self,
        argv: Sequence[str],
        *,
        timeout: float,
        stdin: bytes = b"",
        cap: int | None = None,
        cwd: str | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> Completed:
        """Run one command, at most `timeout` seconds; output and errors joined. ShellEnded when the shell dies."""
        if self._closed:
            raise ShellEnded("the shell is closed")
        self._number += 1
        name = str(self._number)
        folder = self._sandbox.host_run_dir
        (folder / f"{name}.in").write_bytes(stdin)
        os.mkfifo(folder / f"{name}.out", 0o600)
        output = os.open(folder / f"{name}.out", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            return self._converse(name, argv, output, timeout, cap, cwd, on_output)
        finally:
            os.close(output)
            for suffix in ("in", "out"):
                (folder / f"{name}.{suffix}").unlink(missing_ok=True)

    def _converse(
        self,
        name: str,
        argv: Sequence[str],
        output: int,
        timeout: float,
        cap: int | None,
        cwd: str | None,
        on_output: Callable[[bytes], None] | None,
    ) -> Completed:
        kept = CappedOutput(settings.integer("agent_output_cap", {}) if cap is None else cap)
        started = time.monotonic()
        deadline = started + timeout
        workdir = cwd or str(self._sandbox.workspace)
        self._send((name, workdir, str(len(argv)), *argv))
        group: int | None = None
        code: int | None = None
        timed_out = killed = ended = False
        with selectors.DefaultSelector() as selector:
            selector.register(self._reports, selectors.EVENT_READ, "report")
            selector.register(self._started.tree.pidfd, selectors.EVENT_READ, "died")
            selector.register(output, selectors.EVENT_READ, "output")
            while not ended:
                wait = deadline - time.monotonic()
                if wait <= 0 and code is not None:
                    break  # a background process keeps the output open: not ours to wait for
                if wait <= 0 and killed:
                    self._started.tree.kill()
                    deadline = time.monotonic() + GIVE_UP_SEC
                    continue
                if wait <= 0:
                    self._signal(group, signal.SIGKILL if timed_out else signal.SIGTERM)
                    killed = timed_out
                    deadline = time.monotonic() + (GIVE_UP_SEC if killed else 1.0)
                    timed_out = True
                    continue
                for key, _mask in selector.select(wait):
                    if key.data == "output":
                        data = _read(output)
                        if data is None:
                            continue
                        if not data:
                            selector.unregister(output)
                            ended = code is not None
                            continue
                        kept.feed(data)
                        if on_output is not None:
                            on_output(data)
                    elif key.data == "report":
                        for words in self._read_reports():
                            if words[0] == name and words[1] == "start":
                                group = int(words[2])
                            elif words[0] == name and words[1] == "exit":
                                code = int(words[2])
                                deadline = time.monotonic() + DRAIN_SEC
                                ended = output not in selector.get_map()
                    else:
                        raise ShellEnded("the shell was killed")
        return Completed(
            exit=124 if timed_out or code is None else code,
            out=kept.value(),
            err=b"",
            duration=time.monotonic() - started,
            timed_out=timed_out,
            dropped=kept.dropped,
        )

    def close(self) -> Completed:
        """End the shell and everything in its sandbox; what it took in all."""
        if not self._closed:
            self._closed = True
            os.close(self._commands)
            os.close(self._reports)
        code, figures = self._started.tree.close()
        tree = self._started.tree
        if self._sandbox.is_full():
            tree.note(Limit.DISK)
        self._started.close()
        return Completed(
            exit=code,
            out=b"",
            err=b"",
            duration=0.0,
            timed_out=False,
            cpu_sec=figures.cpu_sec,
            rss_peak=figures.rss_peak,
            source=figures.source,
            killed_by=tree.killed_by,
            struck=tree.struck,
        )

    def __enter__(self) -> Shell:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()

    def _send(self, words: Sequence[str]) -> None:
        data = b"".join(word.replace("\0", "").encode(errors="replace") + b"\0" for word in words)
        try:
            while data:
                data = data[os.write(self._commands, data) :]
        except BrokenPipeError:
            raise ShellEnded("the shell was killed") from None

    def _read_reports(self) -> list[list[str]]:
        data = _read(self._reports)
        if data == b"":
            raise ShellEnded("the shell was killed")
        *lines, self._pending = (self._pending + (data or b"")).split(b"\n")
        return [
            words for line in lines if len(words := line.decode(errors="replace").split()) == 3 and words[2].isdigit()
        ]

    def _signal(self, inside: int | None, sig: signal.Signals) -> None:
        """Signal a command's group, known by its number inside: /proc tells what each process is called there."""
        for pid in descendants(self._started.tree.leaf):
            with suppress(OSError, ProcessLookupError):
                if _inside_group(pid) == inside and pid != self._started.tree.leaf:
                    os.kill(pid, sig)


def _inside_group(pid: int) -> int | None:
    """The process group of `pid` as numbered in its innermost namespace."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpgid:"):
            return int(line.split()[-1])
    return None


def _read(fd: int) -> bytes | None:
    """Bytes, b"" at the end, None when nothing is there yet."""
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return None

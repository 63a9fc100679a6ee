"""The supervisor's side of the fork server: ask for a combo process and get its pid, inside the event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from devops_bench.errors import TransientError
from devops_bench.process import cpu_seconds
from devops_bench.supervisor import zygote

EXIT_WAIT = 1.0
ANSWER_WAIT = 5.0  # seconds; a fork takes milliseconds, the imports before the first one seconds
ANSWER_LOOKS = 24  # in a row without an answer and without work; a starved host needs minutes for the imports
WORK_MOST = 120.0  # CPU seconds: whoever has worked that long without an answer will give none


class ForkServerGone(TransientError):
    """The fork server ended before it answered. What it may have forked waits on its gate and never begins."""


class ForkServer:
    """Starts the zygote on first use and again after its death. `exits` maps pids to exit codes, as hints."""

    def __init__(self, loop: asyncio.AbstractEventLoop, run_dir: Path) -> None:
        self._loop = loop
        self._run_dir = run_dir
        self._sock: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, asyncio.Future[int]] = {}
        self._next = 0
        self._stale = False
        # Another source tree that combos run from; None: this one.
        self.code: Path | None = None
        self.exits: dict[int, int] = {}
        self.cost: dict[str, float] = {}
        self._exit_waiters: dict[int, asyncio.Event] = {}

    @property
    def pid(self) -> int | None:
        """The zygote's pid while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> None:
        """Start the zygote; it imports the harness while the supervisor goes on."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        for end in (ours, theirs):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, zygote.DATAGRAM)
        ours.setblocking(False)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "devops_bench.supervisor.zygote", str(theirs.fileno()), str(self._run_dir)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": str(self.code / "src")} if self.code is not None else None,
            )
        self._sock = ours
        self._loop.add_reader(ours, self._readable)

    async def fork(self, request: dict[str, Any], fds: dict[str, int]) -> int:
        """Fork a combo that waits on its gate; returns its pid. TransientError when the fork failed; ForkServerGone
        when nobody is left to say so.
        """
        while self._stale and self._waiting:
            await asyncio.wait(list(self._waiting.values()))
        if self._stale:
            self._stale = False
            self.close()
        if self._sock is None:
            self.start()
        assert self._sock is not None
        self._next += 1
        number = self._next
        answer: asyncio.Future[int] = self._loop.create_future()
        self._waiting[number] = answer
        message = {"id": number, "request": request, "fds": list(fds)}
        try:
            zygote.send(self._sock, message, list(fds.values()))
        except BlockingIOError:
            self._waiting.pop(number)
            await asyncio.sleep(0.01)
            return await self.fork(request, fds)
        except OSError as error:
            self._lost()
            raise ForkServerGone(f"the fork server is gone ({error.strerror})") from None
        return await self._heard(answer)

    async def _heard(self, answer: asyncio.Future[int]) -> int:
        """The answer. A fork server that gives none is let go on, if somebody stopped it, and in the end replaced."""
        idle, worked = 0, self._worked()
        while idle < ANSWER_LOOKS and worked < WORK_MOST:
            done, _pending = await asyncio.wait([answer], timeout=ANSWER_WAIT)
            if done:
                return await answer
            before, worked = worked, self._worked()
            idle = 0 if worked > before else idle + 1
            if self._process is not None:
                self._process.send_signal(signal.SIGCONT)
        self._lost()
        return await answer

    def _worked(self) -> float:
        """CPU seconds of the fork server so far."""
        return cpu_seconds(self.pid) if self.pid is not None else 0.0

    def renew(self, code: Path) -> None:
        """Combos that are forked from now on run the source tree `code`."""
        self.code, self._stale = code, True

    async def exit_code(self, pid: int) -> int | None:
        """The exit code of a combo that has ended; None when the zygote does not tell within EXIT_WAIT seconds.

        The pidfd is often faster than the zygote's word.
        """
        if pid not in self.exits and self._sock is not None:
            heard = self._exit_waiters.setdefault(pid, asyncio.Event())
            try:
                await asyncio.wait_for(heard.wait(), EXIT_WAIT)
            except TimeoutError:
                self._exit_waiters.pop(pid, None)
        return self.exits.pop(pid, None)

    def _readable(self) -> None:
        assert self._sock is not None
        while True:
            try:
                message, _fds = zygote.receive(self._sock)
            except BlockingIOError:
                return
            except OSError:
                message = None
            if message is None:
                self._lost()
                return
            self._handle(message)

    def _handle(self, message: dict[str, Any]) -> None:
        if "exit" in message:
            self.exits[message["exit"]] = message["code"]
            heard = self._exit_waiters.pop(message["exit"], None)
            if heard is not None:
                heard.set()
        elif "id" in message:
            answer = self._waiting.pop(message["id"])
            if answer.done():
                return
            if "pid" in message:
                answer.set_result(message["pid"])
            else:
                answer.set_exception(TransientError(message["error"]))

    def _lost(self) -> None:
        """The zygote died: those who wait hear of it, and the next fork starts a new one."""
        if self._sock is not None:
            self._loop.remove_reader(self._sock)
            self._sock.close()
            self._sock = None
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(ForkServerGone("the fork server died"))

    def close(self) -> None:
        """Let the zygote go, asking what it cost; running combos stay."""
        if self._sock is not None:
            self._loop.remove_reader(self._sock)
            self._ask_cost(self._sock)
            self._sock.close()
            self._sock = None
        if self._process is not None:
            try:
                self._process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None

    def _ask_cost(self, sock: socket.socket) -> None:
        try:
            sock.settimeout(2.0)
            zygote.send(sock, {"bye": True})
            while (message := zygote.receive(sock)[0]) is not None:
                if "cost" in message:
                    self.cost = message["cost"]
                    return
        except OSError:
            return  # a dead zygote has nothing to say


def open_gate() -> tuple[int, int]:
    """(read end for the combo, write end for us), both close-on-exec."""
    return os.pipe2(os.O_CLOEXEC)

"""The gateway's event loop: accepts connections, starts server instances, ends them all. It has a thread of its own."""

from __future__ import annotations

import asyncio
import hmac
import socket
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from devops_bench.errors import BenchError, TransientError
from devops_bench.gateway.mcp import probe
from devops_bench.gateway.mcp.connection import Connection
from devops_bench.gateway.mcp.instance import LAST_WORDS_SEC, Instance, TooLarge
from devops_bench.gateway.mcp.policy import Policy
from devops_bench.gateway.mcp.record import McpRecord
from devops_bench.gateway.mcp.session import Session
from devops_bench.gateway.mcp.types import McpCall, McpLimits, McpProblem, OnEvent, ProblemKind
from devops_bench.plaintext import counted

TOKEN_SEC = 10.0  # a connection that does not show its token within this is closed
SLOW_SEC = 1.0  # a server that takes longer to start has a spare instance at all times
CUT = 200


class McpUnavailable(TransientError):
    """The server did not come up: the attempt was not set up, whatever the model would have done."""


@dataclass(slots=True)
class Taken:
    """What all instances took together: CPU seconds, and the largest peak of memory in bytes; None where not known."""

    cpu_sec: float | None = None
    rss_peak: int | None = None


@dataclass(slots=True)
class Serving:
    """One run of the loop. `rules` makes the policy once the server's tools are known; `tools` tells them outside.

    A connection that comes while `agent_acts` is not taken for the CLI's: what goes wrong there is counted in `others`.
    """

    name: str
    token: bytes
    limits: McpLimits
    cap: int
    launch: Callable[[], Coroutine[None, None, Instance]]
    rules: Callable[[tuple[str, ...]], Policy]
    record: McpRecord
    on_event: OnEvent
    hint: str = ""
    tools: Future[tuple[str, ...]] = field(default_factory=Future)
    problems: list[McpProblem] = field(default_factory=list)
    others: int = 0
    agent_acts: bool = False
    taken: Taken = field(default_factory=Taken)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _policy: Policy = field(default_factory=Policy)
    _spare: asyncio.Task[Instance] | None = None
    _slow: bool = False
    _open: set[asyncio.Task[None]] = field(default_factory=set)
    _starting: set[asyncio.Task[Instance]] = field(default_factory=set)
    _instances: set[Instance] = field(default_factory=set)
    _starts: int = 0
    _connections: int = 0
    _active: int = 0

    async def run(self, listening: socket.socket) -> None:
        """Serve until `stop`; nothing is left running after it."""
        server = await asyncio.start_server(self._accept, sock=listening, limit=self.limits.request)
        first = asyncio.create_task(self._first_look())
        await self._stop.wait()
        server.close()
        tasks = [first, *self._open, *([self._spare] if self._spare is not None else [])]
        for task in tasks:
            task.cancel()
        # A start cannot be broken off, only ended once it is done.
        await asyncio.gather(*tasks, *self._starting, return_exceptions=True)
        await asyncio.gather(*(self._done(one) for one in list(self._instances)), return_exceptions=True)
        if not self.tools.done():
            self.tools.set_exception(McpUnavailable(f"MCP server {self.name}: the gateway was closed"))

    def stop(self) -> None:
        """End `run`. Call it in the loop's thread."""
        self._stop.set()

    async def _start(self) -> Instance:
        """Start an instance. A start that nobody waits for any more still ends up in `_instances`, to be ended."""
        self._starts += 1
        task = asyncio.create_task(self.launch())
        task.add_done_callback(self._started)
        self._starting.add(task)
        return await asyncio.shield(task)

    def _started(self, task: asyncio.Task[Instance]) -> None:
        self._starting.discard(task)
        if not task.cancelled() and task.exception() is None:
            self._instances.add(task.result())

    async def _done(self, instance: Instance, grace: float = 0.0) -> None:
        """End an instance and add up what it took."""
        await instance.close(grace)
        if instance not in self._instances:
            return
        self._instances.discard(instance)
        figures, taken = instance.figures, self.taken
        if figures.cpu_sec is not None:
            taken.cpu_sec = round((taken.cpu_sec or 0.0) + figures.cpu_sec, 3)
        if figures.rss_peak is not None:
            taken.rss_peak = max(taken.rss_peak or 0, figures.rss_peak)

    async def _first_look(self) -> None:
        """Learn the tools, with a second instance starting beside it for the CLI."""
        began = time.monotonic()
        self._spare = asyncio.create_task(self._start())
        instance: Instance | None = None
        why = ""
        try:
            async with asyncio.timeout(self.limits.startup):
                instance = await self._start()
                tools = await probe.look(instance)
            self._policy = self.rules(tools)
        except TimeoutError:
            why = f"did not answer within {self.limits.startup:g} s"
        except TooLarge:
            why = f"sent a message larger than {self.limits.message} bytes"
        except (probe.ProbeFailed, BenchError, OSError) as error:
            why = str(error)
        except Exception as error:  # ours; whoever waits for the grant must hear of it
            why = f"{type(error).__name__}: {error}"
        finally:
            if instance is not None:
                await self._done(instance, LAST_WORDS_SEC if why else 0.0)
        if not why:
            self._slow = time.monotonic() - began > SLOW_SEC
            self.tools.set_result(tools)
            self._ready.set()
            self.on_event("mcp_server", {"state": "ready", "tools": len(tools)})
            return
        said = instance.last_words() if instance is not None else ""
        ended = f" (exit {instance.exit})" if instance is not None and instance.exit not in {None, 137} else ""
        text = f"MCP server {self.name}: {why}{ended}" + (f": {said[:CUT]}" if said else "")
        self.tools.set_exception(McpUnavailable(self._problem(ProblemKind.START, text), fix=self.hint))

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        own = False  # until it has shown the token
        try:
            if len(self._open) > self.limits.connections + self.limits.strangers:
                return  # no descriptors are held for a flood of strangers
            own = not self.agent_acts
            if await self._admitted(reader):
                await self._ready.wait()
                await self._serve(reader, writer, own)
        except asyncio.CancelledError:
            pass  # the gateway is closing
        except (BenchError, OSError) as error:
            self._problem(ProblemKind.START, f"MCP server {self.name}: {error}", own=own)
        except Exception as error:
            # Ours. The connection is lost, and the attempt must not be judged as if it had never been.
            self._problem(ProblemKind.GATEWAY, f"the MCP gateway failed: {type(error).__name__}: {error}", own=own)
        finally:
            writer.close()
            self._open.discard(task)

    async def _admitted(self, reader: asyncio.StreamReader) -> bool:
        """True for a connection whose first line is the token. Nothing else of it was read."""
        try:
            async with asyncio.timeout(TOKEN_SEC):
                given = await reader.readexactly(len(self.token) + 1)
        except (TimeoutError, asyncio.IncompleteReadError, ConnectionError):
            return False
        return hmac.compare_digest(given, self.token + b"\n")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: bool) -> None:
        if self._active >= self.limits.connections or self._starts >= self.limits.starts:
            self.on_event("mcp_server", {"state": "refused", "detail": "too many connections"})
            return
        self._connections += 1
        session = Session(self._connections, self._policy, cap=self.cap)
        connection = Connection(
            session, self.limits, began=self._began, ended=self._ended, problem=partial(self._problem, own=own)
        )
        self._active += 1
        instance = None
        try:
            instance = await self._take()
            await connection.run(instance, reader, writer)
        finally:
            self._active -= 1
            if session.ignored:
                detail = f"{counted(session.ignored, 'line')} of the server without JSON-RPC"
                self.on_event("mcp_server", {"state": "noise", "detail": detail})
            if instance is not None:
                await asyncio.shield(self._done(instance))

    async def _take(self) -> Instance:
        """The spare instance if it lives, else a new one."""
        spare, self._spare = self._spare, None
        instance: Instance | None = None
        if spare is not None:
            with suppress(BenchError, OSError):
                instance = await asyncio.shield(spare)
        if instance is not None and instance.ended.is_set():
            await self._done(instance)
            instance = None
        if instance is None:
            instance = await self._start()
        if self._slow and self._active < self.limits.connections:
            self._spare = asyncio.create_task(self._start())
        return instance

    def _began(self, tool: str) -> None:
        self.on_event("mcp_call", {"tool": tool, "phase": "started"})

    def _ended(self, call: McpCall) -> None:
        try:
            self.record.add(call)
        except OSError as error:
            self._problem(ProblemKind.RECORD, f"the record of MCP calls cannot be written: {error}")
        fields = {"tool": call.tool, "phase": "ended", "status": call.status.value, "seconds": round(call.duration, 3)}
        self.on_event("mcp_call", fields)

    def _problem(self, kind: ProblemKind, text: str, *, own: bool = True) -> str:
        """Note it; the text without secrets. `own`: on a connection of the CLI, or of ours."""
        clean = self.record.redactor.text(text)
        if own:
            self.problems.append(McpProblem(time.time(), kind, clean))
        else:
            self.others += 1
        self.on_event("mcp_server", {"state": kind.value, "detail": clean, "own": own})
        return clean

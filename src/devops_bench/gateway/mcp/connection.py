"""One client connection: joins a socket and a server instance, lets the session decide, keeps the time of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

from devops_bench.gateway.mcp.instance import LAST_WORDS_SEC, Instance, TooLarge
from devops_bench.gateway.mcp.session import Moves, Pending, Session
from devops_bench.gateway.mcp.types import McpCall, McpLimits, ProblemKind

GRACE_SEC = 2.0  # a server whose client has gone may finish what it does
LOOK_SEC = 0.05


class Connection:
    """Runs until either side ends. `began` and `ended` hear of calls, `problem` of what is not the model's doing."""

    def __init__(
        self,
        session: Session,
        limits: McpLimits,
        *,
        began: Callable[[str], None],
        ended: Callable[[McpCall], None],
        problem: Callable[[ProblemKind, str], object],
    ) -> None:
        self._session = session
        self._limits = limits
        self._began = began
        self._ended = ended
        self._problem = problem

    async def run(self, instance: Instance, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass messages until the client leaves or the server ends; the instance is closed then.

        Whoever still waits for an answer gets an error first.
        """
        client = asyncio.ensure_future(self._from_client(instance, reader, writer))
        server = asyncio.ensure_future(self._from_server(instance, writer))
        why, grace = "the gateway is closing", 0.0
        try:
            await asyncio.wait({client, server}, return_when=asyncio.FIRST_COMPLETED)
            if server.done():
                why = server.result()
            else:
                why, grace = client.result(), GRACE_SEC
        finally:
            client.cancel()
            if not server.done():
                asking = asyncio.ensure_future(self._still_there(instance, server, writer))
                try:
                    await asyncio.shield(asking)
                except asyncio.CancelledError:  # the gateway closes: whose fault the wait was is still to be known
                    await asking
            server.cancel()
            self._do(self._session.end(why), None, writer)
            writer.close()
            await instance.close(grace)

    async def _still_there(self, instance: Instance, server: asyncio.Future[str], writer: asyncio.StreamWriter) -> None:
        """A client that waited in vain leaves: a server that answers no ping now hangs, whoever gave up first. It may
        leave while the ping that followed a call's time limit still waits for its answer.
        """
        moves = self._session.overdue(self._limits.late)
        for line in moves.to_server:
            instance.tell(line)
        pings = self._session.pings
        deadline = asyncio.get_running_loop().time() + self._limits.ping
        while any(map(self._session.asked, pings)) and not server.done():
            if asyncio.get_running_loop().time() >= deadline:
                for ping in pings:
                    self._silent(ping, writer)
                return
            await asyncio.wait({server}, timeout=LOOK_SEC)

    async def _from_client(self, instance: Instance, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
        """Why the client's side ended."""
        while True:
            try:
                line = await reader.readline()
            except ValueError:
                return f"a message of the client is larger than {self._limits.request} bytes"
            except ConnectionError:
                line = b""
            if not line:
                return "the client has closed the connection"
            moves = self._session.from_client(line)
            self._do(moves, instance, writer)
            for out in moves.to_server:
                await instance.send(out)
            with suppress(ConnectionError):
                await writer.drain()

    async def _from_server(self, instance: Instance, writer: asyncio.StreamWriter) -> str:
        """Why the server's side ended."""
        try:
            async for line in instance.lines():
                self._do(self._session.from_server(line), instance, writer)
                with suppress(ConnectionError):
                    await writer.drain()
        except TooLarge:
            why = f"the MCP server sent a message larger than {self._limits.message} bytes"
            if not self._session.calling:  # else the model asked for it: its call ends with this error
                self._problem(ProblemKind.TOO_LARGE, why)
            return why
        await instance.close(LAST_WORDS_SEC)
        said = instance.last_words()
        why = f"the MCP server ended (exit {instance.exit})" + (f": {said}" if said else "")
        self._problem(ProblemKind.DIED, why)
        return why

    def _do(self, moves: Moves, instance: Instance | None, writer: asyncio.StreamWriter) -> None:
        """Everything of `moves` but the lines to the server, which wait for it to read. The record comes first."""
        for kind, text in moves.problems:
            self._problem(kind, text)
        for call in moves.ended:
            self._ended(call)
        for line in moves.to_client:
            writer.write(line)
        for request in moves.began:
            if request.tool:
                self._began(request.tool)
            if instance is not None:
                seconds = self._limits.startup if request.method == "initialize" else self._limits.call
                asyncio.get_running_loop().call_later(seconds, self._expire, request, seconds, instance, writer)

    def _expire(self, request: Pending, seconds: float, instance: Instance, writer: asyncio.StreamWriter) -> None:
        moves = self._session.expire(request, seconds)
        self._do(moves, None, writer)
        for line in moves.to_server:
            instance.tell(line)
        for ping in moves.pings:
            asyncio.get_running_loop().call_later(self._limits.ping, self._silent, ping, writer)

    def _silent(self, ping: str, writer: asyncio.StreamWriter) -> None:
        self._do(self._session.silent(ping), None, writer)

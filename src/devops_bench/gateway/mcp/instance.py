"""One running MCP server: its process in the sandbox, its lines, its end. Lives in the gateway's event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress

from devops_bench.sandbox import Sandbox
from devops_bench.sandbox.box import Started
from devops_bench.sandbox.limits import Figures

STDERR_TAIL = 4 << 10
LAST_WORDS_SEC = 1.0  # between the signs of one end: its output, its errors, its exit


class TooLarge(Exception):
    """A line beyond the limit."""


class Instance:
    """A server process. Start it with `start`; close it in any case."""

    def __init__(
        self,
        box: Sandbox,
        started: Started,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        tail: _Tail,
        pipes: tuple[asyncio.BaseTransport, ...],
    ) -> None:
        self._box = box
        self._started = started
        self._reader = reader
        self._writer = writer
        self._tail = tail
        self._pipes = pipes
        self._closing: asyncio.Task[None] | None = None
        self._hurry = asyncio.Event()
        self.ended = asyncio.Event()
        self.exit: int | None = None
        self.figures = Figures(None, None, "none")
        loop = asyncio.get_running_loop()
        # Its own descriptor says that it ended even while a child of it holds its output open.
        loop.add_reader(started.tree.pidfd, self._has_ended)

    @classmethod
    async def start(cls, box: Sandbox, argv: Sequence[str], env: Mapping[str, str], message_bytes: int) -> Instance:
        """Start `argv` in `box`, which is this instance's own and is closed with it. HarnessError when it cannot."""
        loop = asyncio.get_running_loop()
        try:
            started = await asyncio.to_thread(lambda: box.start(argv, env=env, split=True))
        except BaseException:
            box.close()
            raise
        process, pipes = started.tree.process, []
        reader, tail = asyncio.StreamReader(limit=message_bytes), _Tail()
        try:
            out, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), process.stdout)
            pipes.append(out)
            err, _ = await loop.connect_read_pipe(lambda: tail, process.stderr)
            pipes.append(err)
            into, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, process.stdin)
        except BaseException:
            for pipe in pipes:
                pipe.close()
            await asyncio.to_thread(started.close)
            box.close()
            raise
        writer = asyncio.StreamWriter(into, flow, None, loop)
        return cls(box, started, reader, writer, tail, (out, err))

    async def send(self, line: bytes) -> None:
        """Write a line; waits while the server does not read. What a dead server does not take is lost."""
        with suppress(ConnectionError):
            self._writer.write(line)
            await self._writer.drain()

    def tell(self, line: bytes) -> None:
        """Write a short line without waiting."""
        if not self._writer.is_closing():
            self._writer.write(line)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """What it says, line by line, until it ends. Raises TooLarge."""
        watch = asyncio.ensure_future(self.ended.wait())
        try:
            while True:
                reading = asyncio.ensure_future(self._reader.readline())
                try:
                    await asyncio.wait({reading, watch}, return_when=asyncio.FIRST_COMPLETED)
                    if not reading.done():
                        await asyncio.wait({reading}, timeout=LAST_WORDS_SEC)
                    if not reading.done():
                        return
                    line = reading.result()
                except ValueError:
                    raise TooLarge from None
                finally:
                    reading.cancel()
                if not line:
                    return
                yield line
        finally:
            watch.cancel()

    async def close(self, grace: float = 0.0) -> None:
        """End it: end its input, wait at most `grace` seconds, then kill. Returns when it is gone.

        May be called again, also to cut an earlier grace short.
        """
        if not grace:
            self._hurry.set()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close(grace))
        await asyncio.shield(self._closing)

    def last_words(self) -> str:
        """The last line of its standard error."""
        lines = bytes(self._tail.kept).decode(errors="replace").split("\n")
        return next((" ".join(line.split())[:300] for line in reversed(lines) if line.strip()), "")

    async def _close(self, grace: float) -> None:
        self._writer.close()
        waits = [asyncio.ensure_future(event.wait()) for event in (self.ended, self._hurry)]
        await asyncio.wait(waits, timeout=grace, return_when=asyncio.FIRST_COMPLETED)
        for wait in waits:
            wait.cancel()
        if self.ended.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._tail.ended.wait(), LAST_WORDS_SEC)
        for pipe in self._pipes:
            pipe.close()
        tree = self._started.tree
        if not self.ended.is_set():
            asyncio.get_running_loop().remove_reader(tree.pidfd)
        self.exit, self.figures = await asyncio.to_thread(tree.close)
        await asyncio.to_thread(self._started.close)
        await asyncio.to_thread(self._box.close)
        self.ended.set()

    def _has_ended(self) -> None:
        asyncio.get_running_loop().remove_reader(self._started.tree.pidfd)
        self.ended.set()


class _Tail(asyncio.Protocol):
    """Keeps the end of a stream, however much flows."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.ended = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.kept += data
        del self.kept[:-STDERR_TAIL]

    def connection_lost(self, _error: Exception | None) -> None:
        self.ended.set()

"""One model request while it is on its way: what is known of it at any time, as an `Exchange`."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace

from devops_bench.models.exchange import Exchange
from devops_bench.models.prices import cost_usd
from devops_bench.models.replies import Heard, ReplyReader
from devops_bench.models.wire import Heading, Tokens

BYTES_A_TOKEN = 4


class Flight:
    """Written by the thread that serves the request, read by any."""

    def __init__(
        self, number: int, wire: str, said: Heading, provider: str, *, tools: tuple[str, ...], own: bool
    ) -> None:
        self._lock = threading.Lock()
        self._provider = provider
        self._began = time.monotonic()
        self._reader: ReplyReader | None = None
        self._status = 0
        self._first_byte: float | None = None
        self._base = Exchange(number, time.time(), wire, said.model, stream=said.stream, tools=tools, own=own)
        self._input = said.input_tokens
        self._ended: Exchange | None = None
        self._priced = False

    @property
    def number(self) -> int:
        """From 1, in the order of arrival."""
        return self._base.number

    @property
    def own(self) -> bool:
        """Whether it is like the CLI's own turns."""
        return self._base.own

    def begin(self, status: int, *, events: bool) -> None:
        """The provider's reply begins."""
        with self._lock:
            self._status = status
            self._reader = ReplyReader(self._base.wire, events=events) if status < 400 else None

    def feed(self, portion: bytes) -> None:
        """More of the reply."""
        with self._lock:
            if self._first_byte is None:
                self._first_byte = time.monotonic() - self._began
            if self._reader is not None:
                self._reader.feed(portion)

    def finish(self, fault: str = "", error: str = "", retry_after: float | None = None) -> Exchange:
        """Nothing more will come. `fault` is the connection's; what the reply itself lacks is found here."""
        with self._lock:
            if self._ended is not None:
                return self._ended
            heard = Heard()
            if self._reader is not None:
                heard = self._reader.finish()
            # A client that has all it wants may leave before the connection's own end.
            if not fault or (fault == "gone" and heard.done):
                fault, error = heard.fault, heard.error
            self._ended = self._exchange(heard, fault, error, retry_after)
            if self._reader is not None and heard.tokens is None:
                self._ended = replace(self._ended, estimate=self._estimate(heard))
            self._reader = None
            return self._ended

    def exchange(self) -> Exchange:
        """As far as it is known now. The price is looked up only here: no reply waits for it."""
        with self._lock:
            if self._ended is not None:
                if not self._priced:
                    cost = self._cost(self._ended, self._ended.tokens)
                    self._ended, self._priced = replace(self._ended, cost_usd=cost), True
                return self._ended
            heard = self._reader.heard() if self._reader is not None else Heard()
            return self._exchange(heard, "", heard.error, None)

    def _exchange(self, heard: Heard, fault: str, error: str, retry_after: float | None) -> Exchange:
        return replace(
            self._base, status=self._status, first_byte=self._first_byte, text=heard.text, calls=heard.calls,
            finish=heard.finish, tokens=heard.tokens, served_model=heard.model, latency=time.monotonic() - self._began,
            fault=fault, error=error, retry_after=retry_after,
        )  # fmt: skip

    def estimated_cost(self) -> float | None:
        """In place of a price, for a reply that told no tokens; for caps only."""
        ended = self.exchange()
        return self._cost(ended, ended.estimate) if ended.estimate is not None else None

    def _estimate(self, heard: Heard) -> Tokens:
        """Of a reply that tells no usage, or that a client did not wait for: caps must hold for these, too."""
        said = len(heard.text.encode()) + sum(len(json.dumps(dict(call.args), default=str)) for call in heard.calls)
        return Tokens(self._input, said // BYTES_A_TOKEN)

    def _cost(self, ended: Exchange, tokens: Tokens | None) -> float | None:
        if tokens is None:
            return None
        return cost_usd(
            ended.served_model or ended.model, self._provider, input=tokens.input, output=tokens.output,
            cached=tokens.cached, cache_write=tokens.cache_write,
        )  # fmt: skip

"""The model gateway of one attempt: a loopback server between an agent and its model's provider.

It holds the only real key, meters, records, caps, and ends the run when the provider fails. Runs in threads of the
combo's process. `Passage` serves one request; this module holds what they share.

```python
with ModelGateway(Scripted(Path("scenarios"), "scripted:careful"), wire="google", model="scripted:careful") as gateway:
    base_url, key = gateway.base_url("google"), gateway.token
```
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.gateway.model import endings, faults, offers
from devops_bench.gateway.model.caps import Caps, End, Patience, Spent
from devops_bench.gateway.model.flight import Flight
from devops_bench.gateway.model.ledger import Ledger
from devops_bench.gateway.model.offers import Print
from devops_bench.gateway.model.passage import Passage
from devops_bench.gateway.model.recording import Recording
from devops_bench.gateway.model.relay import relay
from devops_bench.gateway.model.upstream import Asked, Upstream
from devops_bench.models import prices, routes
from devops_bench.models.exchange import Exchange
from devops_bench.models.http import Connection, Request, keys_in
from devops_bench.models.listener import Listener
from devops_bench.models.player import WIRES
from devops_bench.models.record import without_keys
from devops_bench.models.replies.draft import parsed
from devops_bench.models.routes import Action, Route
from devops_bench.models.wire import Conversation, Heading
from devops_bench.redact import Redactor

Hook = Callable[[Conversation, bytes], str | None]
Later = Callable[[tuple[str, ...]], str | None]
OnEvent = Callable[[str, Mapping[str, Any]], None]

_GENERATING = frozenset({Action.GENERATE, Action.STREAM})
_CONNECTIONS = 64


def new_token() -> str:
    """For one attempt. It looks like any key: agents print their environment."""
    return f"sk-{secrets.token_hex(24)}"


class _UnusableError(Exception):
    """A request that is not passed on; ends nothing."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    """What is not as its wire format says is the client's fault."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _UnusableError(400, f"the request cannot be read: {type(error).__name__}: {error}") from None


class ModelGateway:
    """Serves from construction until `close`. Every method is for any thread.

    `wire` is what the agent speaks; other formats get 404. `record` is a file to be made (JSON lines, redacted).
    `on_event(kind, fields)` hears of `model_request` (turn, seconds, tokens, cost), `rate_limited` (provider, status,
    retry_after) and `budget` (what, limit, used); it is called from several threads, never under a lock.
    `first_request(said, body)` sees the first request that offers tools before anything of it is forwarded; a text
    that it returns says which grant is missing, and ends the run. `later_request(names)` sees the tools of any other
    request; a text that it returns turns this one down (400) and ends nothing. `ending_status`: see `endings`.
    `token` is one of `new_token`, made here by default.
    """

    def __init__(
        self,
        upstream: Upstream,
        *,
        wire: str,
        model: str,
        caps: Caps | None = None,
        patience: Patience | None = None,
        record: Path | None = None,
        redactor: Redactor | None = None,
        on_event: OnEvent = lambda _kind, _fields: None,
        first_request: Hook | None = None,
        later_request: Later | None = None,
        ending_status: int | None = None,
        token: str = "",
    ) -> None:
        if wire not in WIRES:
            raise ConfigError(f"there is no wire format {wire!r}", fix=f"use one of {', '.join(sorted(WIRES))}")
        self.upstream = upstream
        self.wire = wire
        self.model = model
        self.patience = patience or Patience()
        self.ending_status = ending_status
        self.token = token or new_token()
        self.recording = Recording(record, redactor or Redactor())
        self.recording.hide({"GATEWAY_TOKEN": self.token, **upstream.secrets()})
        prices.preload(upstream.provider)
        self._guard: tuple[Mapping[str, str], Redactor] = ({}, Redactor(shapes=False))
        self.ledger = Ledger(caps or Caps(), self.patience.wait)
        self._on_event = on_event
        self._hook = first_request
        self._later = later_request
        self._print: Print | None = None
        self._checking = threading.Lock()
        self._lock = threading.Lock()
        self._listener = Listener(self._handle, name="gateway", admit=self._admits, most=_CONNECTIONS)
        self.address: tuple[str, int] = ("127.0.0.1", self._listener.port)

    def __enter__(self) -> ModelGateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, on both sides; the record is complete then."""
        self._listener.close()
        self.upstream.close()
        self.recording.close()

    def base_url(self, wire: str | None = None) -> str:
        """Where a client of `wire` (by default the gateway's own) expects its base URL to point."""
        return f"http://{self.address[0]}:{self.address[1]}{routes.BASES[wire or self.wire]}"

    def exchanges(self) -> tuple[Exchange, ...]:
        """All model requests so far, in the order of arrival; those on their way as far as they have come."""
        return self.ledger.exchanges()

    @property
    def end(self) -> End | None:
        """Why the gateway ended the run: the first reason, None while it has not."""
        return self.ledger.end

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        return self.ledger.spent

    @property
    def checked(self) -> bool:
        """Whether `first_request` has seen a request with tools."""
        with self._lock:
            return self._hook is None

    # What a connection's thread does.

    def _admits(self, request: Request) -> bool:
        return any(secrets.compare_digest(key.encode(), self.token.encode()) for key in keys_in(request))

    def _handle(self, connection: Connection, request: Request) -> None:
        if connection.unread:  # not admitted
            return self._turn_down(connection, request, 401, "the key is not valid")
        route = routes.route(request.method, request.path, request.headers)
        generates = route is not None and route.action not in {Action.LIST, Action.SHOW}
        if route is None or route.pinned is not None or (generates and route.wire != self.wire):
            return self._turn_down(connection, request, 404, f"no such path: {request.method} {request.path}")
        if (end := self.end) is not None:
            return self._tell_end(connection, request, end)
        # The path of a list of models does not tell the wire.
        route = replace(route, wire=self.wire)
        try:
            asked, data = self._understood(request, route, generates=generates)
            if route.action not in _GENERATING:
                return relay(self, connection, asked)
            with _readable():
                streams = route.action is Action.STREAM
                said = WIRES[self.wire].heading(data, asked.model, stream=streams, size=len(request.body))
                names = offers.offered(said, data)
            first, missing = self._first(data, said, names, request)
        except _UnusableError as error:
            return self._turn_down(connection, request, error.status, str(error))
        del data  # larger than the request: not needed while the model thinks
        asked = replace(asked, stream=said.stream)
        own = first or self._like_the_first(names, request)
        if not first and names and self._later is not None and (text := self._later(names)) is not None:
            self.ledger.refuse(self.wire, said, self.upstream.provider, text, names=names)
            return self._turn_down(connection, request, 400, text)
        provider = self.upstream.provider
        flight, end = self.ledger.begin(self.wire, said, provider, missing, names=names, own=own)
        if end is not None:
            self.sent(flight, asked)
            return self._tell_end(connection, request, end)
        return Passage(self, connection, asked, flight).run()

    def _understood(self, request: Request, route: Route, *, generates: bool) -> tuple[Asked, Mapping[str, Any]]:
        """The request with its meaning, and what it says. Raises _UnusableError."""
        asked = Asked(request, route, route.model or "", self.token)
        if not generates:
            return asked, {}
        data = parsed(request.body, unique=route.action in _GENERATING)
        if not isinstance(data, Mapping):
            raise _UnusableError(400, "the request is not a JSON object, or one of its objects has a key twice")
        asked = replace(asked, model=route.model or str(data.get("model", "")))
        only = self.upstream.model
        if only is not None and asked.model != only:
            raise _UnusableError(404, f"this run has no model {asked.model!r}, only {only!r}")
        return asked, data

    def _first(
        self, data: Mapping[str, Any], said: Heading, names: tuple[str, ...], request: Request
    ) -> tuple[bool, str | None]:
        """Whether it is the first request with tools, and what the hook says to it; concurrent ones wait for that.

        Only this one is read whole. Raises _UnusableError.
        """
        if not names or self._known() is not None:
            return False, None
        with self._checking:
            if self._known() is not None:
                return False, None
            missing = None
            if self._hook is not None:
                with _readable():
                    whole = WIRES[self.wire].read(data, said.model, stream=said.stream, size=said.size)
                missing = self._hook(whole, request.body)
            with self._lock:
                self._hook = None
                self._print = offers.fingerprint(names, request)
            return True, missing

    def _like_the_first(self, names: tuple[str, ...], request: Request) -> bool:
        """Until the first turn the agent cannot act: all is the CLI's own. Later only what is like that turn is; a
        request without tools may be a title, but a run does not hang on one.
        """
        known = self._known()
        return known is None or offers.fingerprint(names, request) == known

    def _known(self) -> Print | None:
        with self._lock:
            return self._print

    def _tell_end(self, connection: Connection, request: Request, end: End) -> None:
        status, fields, body = endings.ending(self.wire, end, self.ending_status)
        self._note(request, status, end.error)
        connection.send_fields(status, fields, body)

    def _turn_down(self, connection: Connection, request: Request, status: int, message: str) -> None:
        self._note(request, status, message)
        status, fields, body = endings.reply(self.wire, status, message)
        connection.send_fields(status, fields, body)

    # What `Passage` and `relay` report.

    def guard(self) -> Redactor:
        """Takes the keys in use out of what goes to the client; it changes nothing where there are none."""
        hidden = self.upstream.secrets()
        with self._lock:
            known, guard = self._guard
            if known != hidden:
                guard = Redactor(hidden, least=1, shapes=False)
                self._guard = (dict(hidden), guard)
            return guard

    def replied(self, flight: Flight, body: bytes, size: int) -> None:
        """The client has its answer: price it, record it, tell of it."""
        exchange = flight.exchange()
        cost = (flight.estimated_cost() if exchange.cost_usd is None else exchange.cost_usd) or 0.0
        spent = self.ledger.priced(cost)
        fields = {
            "event": "reply", "number": exchange.number, "time": time.time(), "status": exchange.status,
            "latency": round(exchange.latency, 6), "first_byte": exchange.first_byte and round(exchange.first_byte, 6),
            "fault": exchange.fault, "error": exchange.error, "finish": exchange.finish,
            "served_model": exchange.served_model, "cost_usd": exchange.cost_usd,
        }  # fmt: skip
        self.recording.write(fields, body, size)
        tokens = exchange.tokens
        self._on_event(
            "model_request",
            {
                "turn": exchange.number,
                "seconds": round(exchange.latency, 3),
                "tokens": tokens.total if tokens is not None else None,
                "cost": exchange.cost_usd,
            },
        )
        if faults.limits(exchange):
            self.limited(exchange.status, None)
        self._tell_budget(exchange, spent, cost)

    def sent(self, flight: Flight, asked: Asked) -> None:
        """The request is on its way to the provider: record it."""
        self._write(asked.request, {"event": "request", "number": flight.number, "model": asked.model})

    def limited(self, status: int, wait: float | None) -> None:
        """The provider limits the rate."""
        fields = {"provider": self.upstream.provider, "status": status, "retry_after": wait}
        self._on_event("rate_limited", fields)

    def _tell_budget(self, exchange: Exchange, spent: Spent, cost: float) -> None:
        caps = self.ledger.caps
        counted = exchange.tokens or exchange.estimate
        for what, limit, used, more in (
            ("tokens", caps.tokens, spent.tokens, counted.total if counted is not None else 0),
            ("cost", caps.cost_usd, spent.cost_usd, cost),
        ):
            if limit is not None and used >= limit > used - more:
                self._on_event("budget", {"what": what, "limit": limit, "used": used})

    def _note(self, request: Request, status: int, message: str) -> None:
        self._write(request, {"event": "refused", "status": status, "error": message})

    def _write(self, request: Request, fields: Mapping[str, Any]) -> None:
        path = request.target.partition("?")[0]
        told = {"time": time.time(), "method": request.method, "path": path, "headers": without_keys(request.headers)}
        self.recording.write({**fields, **told}, request.body, len(request.body))

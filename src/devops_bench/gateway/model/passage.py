"""The way of one model request: caps, grants, provider, reply to the client, evidence."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from devops_bench.gateway.model import endings, faults
from devops_bench.gateway.model.caps import End
from devops_bench.gateway.model.flight import Flight
from devops_bench.gateway.model.headers import header, to_client
from devops_bench.gateway.model.upstream import Asked, Incoming, UpstreamError
from devops_bench.gateway.model.watch import ClientGone, Watch
from devops_bench.models.http import Connection

if TYPE_CHECKING:
    from devops_bench.gateway.model.gateway import ModelGateway

# Bytes of a whole reply, and of an error's body that is passed on.
_MAX_WHOLE = 64 << 20
_MAX_ERROR = 1 << 20
_BAD_GATEWAY = 502


class Passage:
    """Serves one request that generates; used once, by the connection's thread."""

    def __init__(self, gateway: ModelGateway, connection: Connection, asked: Asked, flight: Flight) -> None:
        self._gateway = gateway
        self._connection = connection
        self._asked = asked
        self._flight = flight
        patience = gateway.patience
        # While the provider thinks, there is time to write.
        self._watch = Watch(connection, patience.idle, patience.connect, lambda: gateway.sent(flight, asked))
        self._kept = bytearray()
        self._size = 0
        self._answered = False
        self._settled = False

    def run(self) -> None:
        """To the end of the reply, or of the run."""
        gateway = self._gateway
        try:
            with contextlib.closing(self._open()) as incoming:
                if incoming.status >= 400:
                    self._refused(incoming)
                elif self._comes_in_parts(incoming):
                    self._stream(incoming)
                else:
                    self._whole(incoming)
        except UpstreamError as error:
            self._fail(error.word, str(error))
        except (ClientGone, OSError):
            self._connection.keep = False
            self._settle("gone", "the client hung up")
        except Exception as error:
            # We are wrong: the run must end with that reason, not with a client that waits for ever.
            self._fail("harness", f"{type(error).__name__}: {error}")
        self._watch.sent()
        gateway.replied(self._flight, bytes(self._kept), self._size)

    def _open(self) -> Incoming:
        """The reply that counts: a rate limit with a short wait is waited for here."""
        gateway = self._gateway
        while True:
            incoming = gateway.upstream.open(self._asked, self._watch)
            if incoming.status not in faults.RATE_LIMITS:
                return incoming
            body = self._error_body(incoming)
            incoming.close()
            wait = faults.retry_after(incoming.fields, body)
            gateway.limited(incoming.status, wait)
            if wait is None or not self._flight.own or not gateway.ledger.may_wait(wait):
                return faults.Closed(incoming.status, incoming.fields, body)
            self._watch.sleep(wait)

    def _comes_in_parts(self, incoming: Incoming) -> bool:
        kind = header(incoming.fields, "content-type").lower()
        return kind.startswith("text/event-stream") or (self._asked.stream and incoming.length is None)

    def _stream(self, incoming: Incoming) -> None:
        """Every portion goes on as it comes. It is read first, so that no client knows more than the record."""
        flight, connection = self._flight, self._connection
        guard = self._gateway.guard()
        events = header(incoming.fields, "content-type").lower().startswith("text/event-stream")
        flight.begin(incoming.status, events=events)
        connection.begin_fields(incoming.status, to_client(incoming.fields, guard))
        self._answered = True
        hidden = guard.stream()
        for raw in incoming.chunks():
            self._pass(hidden.feed(raw))
        self._pass(hidden.flush())
        self._settle()
        connection.end()

    def _pass(self, portion: bytes) -> None:
        if not portion:
            return
        self._flight.feed(portion)
        self._keep(portion)
        self._connection.chunk(portion)

    def _whole(self, incoming: Incoming) -> None:
        """No client can use a part of a JSON text: it is judged before it is passed on."""
        self._flight.begin(incoming.status, events=False)
        body = bytearray()
        for portion in incoming.chunks():
            if len(body) + len(portion) > _MAX_WHOLE:
                raise UpstreamError("garbage", f"the reply is larger than {_MAX_WHOLE} bytes")
            body += portion
        guard = self._gateway.guard()
        whole = guard.data(bytes(body))
        self._flight.feed(whole)
        self._keep(whole)
        if self._settle() is not None:
            return self._answer_end()
        return self._connection.send_fields(incoming.status, to_client(incoming.fields, guard), whole)

    def _refused(self, incoming: Incoming) -> None:
        """The provider says no."""
        gateway, guard = self._gateway, self._gateway.guard()
        status, body = incoming.status, guard.data(self._error_body(incoming))
        self._flight.begin(status, events=False)
        self._flight.feed(body)
        self._keep(body)
        text = faults.message(body) or f"HTTP {status} without a word"
        end = self._settle("http", text, faults.retry_after(incoming.fields, body))
        if end is not None and gateway.ending_status is not None:
            return self._answer_end()
        fields = [*to_client(incoming.fields, guard), endings.NO_RETRY]
        return self._connection.send_fields(status, fields, body)

    def _fail(self, word: str, text: str) -> None:
        """No whole reply came."""
        self._settle(word, text)
        if self._answered:
            self._connection.keep = False
            return
        with contextlib.suppress(OSError):
            if self._gateway.end is not None:
                self._answer_end()
            else:
                self._connection.send_fields(*endings.reply(self._gateway.wire, _BAD_GATEWAY, text))

    def _settle(self, fault: str = "", error: str = "", wait: float | None = None) -> End | None:
        """Nothing more will come: what it means for the run. Only the first time counts; what a client does with a
        reply that it has is its own affair.
        """
        if self._settled:
            return None
        self._settled = True
        return self._gateway.ledger.finished(self._flight.finish(fault, error, wait))

    def _answer_end(self) -> None:
        end = self._gateway.end
        assert end is not None
        status, fields, body = endings.ending(self._gateway.wire, end, self._gateway.ending_status)
        self._connection.send_fields(status, fields, body)

    def _error_body(self, incoming: Incoming) -> bytes:
        body = bytearray()
        with contextlib.suppress(UpstreamError):
            for portion in incoming.chunks():
                body += portion
                if len(body) > _MAX_ERROR:
                    break
        return bytes(body[:_MAX_ERROR])

    def _keep(self, portion: bytes) -> None:
        room = self._gateway.recording.body_room - len(self._kept)
        if room > 0:
            self._kept += portion[:room]
        self._size += len(portion)

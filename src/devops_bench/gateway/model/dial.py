"""Connections to a provider: TLS, the environment's proxy, keep-alive; no wait that loses sight of the client.

`answer` speaks HTTP over the sockets of `sockets`.
"""

from __future__ import annotations

import contextlib
import select
import ssl
import threading
from collections.abc import Iterator
from typing import Final

from devops_bench.gateway.model import answer
from devops_bench.gateway.model.answer import Head, Source
from devops_bench.gateway.model.proxies import Proxy
from devops_bench.gateway.model.sockets import Origin, Socket, connected, trusted, tunnel
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.gateway.model.watch import Watch

_IDLE_CONNECTIONS: Final = 8
# Bytes of a body that is sent together with its head.
_SMALL: Final = 64 << 10


class Link:
    """One connection, and what has come in over it."""

    def __init__(self, sock: Socket) -> None:
        self.sock = sock
        self.source = Source(sock)
        self.used = False

    def drop(self) -> None:
        """End it."""
        self.sock.drop()

    def stale(self) -> bool:
        """Whether the other side closed it (or said something unasked) while it was idle."""
        poll = select.poll()
        poll.register(self.sock.inner, select.POLLIN)
        return not self.source.empty or bool(poll.poll(0))


class Dialer:
    """Connections to one origin. For any thread."""

    def __init__(self, origin: Origin, proxy: Proxy | None) -> None:
        self.origin = origin
        self.proxy = proxy
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._closed = False
        self._tls: ssl.SSLContext | None = None

    def take(self, watch: Watch) -> Link:
        """An idle connection or a new one. Raises UpstreamError (`connection`), ClientGone."""
        while (link := self._pop()) is not None:
            if not link.stale():
                link.sock.watch = watch
                return link
            link.drop()
        return self.fresh(watch)

    def fresh(self, watch: Watch) -> Link:
        """A new connection."""
        origin = self.origin
        host, port = (self.proxy.host, self.proxy.port) if self.proxy is not None else (origin.host, origin.port)
        try:
            sock = Socket(connected(host, port, watch), watch)
            try:
                if self.proxy is not None and origin.scheme == "https":
                    tunnel(sock, origin, self.proxy)
                if origin.scheme == "https":
                    # The handshake is ours: it must not block, either.
                    sock.inner = self._context().wrap_socket(
                        sock.inner, server_hostname=origin.host, do_handshake_on_connect=False
                    )
                    sock.handshake()
            except BaseException:
                sock.drop()
                raise
        except UpstreamError as error:
            raise UpstreamError("connection", f"{host}:{port}: {error}") from None
        except OSError as error:
            raise UpstreamError("connection", f"{host}:{port}: {error.strerror or error}") from None
        return Link(sock)

    def give(self, link: Link) -> None:
        """Keep a connection whose reply was read whole."""
        link.used = True
        with self._lock:
            if not self._closed and len(self._idle) < _IDLE_CONNECTIONS:
                self._idle.append(link)
                return
        link.drop()

    def close(self) -> None:
        """Close what is idle; what is in use is closed when it comes back."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for link in idle:
            link.drop()

    def _pop(self) -> Link | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _context(self) -> ssl.SSLContext:
        with self._lock:
            if self._tls is None:
                self._tls = trusted()
            return self._tls


class Answered:
    """A reply that comes in over a link."""

    def __init__(self, dialer: Dialer, link: Link, head: Head) -> None:
        self._dialer = dialer
        self._link: Link | None = link
        self._head = head
        self.status = head.status
        self.fields = head.fields
        self.length = head.length

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises UpstreamError (`cut`, `hang`, `garbage`), ClientGone."""
        link = self._link
        if link is None:
            return
        try:
            yield from answer.body(link.source, self._head)
        except OSError as error:
            raise UpstreamError("cut", f"the connection broke in the middle of the reply: {error}") from None
        self._link = None
        if self._head.last:
            link.drop()
        else:
            self._dialer.give(link)

    def close(self) -> None:
        """Drop the connection if it was not read whole."""
        if self._link is not None:
            self._link.drop()
            self._link = None


def exchange(
    dialer: Dialer, method: str, target: str, fields: list[tuple[str, str]], body: bytes, watch: Watch
) -> Answered:
    """Send a request, wait for the head of its reply. Raises UpstreamError (`connection`, `hang`), ClientGone, and
    ValueError for a target or a header that cannot be sent.

    A connection that the provider closed just while it was taken from the idle ones is replaced once.
    """
    if dialer.proxy is not None and dialer.origin.scheme == "http":
        target = f"http://{dialer.origin.authority}{target}"
        fields = [*fields, *dialer.proxy.fields]
    head = answer.request(method, target, [("Host", dialer.origin.authority), *fields], len(body))
    link = dialer.take(watch)
    if link.used:
        try:
            return _exchange(dialer, link, method, head, body)
        except ConnectionError:
            link = dialer.fresh(watch)
    try:
        return _exchange(dialer, link, method, head, body)
    except OSError as error:
        raise UpstreamError("connection", f"the connection broke: {error.strerror or error}") from None


def _exchange(dialer: Dialer, link: Link, method: str, head: bytes, body: bytes) -> Answered:
    try:
        # A provider may refuse a long body before it has read it: its answer counts, not the broken pipe.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            # One write for small ones: one packet, and the provider wakes up once.
            if len(body) < _SMALL:
                link.sock.sendall(head + body)
            else:
                link.sock.sendall(head)
                link.sock.sendall(body)
        link.sock.watch.sent(link.sock.inner)
        return Answered(dialer, link, answer.head(link.source, method))
    except BaseException:
        link.drop()
        raise

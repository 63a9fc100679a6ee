"""Connections to a provider: TLS, the environment's proxy, keep-alive; no wait that loses sight of the client.

`http.client` speaks HTTP (it costs 50 ms to import; urllib3 costs 200) over the sockets of `sockets`.
"""

from __future__ import annotations

import contextlib
import http.client
import select
import ssl
import threading
from collections.abc import Iterator
from typing import Final

from devops_bench.gateway.model.proxies import Proxy
from devops_bench.gateway.model.sockets import Origin, Socket, connected, trusted, tunnel
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.gateway.model.watch import Watch

_IDLE_CONNECTIONS: Final = 8


class Link(http.client.HTTPConnection):
    """One connection."""

    def __init__(self, origin: Origin, sock: Socket) -> None:
        super().__init__(origin.host, origin.port)
        self.bound = sock
        self.sock = sock
        self.used = False

    def connect(self) -> None:
        """Never again: a closed connection is dropped."""
        raise UpstreamError("connection", "the connection is closed")

    def drop(self) -> None:
        """End it."""
        self.close()
        self.bound.drop()

    def stale(self) -> bool:
        """Whether the other side closed it (or said something unasked) while it was idle."""
        poll = select.poll()
        poll.register(self.bound.inner, select.POLLIN)
        return bool(poll.poll(0))


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
                link.bound.watch = watch
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
        return Link(origin, sock)

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

    def __init__(self, dialer: Dialer, link: Link, response: http.client.HTTPResponse) -> None:
        self._dialer = dialer
        self._link: Link | None = link
        self._response = response
        self.status = response.status
        self.fields = tuple(response.getheaders())
        self.length = response.length

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes. Raises UpstreamError (`cut`, `hang`), ClientGone."""
        left = self.length
        while True:
            try:
                portion = self._response.read1(1 << 16)
            except http.client.HTTPException as error:
                raise UpstreamError("cut", f"the reply ends in the middle ({type(error).__name__})") from None
            except (OSError, ValueError) as error:
                raise UpstreamError("cut", f"the connection broke in the middle of the reply: {error}") from None
            if not portion:
                break
            left = None if left is None else left - len(portion)
            yield portion
        if left:
            raise UpstreamError("cut", f"the reply is {left} bytes shorter than it says")
        self._done()

    def close(self) -> None:
        """Drop the connection if it was not read whole."""
        if self._link is not None:
            self._response.close()
            self._link.drop()
            self._link = None

    def _done(self) -> None:
        link, self._link = self._link, None
        if link is None:
            return
        last = self._response.will_close
        # http.client sees the end of a body of known length only when it is told.
        self._response.close()
        if last:
            link.drop()
        else:
            self._dialer.give(link)


def exchange(
    dialer: Dialer, method: str, target: str, fields: list[tuple[str, str]], body: bytes, watch: Watch
) -> Answered:
    """Send a request, wait for the head of its reply. Raises UpstreamError (`connection`, `hang`), ClientGone.

    A connection that the provider closed just while it was taken from the idle ones is replaced once.
    """
    link = dialer.take(watch)
    if link.used:
        try:
            return _exchange(dialer, link, method, target, fields, body)
        except ConnectionError:
            link = dialer.fresh(watch)
    try:
        return _exchange(dialer, link, method, target, fields, body)
    except OSError as error:
        raise UpstreamError("connection", f"the connection broke: {error.strerror or error}") from None


def _exchange(
    dialer: Dialer, link: Link, method: str, target: str, fields: list[tuple[str, str]], body: bytes
) -> Answered:
    if dialer.proxy is not None and dialer.origin.scheme == "http":
        target = f"http://{dialer.origin.authority}{target}"
        fields = [*fields, *dialer.proxy.fields]
    try:
        link.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        link.putheader("Host", dialer.origin.authority)
        for name, value in fields:
            link.putheader(name, value)
        if body or method == "POST":
            link.putheader("Content-Length", str(len(body)))
        # A provider may refuse a long body before it has read it: its answer counts, not the broken pipe.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            link.endheaders(body or None)
        link.bound.watch.sent()
        return Answered(dialer, link, link.getresponse())
    except http.client.RemoteDisconnected:
        link.drop()
        raise
    except http.client.HTTPException as error:
        link.drop()
        raise UpstreamError("garbage", f"the provider does not speak HTTP ({type(error).__name__})") from None
    except BaseException:
        link.drop()
        raise

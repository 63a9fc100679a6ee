"""HTTP over one connection with one absolute deadline per request, and a pool of idle connections.

`http.client` bounds each socket read; a server that trickles, or is stopped between two reads, can stretch that without
end. Here every read and write first sets the socket's timeout to what is left of the request's deadline.
A connection is used by one thread at a time: taken from the pool, given back when its answer was read whole.
"""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
from typing import Any
from urllib.parse import urlsplit

from devops_bench.kube.deadline import Deadline
from devops_bench.kube.errors import KubeUnavailable

_LEAST_TIMEOUT = 0.001  # a timeout of 0 would mean "non-blocking"


class _BoundedSocket:
    """A socket whose every operation ends at `deadline`; only what http.client uses of one."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self.deadline = Deadline.after(0)

    def arm(self) -> None:
        """Give the next operation what is left of the deadline."""
        left = self.deadline.remaining()
        if left <= 0:
            raise TimeoutError("deadline passed")
        self.inner.settimeout(max(left, _LEAST_TIMEOUT))

    def sendall(self, data: Any) -> None:
        self.arm()
        self.inner.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_BoundedReader(self), 1 << 16)

    def close(self) -> None:
        self.inner.close()


class _BoundedReader(io.RawIOBase):
    def __init__(self, bounded: _BoundedSocket) -> None:
        self._bounded = bounded

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._bounded.arm()
        return self._bounded.inner.recv_into(buffer)


class Connection(http.client.HTTPConnection):
    """One connection to the API server (TCP, TLS or a unix socket)."""

    def __init__(self, origin: Origin) -> None:
        super().__init__(origin.host, origin.port)
        self._origin = origin
        self.bounded: _BoundedSocket | None = None
        self.used = False

    def begin(self, deadline: Deadline) -> None:
        """Connect if needed; all that follows ends at `deadline`."""
        if self.bounded is None:
            self.bounded = _BoundedSocket(self._origin.dial(deadline))
            self.sock = self.bounded  # it has all that http.client calls
        self.bounded.deadline = deadline

    def stale(self) -> bool:
        """True if the idle connection was closed (or spoken to) by the other side."""
        return self.bounded is None or bool(select.select([self.bounded.inner], [], [], 0)[0])

    def wake(self) -> None:
        """End the connection under a thread that is blocked in a read of it; that thread closes it."""
        if self.bounded is not None:
            try:
                # Not SSLSocket's own shutdown: it takes the TLS state away from the reading thread.
                socket.socket.shutdown(self.bounded.inner, socket.SHUT_RDWR)
            except OSError:
                pass

    def abort(self) -> None:
        """Close at once."""
        self.wake()
        if self.bounded is not None:
            # http.client forgets the socket of an answer that ends its connection; closing it is up to us.
            self.bounded.close()
        self.close()


class Origin:
    """An API server's address with its TLS context, or the unix socket of a proxy to it."""

    def __init__(
        self, server: str, tls: ssl.SSLContext | None, name: str | None = None, unix: str | None = None
    ) -> None:
        parts = urlsplit(server)
        self.host = parts.hostname or "localhost"
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.prefix = parts.path.rstrip("/")
        self._tls = tls
        self._name = name or self.host
        self._unix = unix

    def dial(self, deadline: Deadline) -> socket.socket:
        """A connected socket, TLS done. Raises OSError (TimeoutError included)."""
        left = max(deadline.remaining(), _LEAST_TIMEOUT)
        if self._unix is not None:
            raw = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                raw.settimeout(left)
                raw.connect(self._unix)
            except OSError:
                raw.close()
                raise
            return raw
        raw = socket.create_connection((self.host, self.port), timeout=left)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            raw.settimeout(max(deadline.remaining(), _LEAST_TIMEOUT))
            return self._tls.wrap_socket(raw, server_hostname=self._name) if self._tls else raw
        except OSError:
            raw.close()
            raise


class Pool:
    """Idle connections, the most recently used first. Thread-safe."""

    def __init__(self, origin: Origin, keep: int = 8) -> None:
        self.origin = origin
        self._keep = keep
        self._idle: list[Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def take(self) -> Connection:
        """A live idle connection, or a new one that is not yet connected."""
        while True:
            with self._lock:
                if self._closed:
                    raise KubeUnavailable("the Kubernetes client was closed")
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return Connection(self.origin)
            if not connection.stale():
                return connection
            connection.abort()

    def give(self, connection: Connection) -> None:
        """Return a connection whose last answer was read to its end."""
        connection.used = True
        with self._lock:
            if not self._closed and len(self._idle) < self._keep:
                self._idle.append(connection)
                return
        connection.abort()

    def close(self) -> None:
        """Close all idle connections; later calls fail."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.abort()

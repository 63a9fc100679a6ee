"""Sockets that never block: whatever they have to wait for, they wait together with the client's own (`Watch`)."""

from __future__ import annotations

import contextlib
import functools
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from devops_bench.gateway.model import answer
from devops_bench.gateway.model.proxies import Proxy
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.gateway.model.watch import Watch

T = TypeVar("T")

PORTS: Final[Mapping[str, int]] = {"http": 80, "https": 443}
_SLICE: Final = 256 << 10
_MAX_PROXY_HEAD: Final = 16 << 10


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a provider is."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


class Socket:
    """A connected socket that waits by a Watch; raises UpstreamError (`hang`)."""

    def __init__(self, inner: socket.socket, watch: Watch) -> None:
        self.inner = inner
        self.watch = watch

    def sendall(self, data: Any) -> None:
        view = memoryview(data)
        while view:
            view = view[self._until(functools.partial(self.inner.send, view[:_SLICE]), select.POLLOUT) :]

    def recv(self, size: int) -> bytes:
        return self._until(functools.partial(self.inner.recv, size), select.POLLIN)

    def handshake(self) -> None:
        """TLS."""
        assert isinstance(self.inner, ssl.SSLSocket)
        self._until(self.inner.do_handshake, select.POLLIN, self.watch.connect)

    def drop(self) -> None:
        self.inner.close()

    def _until(self, act: Callable[[], T], event: int, limit: float | None = None) -> T:
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                event = select.POLLIN
            except ssl.SSLWantWriteError:
                event = select.POLLOUT
            except BlockingIOError:
                pass
            if not self.watch.ready(self.inner, event, limit):
                seconds = self.watch.idle if limit is None else limit
                raise UpstreamError("hang", f"the provider sent nothing for {seconds:g} s")


def trusted() -> ssl.SSLContext:
    """TLS with verification, by the system's authorities, else by those of `certifi` where a host has none."""
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    folder = Path(paths.capath) if paths.capath else None
    if not context.cert_store_stats()["x509_ca"] and not (folder and folder.is_dir() and any(folder.iterdir())):
        with contextlib.suppress(ImportError):
            import certifi

            context.load_verify_locations(certifi.where())
    return context


def connected(host: str, port: int, watch: Watch) -> socket.socket:
    """A TCP connection by the first address that answers in time."""
    deadline = time.monotonic() + watch.connect
    problem: OSError = OSError("no address")
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise OSError(f"the name cannot be resolved ({error.strerror or error})") from None
    for family, kind, protocol, _, address in found:
        sock = socket.socket(family, kind, protocol)
        try:
            _connect(sock, address, watch, deadline)
            return sock
        except OSError as error:
            problem = error
            sock.close()
        except BaseException:
            sock.close()
            raise
    raise problem


def _connect(sock: socket.socket, address: Any, watch: Watch, deadline: float) -> None:
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with contextlib.suppress(BlockingIOError):
        sock.connect(address)
        return
    if not watch.ready(sock, select.POLLOUT, max(0.0, deadline - time.monotonic())):
        raise OSError("no answer to a connection request")
    if code := sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))


def tunnel(sock: Socket, origin: Origin, proxy: Proxy) -> None:
    """A way through the proxy. Raises OSError when it refuses."""
    target = f"[{origin.host}]:{origin.port}" if ":" in origin.host else f"{origin.host}:{origin.port}"
    sock.sendall(answer.request("CONNECT", target, [("Host", target), *proxy.fields], 0))
    head = bytearray()
    # Byte by byte: what follows the head belongs to TLS.
    while not head.endswith(b"\r\n\r\n") and len(head) < _MAX_PROXY_HEAD:
        byte = sock.recv(1)
        if not byte:
            raise OSError("the proxy closed the connection")
        head += byte
    status = bytes(head.partition(b"\r\n")[0]).decode("latin-1").split(" ", 2)
    if len(status) < 2 or status[1] != "200":
        raise OSError(f"the proxy {proxy.host}:{proxy.port} refuses: {' '.join(status[1:])}")

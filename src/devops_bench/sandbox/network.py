"""A network namespace with no way out but named addresses.

Nothing runs inside for it: a forked child of ours enters the namespace for a few milliseconds, opens listening sockets
at the addresses the agent will dial, and hands them out. A thread here then passes each connection on to the real
address. The internet, the cloud's metadata address and every other port of this host do not exist inside.
"""

from __future__ import annotations

import ctypes
import fcntl
import ipaddress
import os
import selectors
import socket
import struct
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import urlsplit

NS_GET_USERNS = 0xB701  # ioctl_ns(2): the user namespace that owns this namespace
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCSIFADDR = 0x8916
CHUNK = 64 << 10
# Through one sandbox at a time. The descriptors are ours: an agent must not be able to use them all up.
MOST_CONNECTIONS = 256
_libc = ctypes.CDLL(None, use_errno=True)


class Network(StrEnum):
    """`closed`: only `reach`; `shared`: the host's network, a recorded degradation."""

    CLOSED = "closed"
    SHARED = "shared"


class NetworkUnavailable(Exception):
    """The closed network cannot be set up on this host."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A TCP address the agent may dial, by the name it knows."""

    host: str
    port: int

    @classmethod
    def of(cls, url: str) -> Endpoint:
        """From an http(s) URL; ValueError when it has no host."""
        parts = urlsplit(url)
        if not parts.hostname:
            raise ValueError(f"no host in {url!r}")
        return cls(parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))

    @property
    def is_name(self) -> bool:
        """True for a host name (it then resolves to loopback inside), false for an address."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return self.host != "localhost"
        return False


def listen_inside(pid: int, endpoints: Sequence[Endpoint]) -> list[socket.socket]:
    """Listening sockets in the network namespace of process `pid`, one for each endpoint, in order.

    Raises NetworkUnavailable when the namespace cannot be entered or an address not bound.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs, warnings.catch_warnings():
        # The child does a handful of system calls and ends by _exit: no lock of another thread is ever wanted.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            _serve_sockets(pid, endpoints, theirs)
        theirs.close()
        message, fds, _flags, _address = socket.recv_fds(ours, 4096, len(endpoints))
        os.waitpid(child, 0)
    sockets = [socket.socket(fileno=fd) for fd in fds]
    if message != b"ok" or len(sockets) != len(endpoints):
        for item in sockets:
            item.close()
        raise NetworkUnavailable(message.decode(errors="replace") or "the helper died")
    return sockets


def _serve_sockets(pid: int, endpoints: Sequence[Endpoint], out: socket.socket) -> None:
    """In the forked child: enter, listen, hand over, end. Never returns."""
    try:
        net = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY)
        # The namespace's owner first: only there does an ordinary user hold the right to enter.
        for fd, kind in ((fcntl.ioctl(net, NS_GET_USERNS), CLONE_NEWUSER), (net, CLONE_NEWNET)):
            if _libc.setns(fd, kind) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        listening = [_listener(endpoint, index) for index, endpoint in enumerate(endpoints)]
        socket.send_fds(out, [b"ok"], [item.fileno() for item in listening])
    except BaseException as error:
        out.send(f"{type(error).__name__}: {error}".encode()[:4000])
    finally:
        os._exit(0)


def _listener(endpoint: Endpoint, index: int) -> socket.socket:
    host = "127.0.0.1" if endpoint.is_name or endpoint.host == "localhost" else endpoint.host
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    item = socket.socket(family, socket.SOCK_STREAM)
    item.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET and not ipaddress.ip_address(host).is_loopback:
        # An address of the outside becomes an alias of loopback, so that the agent dials it unchanged.
        name = f"lo:{index}".encode()
        request = struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(host))
        fcntl.ioctl(item, SIOCSIFADDR, request)
    item.bind((host, endpoint.port))
    item.listen(128)
    return item


class Forwarder:
    """Passes connections from listening sockets to real addresses, in one thread, until closed."""

    def __init__(self, listening: Sequence[socket.socket], endpoints: Sequence[Endpoint]) -> None:
        self._selector = selectors.DefaultSelector()
        self._wake, self._waker = socket.socketpair()
        self._peers: dict[socket.socket, socket.socket] = {}
        self._waiting: dict[socket.socket, bytes] = {}
        self._ended: set[socket.socket] = set()
        self._selector.register(self._wake, selectors.EVENT_READ, None)
        for item, endpoint in zip(listening, endpoints, strict=True):
            item.setblocking(False)
            self._selector.register(item, selectors.EVENT_READ, endpoint)
        self._listening = list(listening)
        self._thread = threading.Thread(target=self._serve, name="sandbox-forwarder", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the thread and every connection."""
        self._waker.close()
        self._thread.join(timeout=5)
        for item in [*self._listening, *self._peers, self._wake]:
            item.close()
        self._selector.close()

    def _serve(self) -> None:
        while True:
            for key, mask in self._selector.select():
                item = key.fileobj
                assert isinstance(item, socket.socket)
                if item is self._wake:
                    return
                if isinstance(key.data, Endpoint):
                    self._accept(item, key.data)
                elif item in self._peers:
                    self._pump(item, mask)

    def _accept(self, listening: socket.socket, endpoint: Endpoint) -> None:
        try:
            inner, _address = listening.accept()
        except OSError:
            return
        if len(self._peers) >= 2 * MOST_CONNECTIONS:
            inner.close()
            return
        try:
            outer = socket.socket(socket.AF_INET6 if ":" in endpoint.host else socket.AF_INET, socket.SOCK_STREAM)
        except OSError:
            inner.close()
            return
        for one, other in ((inner, outer), (outer, inner)):
            one.setblocking(False)
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._peers[one] = other
        try:
            outer.connect_ex((endpoint.host, endpoint.port))
        except OSError:  # the name does not resolve
            self._drop(inner)
            return
        # Nothing to send yet, but "becomes writable" is how a connection in progress tells that it stands.
        self._waiting[outer] = b""
        self._watch(outer)

    def _pump(self, item: socket.socket, mask: int) -> None:
        """Move what is ready; while one side is full its source is not read, so memory stays bounded by one chunk."""
        try:
            if mask & selectors.EVENT_WRITE:
                self._flush(item)
            if mask & selectors.EVENT_READ:
                self._read(item)
        except BlockingIOError:
            return
        except OSError:
            self._drop(item)

    def _flush(self, item: socket.socket) -> None:
        failed = item.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if failed:
            raise OSError(failed, "connect")
        left = self._waiting.pop(item, b"")
        if left:
            left = left[item.send(left) :]
        if left:
            self._waiting[item] = left
            return
        self._watch(item)
        self._watch(self._peers[item])

    def _read(self, item: socket.socket) -> None:
        peer = self._peers[item]
        if peer in self._waiting:
            return
        data = item.recv(CHUNK)
        if not data:
            self._ended.add(item)
            peer.shutdown(socket.SHUT_WR)
            if peer in self._ended:
                self._drop(item)
            else:
                self._watch(item)
            return
        try:
            sent = peer.send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._waiting[peer] = data[sent:]
            self._watch(peer)
            self._watch(item)

    def _watch(self, item: socket.socket) -> None:
        """Watch `item` for what can be done now: readable unless its peer is full, writable while it is full."""
        reading = self._peers[item] not in self._waiting and item not in self._ended
        wanted = (selectors.EVENT_READ if reading else 0) | (selectors.EVENT_WRITE if item in self._waiting else 0)
        known = item in self._selector.get_map()
        if wanted and known:
            self._selector.modify(item, wanted, None)
        elif wanted:
            self._selector.register(item, wanted, None)
        elif known:
            self._selector.unregister(item)

    def _drop(self, item: socket.socket) -> None:
        peer = self._peers[item]
        for one in (item, peer):
            self._peers.pop(one, None)
            self._waiting.pop(one, None)
            self._ended.discard(one)
            if one in self._selector.get_map():
                self._selector.unregister(one)
            one.close()

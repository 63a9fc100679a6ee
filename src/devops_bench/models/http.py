"""One client's connection of a very small HTTP/1.1 server: keep-alive, chunked streams, and what servers must not do.

Written here because a scripted model must do what servers must not (hang, send half a body, answer garbage), must start
within milliseconds and end at once, and because `http.server` costs more to import than all of this package.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_HEAD = 64 << 10
MAX_BODY = 64 << 20
JSON = "application/json; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}
# Bytes and seconds: of a body that nobody wants so much is read, so that the answer is not lost with the connection.
_DRAIN = 1 << 20
_DRAIN_SEC = 1.0


class BadRequestError(Exception):
    """What the client sent is no HTTP request that we read; the connection is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; header names are lower case, the path is decoded, the body as sent (after gzip).

    `target` and `fields` are the path with its query and the headers as they came, in order.
    """

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)
    target: str = ""
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def keys_in(request: Request) -> set[str]:
    """The keys that a request brings, in any of the places where the providers' clients put them."""
    headers = request.headers
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    given = [headers.get("x-api-key"), headers.get("x-goog-api-key"), headers.get("api-key"), request.query.get("key")]
    given.append(bearer.strip() if scheme.lower() == "bearer" else None)
    return {key for key in given if key}


class Room:
    """Bytes of bodies that may be in memory at a time, for all connections of a server together."""

    def __init__(self, size: int) -> None:
        self._left = size
        self._lock = threading.Lock()

    def take(self, size: int) -> bool:
        """Whether there is room; it is taken then."""
        with self._lock:
            if size > self._left:
                return False
            self._left -= size
            return True

    def give(self, size: int) -> None:
        """It is free again."""
        with self._lock:
            self._left += size


class Connection:
    """One client; used by one thread."""

    def __init__(self, sock: socket.socket, room: Room | None = None) -> None:
        self._room = room or Room(MAX_BODY)
        self._held = 0
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._file: BinaryIO = sock.makefile("rb")
        self.keep = True
        self.unread = False

    @property
    def socket(self) -> socket.socket:
        """The client's socket, to be watched only."""
        return self._sock

    def read(self, admit: Callable[[Request], bool] = lambda _: True) -> Request | None:
        """The next request, None when the client is gone. Raises BadRequestError.

        What `admit` turns down comes without its body, and the connection ends after its answer.
        """
        line = self._file.readline(MAX_HEAD)
        if not line.strip():
            return None
        try:
            method, target, version = line.decode("latin-1").split()
        except ValueError:
            raise BadRequestError("not an HTTP request line") from None
        fields = self._fields()
        headers = {name.lower(): value for name, value in fields}
        self.keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        try:
            url = urlsplit(target)
        except ValueError:
            raise BadRequestError("not a URL") from None
        request = Request(method, unquote(url.path), dict(parse_qsl(url.query)), headers, b"", target, tuple(fields))
        if not admit(request):
            self.keep, self.unread = False, True
            return request
        if headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        body = self._decoded(self._body(headers), headers.get("content-encoding", "identity").lower())
        return replace(request, body=body)

    def _fields(self) -> list[tuple[str, str]]:
        fields: list[tuple[str, str]] = []
        size = 0
        while (line := self._file.readline(MAX_HEAD)) not in {b"\r\n", b"\n", b""}:
            size += len(line)
            name, colon, value = line.decode("latin-1").partition(":")
            if size > MAX_HEAD or not colon:
                raise BadRequestError("bad headers")
            fields.append((name.strip(), value.strip()))
        return fields

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            whole = bytearray()
            while size := self._number(self._file.readline(MAX_HEAD).split(b";")[0], 16):
                if size + len(whole) > MAX_BODY:
                    raise BadRequestError("body too large")
                self._hold(size)
                whole += self._exactly(size)
                self._file.readline(MAX_HEAD)
            self._fields()
            return bytes(whole)
        size = self._number(headers.get("content-length", "0").encode(), 10)
        if size > MAX_BODY:
            raise BadRequestError("body too large")
        self._hold(size)
        return self._exactly(size)

    def _hold(self, size: int) -> None:
        if not self._room.take(size):
            raise BadRequestError("too many large bodies at a time")
        self._held += size

    def forget(self) -> None:
        """The last request is done with."""
        self._room.give(self._held)
        self._held = 0

    def _exactly(self, size: int) -> bytes:
        data = self._file.read(size)
        if len(data) < size:
            raise BadRequestError("the body is shorter than it says")
        return data

    def _number(self, text: bytes, base: int) -> int:
        try:
            number = int(text.strip() or b"x", base)
        except ValueError:
            raise BadRequestError("bad length") from None
        if number < 0:
            raise BadRequestError("bad length")
        return number

    def _decoded(self, body: bytes, encoding: str) -> bytes:
        if encoding in {"", "identity"}:
            return body
        if encoding not in {"gzip", "deflate"}:
            raise BadRequestError(f"content-encoding {encoding} is not supported")
        try:
            packed = zlib.decompressobj(wbits=47)
            plain = packed.decompress(body, MAX_BODY)
            self._hold(len(plain))
        except zlib.error:
            raise BadRequestError("body is not compressed as it says") from None
        if packed.unconsumed_tail:
            raise BadRequestError("body too large")
        return plain

    def send(self, status: int, body: bytes, kind: str = JSON, extra: Mapping[str, str] | None = None) -> None:
        """A whole response."""
        self.send_fields(status, [("Content-Type", kind), *(extra or {}).items()], body)

    def send_fields(self, status: int, fields: Iterable[tuple[str, str]], body: bytes) -> None:
        """A whole response with these headers; length and connection are added."""
        head = self._head(status, [*fields, ("Content-Length", str(len(body)))])
        # One write for small ones: no second packet, no second wake-up of the client.
        if len(body) < MAX_HEAD:
            self._sock.sendall(head + body)
        else:
            self._sock.sendall(head)
            self._sock.sendall(body)

    def send_half(self, body: bytes, kind: str = JSON) -> None:
        """A response that promises more than it holds; the connection must end after it."""
        head = self._head(200, [("Content-Type", kind), ("Content-Length", str(len(body)))])
        self._sock.sendall(head + body[: len(body) // 2])

    def begin(self, kind: str) -> None:
        """Begin a stream."""
        self.begin_fields(200, [("Content-Type", kind), ("Cache-Control", "no-cache")])

    def begin_fields(self, status: int, fields: Iterable[tuple[str, str]]) -> None:
        """Begin a stream with these headers."""
        self._sock.sendall(self._head(status, [*fields, ("Transfer-Encoding", "chunked")]))

    def chunk(self, data: bytes) -> None:
        """A part of a stream."""
        if data:
            self._sock.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """End a stream properly."""
        self._sock.sendall(b"0\r\n\r\n")

    def wait_gone(self, limit: float) -> None:
        """Wait until the client gives up (or the server closes), at most `limit` seconds."""
        self._sock.settimeout(limit)
        with contextlib.suppress(OSError):
            while self._sock.recv(4096):
                pass

    def discard(self) -> None:
        """Read what is left of a body that was not wanted, within bounds."""
        self._sock.settimeout(_DRAIN_SEC)
        left = _DRAIN
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)
            while left > 0 and (data := self._sock.recv(1 << 16)):
                left -= len(data)

    def drop(self) -> None:
        """End the connection now; wakes whoever waits on it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the socket."""
        self._file.close()
        self._sock.close()

    def _head(self, status: int, fields: Iterable[tuple[str, str]]) -> bytes:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}"]
        lines += [f"{name}: {value}" for name, value in fields]
        lines.append("Connection: keep-alive" if self.keep else "Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

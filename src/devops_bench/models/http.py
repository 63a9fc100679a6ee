"""A very small HTTP/1.1 server on loopback: one thread a connection, keep-alive, chunked streams.

Written here because a scripted model must do what servers must not (hang, send half a body, answer garbage), must start
within milliseconds and end at once, and because `http.server` costs more to import than all of this package.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import BinaryIO
from urllib.parse import parse_qsl, unquote, urlsplit

MAX_HEAD = 64 << 10
MAX_BODY = 64 << 20
# Seconds: a dropped connection wakes its thread at once; one that computes is not waited for.
_JOIN = 2.0
JSON = "application/json; charset=utf-8"
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


class BadRequestError(Exception):
    """What the client sent is no HTTP request that we read; the connection is closed."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request; header names are lower case, the path is decoded, the body as sent (after gzip)."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Connection:
    """One client; used by one thread."""

    def __init__(self, sock: socket.socket) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._file: BinaryIO = sock.makefile("rb")
        self.keep = True

    def read(self) -> Request | None:
        """The next request, None when the client is gone. Raises BadRequestError."""
        line = self._file.readline(MAX_HEAD)
        if not line.strip():
            return None
        try:
            method, target, version = line.decode("latin-1").split()
        except ValueError:
            raise BadRequestError("not an HTTP request line") from None
        headers = self._headers()
        self.keep = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
        if headers.get("expect", "").lower() == "100-continue":
            self._sock.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        url = urlsplit(target)
        body = self._decoded(self._body(headers), headers.get("content-encoding", "identity").lower())
        return Request(method, unquote(url.path), dict(parse_qsl(url.query)), headers, body)

    def _headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        size = 0
        while (line := self._file.readline(MAX_HEAD)) not in {b"\r\n", b"\n", b""}:
            size += len(line)
            name, colon, value = line.decode("latin-1").partition(":")
            if size > MAX_HEAD or not colon:
                raise BadRequestError("bad headers")
            headers[name.strip().lower()] = value.strip()
        return headers

    def _body(self, headers: Mapping[str, str]) -> bytes:
        if "chunked" in headers.get("transfer-encoding", "").lower():
            parts: list[bytes] = []
            while size := self._number(self._file.readline(MAX_HEAD).split(b";")[0], 16):
                if size + sum(map(len, parts)) > MAX_BODY:
                    raise BadRequestError("body too large")
                parts.append(self._file.read(size))
                self._file.readline(MAX_HEAD)
            self._headers()
            return b"".join(parts)
        size = self._number(headers.get("content-length", "0").encode(), 10)
        if size > MAX_BODY:
            raise BadRequestError("body too large")
        return self._file.read(size)

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
            return zlib.decompressobj(wbits=47).decompress(body, MAX_BODY)
        except zlib.error:
            raise BadRequestError("body is not compressed as it says") from None

    def send(self, status: int, body: bytes, kind: str = JSON, extra: Mapping[str, str] | None = None) -> None:
        """A whole response."""
        self._sock.sendall(self._head(status, kind, {"Content-Length": str(len(body)), **(extra or {})}) + body)

    def send_half(self, body: bytes, kind: str = JSON) -> None:
        """A response that promises more than it holds; the connection must end after it."""
        self._sock.sendall(self._head(200, kind, {"Content-Length": str(len(body))}) + body[: len(body) // 2])

    def begin(self, kind: str) -> None:
        """Begin a stream."""
        self._sock.sendall(self._head(200, kind, {"Transfer-Encoding": "chunked", "Cache-Control": "no-cache"}))

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

    def drop(self) -> None:
        """End the connection now; wakes whoever waits on it."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Release the socket."""
        self._file.close()
        self._sock.close()

    def _head(self, status: int, kind: str, headers: Mapping[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Error')}", f"Content-Type: {kind}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append("Connection: keep-alive" if self.keep else "Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Listener:
    """Accepts connections on 127.0.0.1 and calls `handle(connection, request)` for each request, until closed."""

    def __init__(self, handle: Callable[[Connection, Request], None], port: int = 0) -> None:
        self._handle = handle
        self._lock = threading.Lock()
        self._open: dict[Connection, threading.Thread] = {}
        self.closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name="scripted-model", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop accepting, end every connection; returns when no thread accepts any more."""
        self.closing.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()
        with self._lock:
            serving = dict(self._open)
        for connection in serving:
            connection.drop()
        for thread in serving.values():
            thread.join(timeout=_JOIN)

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                sock, _ = self._socket.accept()
            except OSError:
                if self.closing.is_set():
                    return
                # Out of descriptors, or a client that went away: neither must end the server.
                self.closing.wait(0.05)
                continue
            connection = Connection(sock)
            thread = threading.Thread(target=self._serve, args=(connection,), name="scripted-client", daemon=True)
            with self._lock:
                self._open[connection] = thread
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            while connection.keep and not self.closing.is_set():
                request = connection.read()
                if request is None:
                    break
                self._handle(connection, request)
        except BadRequestError as error:
            with contextlib.suppress(OSError):
                connection.send(400, json.dumps({"error": {"message": str(error)}}).encode())
        except OSError:
            pass  # the client went away: nobody is left to be told
        finally:
            with self._lock:
                self._open.pop(connection, None)
            connection.drop()
            connection.close()

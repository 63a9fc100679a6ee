"""One identity's HTTP requests to one API server: headers, one retry of a read on a dead kept connection, errors."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import jiter

from devops_bench.kube.deadline import Deadline
from devops_bench.kube.errors import KubeError, KubeUnavailable, from_status
from devops_bench.kube.transport import Connection, Origin, Pool

REPLY_LIMIT = 256 << 20  # bytes; a cluster flooded with objects must not take the harness down

JSON = "application/json"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"


class StreamHandle:
    """Lets another thread end a stream at once."""

    def __init__(self) -> None:
        self.closed = False
        self._connection: Connection | None = None
        self._lock = threading.Lock()

    def attach(self, connection: Connection) -> None:
        """Called by the stream once it has its connection."""
        with self._lock:
            self._connection = connection

    def close(self) -> None:
        """End the stream; its iterator stops without an error."""
        with self._lock:
            self.closed = True
            connection = self._connection
        if connection is not None:
            connection.wake()


class Session:
    """Thread-safe: each request borrows a connection of its own."""

    def __init__(self, origin: Origin, token: str | None) -> None:
        self._pool = Pool(origin)
        self._token = token

    def close(self) -> None:
        """Drop idle connections; later requests fail."""
        self._pool.close()

    def json(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        accept: str = JSON,
        body: Any = None,
        content: str = JSON,
        as_user: str | None = None,
    ) -> dict[str, Any]:
        """The decoded object; anything else is KubeUnavailable, an HTTP error its class of `kube.errors`."""
        data = None if body is None else json.dumps(body).encode()
        raw = self.request(method, path, deadline, accept=accept, data=data, content=content, as_user=as_user)
        try:
            decoded = jiter.from_json(raw)
        except ValueError:
            raise KubeUnavailable(f"{method} {path}: the answer is not JSON") from None
        if not isinstance(decoded, dict):
            raise KubeUnavailable(f"{method} {path}: the answer is not an object")
        return decoded

    def request(
        self,
        method: str,
        path: str,
        deadline: Deadline,
        *,
        accept: str,
        data: bytes | None = None,
        content: str | None = None,
        as_user: str | None = None,
    ) -> bytes:
        """The whole body of a 2xx answer."""
        headers = self._headers(accept, content if data is not None else None, as_user)
        while True:
            connection = self._pool.take()
            whole = False
            try:
                reply = self._send(connection, method, path, deadline, data, headers)
                raw = reply.read(REPLY_LIMIT + 1)
                if len(raw) > REPLY_LIMIT:
                    raise KubeUnavailable(f"{method} {path}: the answer is larger than {REPLY_LIMIT >> 20} MiB")
                if reply.length:  # http.client says nothing when a body of known length is cut off
                    raise KubeUnavailable(f"{method} {path}: the answer was cut off")
                whole = not reply.will_close
                if reply.status >= 300:
                    raise _failure(method, path, reply, raw)
                return raw
            except TimeoutError:
                raise KubeUnavailable(f"{method} {path}: no answer in time") from None
            except (OSError, http.client.HTTPException) as error:
                # A kept connection may be closed by the server as we write; a read may be asked again on a new one.
                if not (connection.used and method == "GET"):
                    raise KubeUnavailable(f"{method} {path}: {_cause(error)}") from None
            finally:
                if whole:
                    self._pool.give(connection)
                else:
                    connection.abort()

    def lines(self, path: str, deadline: Deadline, accept: str, handle: StreamHandle) -> Iterator[dict[str, Any]]:
        """JSON objects, one a line, until the deadline, the server or `handle` ends the stream."""
        connection = Connection(self._pool.origin)
        handle.attach(connection)
        try:
            reply = self._send(connection, "GET", path, deadline, None, self._headers(accept))
            if reply.status != 200:
                raise _failure("GET", path, reply, reply.read(1 << 16))
            while not handle.closed and (line := reply.readline(REPLY_LIMIT)):
                yield jiter.from_json(line)
        except TimeoutError:
            if not deadline.passed:
                raise KubeUnavailable(f"WATCH {path}: timed out") from None
        except (OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # http.client loses its file (AttributeError) when a chunked stream ends in the middle of a read.
            if not handle.closed:
                raise KubeUnavailable(f"WATCH {path}: {_cause(error)}") from None
        finally:
            connection.abort()

    def _headers(self, accept: str, content: str | None = None, as_user: str | None = None) -> dict[str, str]:
        headers = {"Accept": accept, "User-Agent": "devops-bench"}
        if content:
            headers["Content-Type"] = content
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if as_user:
            headers["Impersonate-User"] = as_user
        return headers

    def _send(
        self,
        connection: Connection,
        method: str,
        path: str,
        deadline: Deadline,
        data: bytes | None,
        headers: dict[str, str],
    ) -> http.client.HTTPResponse:
        connection.begin(deadline)
        connection.request(method, self._pool.origin.prefix + path, body=data, headers=headers)
        return connection.getresponse()


def _failure(method: str, path: str, reply: http.client.HTTPResponse, raw: bytes) -> KubeError:
    text = raw.decode(errors="replace")
    try:
        body: Any = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    delay = reply.getheader("Retry-After") or ""
    return from_status(
        f"{method} {path.partition('?')[0]}", reply.status, body, float(delay) if delay.isdigit() else 0.0
    )


def _cause(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())

"""A very small HTTP/1.1 server on loopback: one thread a connection (`models.http`)."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable
from typing import Final

from devops_bench.models.http import BadRequestError, Connection, Request, Room

# Bytes of all bodies that are in memory at a time.
ROOM: Final = 192 << 20
# Seconds: a dropped connection wakes its thread at once; one that computes is not waited for.
_JOIN: Final = 2.0


class Listener:
    """Accepts connections on 127.0.0.1 and calls `handle(connection, request)` for each request, until closed.

    `admit` sees each request before its body is read; what it turns down reaches `handle` without one. At most `most`
    connections at a time; the next one waits. Their bodies share `ROOM` bytes.
    """

    def __init__(
        self,
        handle: Callable[[Connection, Request], None],
        port: int = 0,
        *,
        name: str = "scripted",
        admit: Callable[[Request], bool] = lambda _: True,
        most: int = 256,
    ) -> None:
        self._handle = handle
        self._admit = admit
        self._name = name
        self._lock = threading.Lock()
        self._open: dict[Connection, threading.Thread] = {}
        self._places = threading.BoundedSemaphore(most)
        self._room = Room(ROOM)
        self.closing = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self._socket.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, name=f"{name}-model", daemon=True)
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
            if not self._places.acquire(timeout=_JOIN / 10):
                continue
            try:
                sock, _ = self._socket.accept()
            except OSError:
                self._places.release()
                if self.closing.is_set():
                    return
                # Out of descriptors, or a client that went away: neither must end the server.
                self.closing.wait(0.05)
                continue
            connection = Connection(sock, self._room)
            thread = threading.Thread(target=self._serve, args=(connection,), name=f"{self._name}-client", daemon=True)
            with self._lock:
                self._open[connection] = thread
            thread.start()

    def _serve(self, connection: Connection) -> None:
        try:
            while connection.keep and not self.closing.is_set():
                request = connection.read(self._admit)
                if request is None:
                    break
                self._handle(connection, request)
                connection.forget()
                if connection.unread:
                    connection.discard()
        except BadRequestError as error:
            with contextlib.suppress(OSError):
                connection.send(400, json.dumps({"error": {"message": str(error)}}).encode())
        except OSError:
            pass  # the client went away: nobody is left to be told
        finally:
            with self._lock:
                self._open.pop(connection, None)
            connection.forget()
            connection.drop()
            connection.close()
            self._places.release()

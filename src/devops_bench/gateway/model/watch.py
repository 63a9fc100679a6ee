"""Waiting for a provider without losing sight of the client: nobody should think for a client that hung up."""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Callable

from devops_bench.models.http import Connection

# Seconds: longer than it takes to read a request, shorter than any model thinks.
_MOMENT = 0.002
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL


class ClientGone(Exception):
    """The client has hung up, or the gateway is closing."""


class Watch:
    """One request's client, and how long its provider may be silent (seconds).

    `on_sent` is called once, when the request is on its way: from then on there is time.
    """

    def __init__(
        self,
        connection: Connection | None,
        idle: float,
        connect: float = 5.0,
        on_sent: Callable[[], None] = lambda: None,
    ) -> None:
        self.idle = idle
        self.connect = connect
        self._on_sent: Callable[[], None] | None = on_sent
        self._client = connection.socket if connection is not None else None

    def copy(self) -> Watch:
        """Another watch over the same client."""
        other = Watch(None, self.idle, self.connect)
        other._client = self._client
        return other

    def sent(self, sock: socket.socket | None = None) -> None:
        """The request is on its way, over `sock`.

        The other side gets a moment of the processor first: a provider on this machine is woken up where this thread
        runs, and would wait for `on_sent` to end before it reads a byte.
        """
        on_sent, self._on_sent = self._on_sent, None
        if on_sent is None:
            return
        try:
            if sock is not None:
                self.ready(sock, select.POLLIN, _MOMENT)
        finally:
            on_sent()

    def ready(self, sock: socket.socket, event: int, limit: float | None = None) -> bool:
        """Wait until `sock` is ready for `event`; False after `limit` (by default `idle`) seconds.

        Raises ClientGone.
        """
        return self._poll(sock, event, self.idle if limit is None else limit)

    def sleep(self, seconds: float) -> None:
        """Wait. Raises ClientGone."""
        self._poll(None, 0, seconds)

    def _poll(self, sock: socket.socket | None, event: int, limit: float) -> bool:
        deadline = time.monotonic() + limit
        poll = select.poll()
        if sock is not None:
            poll.register(sock, event)
        if self._client is not None:
            poll.register(self._client, select.POLLIN)
        while (left := deadline - time.monotonic()) > 0:
            for fd, happened in poll.poll(left * 1000 + 1):
                if sock is not None and fd == sock.fileno():
                    return True
                self._look(happened)
                # It sends its next request before it has this reply: that is no reason to wake up again.
                poll.unregister(fd)
                self._client = None
        return False

    def _look(self, happened: int) -> None:
        assert self._client is not None
        try:
            gone = happened & _GONE or not self._client.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            gone = False
        except OSError:
            gone = True
        if gone:
            raise ClientGone

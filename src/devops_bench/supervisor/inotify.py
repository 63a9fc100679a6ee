"""A minimal inotify: wake up when a file of a run grows or a name appears, without polling and without threads."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

IN_MODIFY = 0x00000002
IN_MOVED_TO = 0x00000080
IN_CREATE = 0x00000100
_HEADER = struct.Struct("iIII")
_LIBC = ctypes.CDLL(None, use_errno=True)


class Inotify:
    """An inotify descriptor. `fileno()` is readable when something happened; `read()` says what."""

    def __init__(self) -> None:
        self._fd = _LIBC.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._fd < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"inotify_init1: {os.strerror(code)} (see fs.inotify.max_user_instances)")

    def fileno(self) -> int:
        """The descriptor, for select or an event loop."""
        return int(self._fd)

    def watch(self, path: Path, mask: int = IN_MODIFY | IN_CREATE | IN_MOVED_TO) -> int:
        """Watch a file or directory; returns the watch number. OSError when it is missing or limits are reached."""
        number = _LIBC.inotify_add_watch(self._fd, os.fsencode(path), mask)
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"inotify_add_watch {path}: {os.strerror(code)}")
        return int(number)

    def unwatch(self, number: int) -> None:
        """Forget a watch; harmless when it is already gone."""
        _LIBC.inotify_rm_watch(self._fd, number)

    def read(self) -> Iterator[tuple[int, str]]:
        """(watch number, name below a watched directory or "") of everything that has happened."""
        try:
            raw = os.read(self._fd, 65536)
        except BlockingIOError:
            return
        at = 0
        while at < len(raw):
            number, _mask, _cookie, length = _HEADER.unpack_from(raw, at)
            at += _HEADER.size
            name = raw[at : at + length].rstrip(b"\0")
            at += length
            yield number, os.fsdecode(name)

    def close(self) -> None:
        """Close the descriptor; idempotent."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class Watches:
    """Many folders on one inotify instance inside an event loop.

    One instance, because closing one waits for the kernel (about 15 ms), while forgetting a watch does not, and because
    a user has only 128 of them on many hosts. Events are taken `settle` seconds after the first one, so that a busy run
    wakes the loop a few times a second and not at every write.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, settle: float = 0.05) -> None:
        self._loop = loop
        self._settle = settle
        self._timer: asyncio.TimerHandle | None = None
        self._inotify: Inotify | None = None
        self._callbacks: dict[int, Callable[[str], None]] = {}

    def add(self, path: Path, callback: Callable[[str], None]) -> int:
        """Call `callback(name)` when something below `path` changes; OSError when the host's limits are reached."""
        if self._inotify is None:
            self._inotify = Inotify()
            self._listen()
        number = self._inotify.watch(path, IN_MODIFY | IN_CREATE)
        self._callbacks[number] = callback
        return number

    def remove(self, number: int) -> None:
        """Forget a watch."""
        self._callbacks.pop(number, None)
        if self._inotify is not None:
            self._inotify.unwatch(number)

    def _listen(self) -> None:
        self._timer = None
        assert self._inotify is not None
        self._loop.add_reader(self._inotify.fileno(), self._readable)

    def _readable(self) -> None:
        assert self._inotify is not None
        self._loop.remove_reader(self._inotify.fileno())
        self._timer = self._loop.call_later(self._settle, self._take)

    def _take(self) -> None:
        assert self._inotify is not None
        for number, name in dict.fromkeys(self._inotify.read()):
            callback = self._callbacks.get(number)
            if callback is not None:
                callback(name)
        self._listen()

    def close(self) -> None:
        """Forget all watches."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._inotify is not None:
            self._loop.remove_reader(self._inotify.fileno())
            self._inotify.close()
            self._inotify = None

"""HTTP/1.1 as a provider hears and speaks it: a request's bytes, the head of its reply, and how the body is framed.

RFC 9112, as much as an API needs: no upgrades, no trailers that mean anything. `http.client` does the same by way of
the `email` package, which is half of what a request costs here, and it loses what comes after a reply without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Protocol

from devops_bench.gateway.model.upstream import UpstreamError

Fields = tuple[tuple[str, str], ...]

_MAX_HEAD: Final = 256 << 10
_MAX_LINE: Final = 64 << 10
_READ: Final = 64 << 10
_SWITCHING: Final = 101
_INFORMATIONAL: Final = range(100, 200)
_WITHOUT_BODY: Final = frozenset({204, 304})
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_STATUS_LINE = re.compile(r"HTTP/1\.(?P<minor>[0-9]) +(?P<status>[1-9][0-9][0-9])(?: .*)?\s*")
# What would end a line or a word of the request early: what follows would be another header, or another request.
_TARGET_ENDS = re.compile(r"[^\x21-\x7e]")
_VALUE_ENDS = re.compile(r"[\r\n\0]")
_NAME = re.compile(r"[^:\s][^:\r\n\0]*")


class ClosedError(ConnectionError):
    """The provider closed the connection before it said anything."""


def request(method: str, target: str, fields: list[tuple[str, str]], size: int) -> bytes:
    """The head of a request whose body has `size` bytes. Raises ValueError for what cannot stand in one."""
    if _TARGET_ENDS.search(target):
        raise ValueError("the URL holds a character that no URL has")
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in fields:
        if _NAME.fullmatch(name) is None or _VALUE_ENDS.search(value):
            raise ValueError("a header is malformed")
        lines.append(f"{name}: {value}")
    if size or method == "POST":
        lines.append(f"Content-Length: {size}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


class Receiving(Protocol):
    """A connected socket."""

    def recv(self, size: int) -> bytes:
        """Some bytes, none at the end. Raises OSError, UpstreamError, ClientGone."""
        ...


class Source:
    """What has come in, as far as it was not taken: `_held[_at:]`."""

    def __init__(self, sock: Receiving) -> None:
        self._sock = sock
        self._held = b""
        self._at = 0

    @property
    def empty(self) -> bool:
        """Whether all that came in was taken."""
        return self._at == len(self._held)

    def some(self, most: int) -> bytes:
        """At least one byte, none at the end of the connection."""
        if self.empty:
            self._held, self._at = self._sock.recv(_READ), 0
        found = self._held[self._at : self._at + most]
        self._at += len(found)
        return found

    def head(self) -> bytes:
        """Lines up to an empty one. Raises ClosedError, UpstreamError (`garbage`)."""
        seen = self._at
        while (end := _END_OF_HEAD.search(self._held, seen)) is None:
            # All but the last three bytes can hold no end any more.
            seen = max(0, len(self._held) - self._at - 3)
            if not self._more():
                if self.empty:
                    raise ClosedError("the connection was closed without an answer")
                raise _not_http("a head without an end")
            if len(self._held) > _MAX_HEAD:
                raise _not_http("a head without an end")
        return self._take(end.start(), end.end())

    def line(self) -> bytes:
        """One line without its end. Raises UpstreamError (`cut`, `garbage`)."""
        while (end := self._held.find(b"\n", self._at)) < 0:
            if not self._more():
                raise UpstreamError("cut", "the reply ends in the middle")
            if len(self._held) > _MAX_LINE + _READ:
                raise UpstreamError("garbage", "a line of the reply has no end")
        return self._take(end, end + 1).removesuffix(b"\r")

    def _more(self) -> bool:
        more = self._sock.recv(_READ)
        self._held, self._at = self._held[self._at :] + more, 0
        return bool(more)

    def _take(self, end: int, then: int) -> bytes:
        found, self._at = self._held[self._at : end], then
        return found


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a reply. `length` is its body's in bytes; None when that is told by chunks, or by the end of the
    connection. `last`: nothing can be asked over this connection any more.
    """

    status: int
    fields: Fields
    length: int | None
    chunked: bool
    last: bool


def head(source: Source, method: str) -> Head:
    """The next reply's. Raises ClosedError, UpstreamError (`garbage`)."""
    while True:
        lines = source.head().decode("latin-1").replace("\r\n", "\n").split("\n")
        said = _STATUS_LINE.fullmatch(lines[0])
        if said is None:
            raise _not_http("no status")
        status = int(said["status"])
        if status == _SWITCHING:
            raise _not_http("another protocol")
        if status not in _INFORMATIONAL:
            return _framed(status, _fields(lines[1:]), method, old=said["minor"] == "0")


def _fields(lines: list[str]) -> Fields:
    fields: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if line[:1] in {" ", "\t"} and fields:
            before, text = fields[-1]
            fields[-1] = (before, f"{text} {line.strip()}")
        elif not colon or not name.strip():
            raise _not_http("a header without a name")
        else:
            fields.append((name.strip(), value.strip()))
    return tuple(fields)


def _framed(status: int, fields: Fields, method: str, *, old: bool) -> Head:
    told: dict[str, list[str]] = {"connection": [], "content-length": [], "transfer-encoding": []}
    for name, value in fields:
        if (words := told.get(name.lower())) is not None:
            words += [word.strip().lower() for word in value.split(",")]
    last = "close" in told["connection"] or (old and "keep-alive" not in told["connection"])
    if status in _WITHOUT_BODY or method == "HEAD":
        return Head(status, fields, 0, False, last)
    if told["transfer-encoding"]:
        if told["transfer-encoding"] != ["chunked"]:
            raise _not_http("a transfer encoding that nobody asked for")
        # A length beside it is a trap for one of two readers: nothing more is asked over this connection.
        return Head(status, fields, None, True, last or bool(told["content-length"]))
    sizes = set(told["content-length"])
    if not sizes:
        return Head(status, fields, None, False, True)
    size = sizes.pop()
    if sizes or not (size.isascii() and size.isdigit()) or len(size) > 15:
        raise _not_http("a length that is none")
    return Head(status, fields, int(size), False, last)


def body(source: Source, head: Head) -> Iterator[bytes]:
    """The body as it comes. Raises UpstreamError (`cut`, `garbage`), and what `recv` raises."""
    if head.chunked:
        yield from _chunks(source)
    elif head.length is not None:
        yield from _exactly(source, head.length)
    else:
        while portion := source.some(_READ):
            yield portion


def _exactly(source: Source, left: int) -> Iterator[bytes]:
    while left > 0:
        portion = source.some(left)
        if not portion:
            raise UpstreamError("cut", f"the reply is {left} bytes shorter than it says")
        left -= len(portion)
        yield portion


def _chunks(source: Source) -> Iterator[bytes]:
    while size := _size(source.line()):
        yield from _exactly(source, size)
        if source.line():
            raise UpstreamError("garbage", "a portion of the reply is longer than it says")
    taken = 0
    while trailer := source.line():
        taken += len(trailer)
        if taken > _MAX_LINE:
            raise UpstreamError("garbage", "the reply has no end")


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 12 or digits.strip(b"0123456789abcdefABCDEF"):
        raise UpstreamError("garbage", "the reply's portions have no length")
    return int(digits, 16)


def _not_http(why: str) -> UpstreamError:
    return UpstreamError("garbage", f"the provider does not speak HTTP ({why})")

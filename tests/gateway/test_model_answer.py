"""HTTP towards a provider: heads and bodies however they are cut, and what is no HTTP."""

from __future__ import annotations

import http.client
import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.gateway.model import answer
from devops_bench.gateway.model.answer import ClosedError, Source
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.models.http import Connection, Request

from .provider import Provider, ask, forwarding, resolved


class Cut:
    """A socket that gives its bytes in pieces of these sizes, the rest at once."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes = data, iter(sizes)

    def recv(self, size: int) -> bytes:
        size = min(size, next(self._sizes, size))
        found, self._data = self._data[:size], self._data[size:]
        return found


def read(data: bytes, sizes: list[int] | None = None, method: str = "POST") -> tuple[answer.Head, bytes]:
    source = Source(Cut(data, sizes or []))
    head = answer.head(source, method)
    return head, b"".join(answer.body(source, head))


PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: 1\r\n\r\n"
    b"3\r\nhel\r\n00002;name=value\r\nlo\r\n0\r\nTrailer: x\r\n\r\n"
)
UNTIL_THE_END = b"HTTP/1.0 502 Bad\r\nX-A: 1\r\n\r\nhello"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n" + PLAIN
BARE = PLAIN.replace(b"\r\n", b"\n")
FOLDED = b"HTTP/1.1 200\r\nX-A: one\r\n\ttwo\r\nX-A: t\xe9\x85hree\r\nContent-Length: 5, 5\r\n\r\nhello"


@given(
    st.sampled_from([PLAIN, CHUNKED, UNTIL_THE_END, INTERIM, BARE, FOLDED]), st.lists(st.integers(1, 40), max_size=80)
)
def test_a_reply_is_the_same_however_it_is_cut(data: bytes, sizes: list[int]) -> None:
    assert read(data, sizes) == read(data)
    assert read(data)[1] == b"hello"


@pytest.mark.parametrize("data", [PLAIN, CHUNKED, UNTIL_THE_END, BARE])
def test_the_standard_library_reads_the_same(data: bytes) -> None:
    class Sock:
        def makefile(self, _mode: str) -> io.BytesIO:
            return io.BytesIO(data)

    theirs = http.client.HTTPResponse(Sock(), method="POST")  # type: ignore[arg-type]
    theirs.begin()
    head, body = read(data)
    assert (head.status, list(head.fields)) == (theirs.status, theirs.getheaders())
    assert (head.length, head.last, body) == (theirs.length, theirs.will_close, theirs.read())


def test_headers_keep_their_order_and_bytes() -> None:
    head, _ = read(FOLDED)
    assert head.fields == (("X-A", "one two"), ("X-A", "té\x85hree"), ("Content-Length", "5, 5"))


@pytest.mark.parametrize(
    ("head", "method", "length", "last"),
    [
        (b"HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n", "POST", 0, False),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: x, Close\r\n\r\n", "HEAD", 0, True),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", "GET", 0, True),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", "GET", 0, False),
        (b"HTTP/1.1 200 OK\r\n\r\n", "GET", None, True),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n", "GET", None, False),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", "GET", None, True),
    ],
)
def test_where_a_reply_ends_and_whether_more_can_be_asked(head: bytes, method: str, length: int, last: bool) -> None:
    found, body = read(head, method=method)
    assert (found.length, found.last, body) == (length, last, b"")


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (b"SSH-2.0-OpenSSH\r\n\r\n", "garbage"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "garbage"),
        (b"HTTP/2 200\r\n\r\n", "garbage"),
        (b"HTTP/1.1 101 Switching Protocols\r\n\r\n", "garbage"),
        (OK + b"Content-Length: 5", "garbage"),
        (OK + b"nothing\r\n\r\n", "garbage"),
        (OK + b"X: " + b"y" * (300 << 10) + b"\r\n\r\n", "garbage"),
        (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", "garbage"),
        (OK + b"Content-Length: -5\r\n\r\nhello", "garbage"),
        (OK + b"Content-Length: \xb25\r\n\r\nhello", "garbage"),
        (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", "garbage"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", "garbage"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n", "garbage"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * (200 << 10), "garbage"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"x: y\r\n" * (20 << 10), "garbage"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "cut"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "cut"),
        (OK + b"Content-Length: 5\r\n\r\nhell", "cut"),
    ],
)
def test_what_is_no_reply_is_told_as_such(data: bytes, word: str) -> None:
    with pytest.raises(UpstreamError) as told:
        read(data)
    assert told.value.word == word


def test_a_connection_that_closes_without_a_word_may_be_replaced() -> None:
    with pytest.raises(ClosedError):
        read(b"")


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ("/a b", ("X", "y")),
        ("/a\r\nX: y", ("X", "y")),
        ("/ä", ("X", "y")),
        ("/", ("X", "y\r\nX-Goog-Api-Key: z")),
        ("/", ("X", "y\rz")),
        ("/", ("X\nY", "z")),
        ("/", ("X:", "z")),
        ("/", ("", "z")),
        ("/", ("X", "☃")),
    ],
)
def test_a_request_cannot_smuggle_another(target: str, field: tuple[str, str]) -> None:
    assert answer.request("POST", "/", [("X", "y")], 3) == b"POST / HTTP/1.1\r\nX: y\r\nContent-Length: 3\r\n\r\n"
    with pytest.raises(ValueError, match=r"URL|header|codec"):
        answer.request("POST", target, [field], 3)


def test_what_a_provider_says_unasked_is_nobodys_reply() -> None:
    """Two replies to one request: the second must not become the answer to what is asked next."""
    texts: Iterator[str] = iter(("first", "second"))

    def handle(connection: Connection, _request: Request) -> None:
        message = {"choices": [{"finish_reason": "stop", "message": {"content": next(texts)}}]}
        more = b'{"choices":[{"finish_reason":"stop","message":{"content":"unasked"}}]}'
        body = json.dumps(message).encode()
        reply = b"".join(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(one), one) for one in (body, more))
        connection.socket.sendall(reply)

    with Provider(handle) as provider, forwarding(resolved(provider.url)) as one:
        assert [ask(one).json()["choices"][0]["message"]["content"] for _ in range(2)] == ["first", "second"]


def test_a_request_is_in_the_record_before_its_reply_passes(tmp_path: Path) -> None:
    path = tmp_path / "model.jsonl"
    reply = b'{"choices":[{"finish_reason":"stop","message":{"content":"hi"}}]}'
    seen: list[list[str]] = []

    def recorded() -> list[str]:
        return [json.loads(line)["event"] for line in path.read_text().splitlines()]

    with Provider(lambda connection, _: connection.send(200, reply)) as provider:
        with forwarding(resolved(provider.url), record=path) as one:
            for _ in range(3):
                assert ask(one).content == reply
                seen.append(recorded())
        assert recorded() == ["request", "reply"] * 3
    assert [events.count("request") for events in seen] == [1, 2, 3]

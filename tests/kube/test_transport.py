"""Deadlines, broken servers and kept connections, over real sockets."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.kube import Credentials, Deadline, KubeClient, KubeError, KubeUnavailable
from devops_bench.kube.session import StreamHandle
from devops_bench.kube.transport import Origin

from .server import Behaviour, Misbehaving, certificate, read_request, reply

GENEROUS = 20.0  # seconds; every call below has a deadline of a fraction of this


_OPEN: list[KubeClient] = []


@pytest.fixture(autouse=True)
def _close_clients() -> Iterator[None]:
    yield
    while _OPEN:
        _OPEN.pop().close()


def client(url: str, timeout: float = 5.0, credentials: Credentials | None = None) -> KubeClient:
    """A client that the fixture closes."""
    _OPEN.append(KubeClient(Origin(url, credentials.tls() if credentials else None), timeout=timeout))
    return _OPEN[-1]


def never_answers(connection: socket.socket) -> None:
    read_request(connection)
    connection.recv(1)


def trickles_headers(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        connection.sendall(b"X: y\r\n")
        time.sleep(0.05)  # the point of this server is to be slow


def trickles_body(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    while True:
        connection.sendall(b" ")
        time.sleep(0.05)  # the point of this server is to be slow


def cuts_off(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")


def speaks_nonsense(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(b"\x00\x01\x02nonsense\r\n\r\n")


@pytest.mark.parametrize("behave", [never_answers, trickles_headers, trickles_body, cuts_off, speaks_nonsense])
def test_a_server_that_misbehaves_is_unavailable_within_the_deadline(behave: Behaviour) -> None:
    with Misbehaving(behave) as server:
        started = time.monotonic()
        with pytest.raises(KubeUnavailable) as caught:
            client(server.url).raw("/x", deadline=Deadline.after(0.5))
        assert time.monotonic() - started < GENEROUS
        assert "GET /x" in str(caught.value)


def test_a_server_that_accepts_but_never_shakes_hands_is_unavailable(tmp_path: Path) -> None:
    """What a stopped API server looks like: the kernel still accepts."""
    _, pem, _ = certificate(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        credentials = Credentials(f"https://127.0.0.1:{listener.getsockname()[1]}", ca_pem=pem)
        kube = client(credentials.server, credentials=credentials)
        with pytest.raises(KubeUnavailable):
            kube.raw("/x", deadline=Deadline.after(0.3))


def test_nobody_listening_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(KubeUnavailable):
        client(f"http://127.0.0.1:{port}").raw("/x")


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"<html>", b"[" * 100_000])
def test_an_answer_that_is_no_object_is_unavailable_and_never_empty(body: bytes) -> None:
    def behave(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(reply(body))

    with Misbehaving(behave) as server, pytest.raises(KubeUnavailable):
        client(server.url).kinds()


@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 Oops", "503 Down", "504 Late", "302 Found"])
def test_an_http_error_without_a_status_object_keeps_its_code(status: str) -> None:
    def behave(connection: socket.socket) -> None:
        read_request(connection)
        connection.sendall(reply(b"busy", status, "Retry-After: 7\r\n"))

    with Misbehaving(behave) as server, pytest.raises(KubeError) as caught:
        client(server.url).raw("/x")
    assert caught.value.status == int(status[:3])
    assert caught.value.delay == 7
    assert isinstance(caught.value, KubeUnavailable) is (status[0] in "45")


def test_connections_are_kept_and_a_dead_one_is_replaced_for_reads() -> None:
    close_after_first = threading.Event()

    def behave(connection: socket.socket) -> None:
        while read_request(connection):
            connection.sendall(reply(b"{}"))
            if close_after_first.is_set():
                return

    with Misbehaving(behave) as server:
        kube = client(server.url)
        for _ in range(5):
            assert kube.raw("/x") == b"{}"
        assert server.connections == 1
        close_after_first.set()
        for _ in range(5):
            assert kube.raw("/x") == b"{}"


def test_threads_never_share_a_connection() -> None:
    together = threading.Barrier(4)

    def behave(connection: socket.socket) -> None:
        while request := read_request(connection):
            together.wait(GENEROUS)
            path = request.split()[1].decode()
            connection.sendall(reply(json.dumps({"path": path}).encode()))

    with Misbehaving(behave) as server:
        kube = client(server.url, timeout=GENEROUS)
        answers: dict[str, bytes] = {}

        def ask(path: str) -> None:
            answers[path] = kube.raw(path)

        for _ in range(2):
            threads = [threading.Thread(target=ask, args=(f"/{n}",)) for n in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(GENEROUS)
        assert {path: json.loads(body)["path"] for path, body in answers.items()} == {
            f"/{n}": f"/{n}" for n in range(4)
        }
        assert server.connections == 4


def test_a_client_certificate_is_presented_and_no_file_of_it_remains(tmp_path: Path) -> None:
    context, pem, key = certificate(tmp_path)
    context.load_verify_locations(cadata=pem)
    context.verify_mode = ssl.CERT_REQUIRED
    seen: list[object] = []

    def behave(connection: socket.socket) -> None:
        seen.append(connection.getpeercert())  # type: ignore[attr-defined]
        read_request(connection)
        connection.sendall(reply(b"{}"))

    before = {path.name for path in Path("/tmp").iterdir()}
    with Misbehaving(behave, context) as server:
        credentials = Credentials(server.url, ca_pem=pem, cert_pem=pem, key_pem=key)
        assert client(server.url, credentials=credentials).raw("/x") == b"{}"
    assert seen and seen[0]
    assert not [n for n in {p.name for p in Path("/tmp").iterdir()} - before if n.endswith(".pem")]


def test_a_server_with_another_certificate_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    context, _, _ = certificate(tmp_path / "a")
    _, other, _ = certificate(tmp_path / "b")
    with Misbehaving(lambda connection: connection.sendall(reply(b"{}")), context) as server:
        kube = client(server.url, credentials=Credentials(server.url, ca_pem=other))
        with pytest.raises(KubeUnavailable, match="certificate"):
            kube.raw("/x")


def discovery_then(stream: bytes) -> Behaviour:
    listing = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            {
                "metadata": {"name": ""},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [{"resource": "pods", "responseKind": {"kind": "Pod"}, "scope": "Namespaced"}],
                    }
                ],
            }
        ],
    }

    def behave(connection: socket.socket) -> None:
        while request := read_request(connection):
            if b"watch=1" in request:
                connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                if stream:
                    connection.sendall(f"{len(stream):x}\r\n".encode() + stream + b"\r\n")
                connection.recv(1)
                return
            connection.sendall(reply(json.dumps(listing).encode()))

    return behave


def test_a_watch_ends_quietly_at_its_deadline_or_when_it_is_closed() -> None:
    event = json.dumps({"type": "ADDED", "object": {"metadata": {"name": "a"}}}).encode() + b"\n"
    with Misbehaving(discovery_then(event)) as server:
        kube = client(server.url)
        assert [kind for kind, _ in kube.watch("pods", deadline=Deadline.after(0.5))] == ["ADDED"]
        handle = StreamHandle()
        watch = kube.watch("pods", deadline=Deadline.after(GENEROUS * 10), opened=handle)
        assert next(watch)[0] == "ADDED"
        closer = threading.Timer(0.1, handle.close)
        closer.start()
        assert list(watch) == []
        closer.join()


@pytest.mark.parametrize(
    "line", [b"not json\n", b'{"type": "ADDED"}\n', b'{"type": "ERROR", "object": {"code": 500}}\n']
)
def test_a_watch_that_speaks_nonsense_is_unavailable(line: bytes) -> None:
    with Misbehaving(discovery_then(line)) as server, pytest.raises(KubeUnavailable):
        list(client(server.url).watch("pods", deadline=Deadline.after(5)))

"""Inside, only the named addresses exist; what goes through them arrives whole."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devops_bench.sandbox import Endpoint, Network, Sandbox, SandboxMode
from devops_bench.sandbox.network import MOST_CONNECTIONS

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]


class Echo:
    """A TCP server on loopback: counts connections, answers with the SHA-256 of what it got, or sends `reply`.

    It has got everything at the end of the stream, or after `expect` bytes.
    """

    def __init__(self, reply: bytes | None = None, expect: int | None = None) -> None:
        self._expect = expect
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.connections = 0
        self._reply = reply
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            connection, _address = self.socket.accept()
            with connection:
                digest, first, got = hashlib.sha256(), b"", 0
                while data := connection.recv(1 << 16):
                    digest.update(data)
                    first, got = first or data, got + len(data)
                    if self._reply is not None or got == self._expect:
                        break
                if first == b"stop":
                    return
                self.connections += 1
                connection.sendall(self._reply if self._reply is not None else digest.hexdigest().encode())

    def close(self) -> None:
        with socket.create_connection(("127.0.0.1", self.port)) as last:
            last.sendall(b"stop")
            last.shutdown(socket.SHUT_WR)
            self._thread.join(30)
        self.socket.close()


@pytest.fixture
def echo() -> Iterator[Echo]:
    server = Echo()
    yield server
    server.close()


def connects(box: Sandbox, address: str, port: int) -> bool:
    text = 'exec 3<>"/dev/tcp/$1/$2"'
    return box.run(["timeout", "5", "/bin/bash", "-c", text, "dial", address, str(port)], timeout=30).exit == 0


def test_a_named_address_is_reached_and_the_rest_is_not(mode: SandboxMode, make_box: MakeBox, echo: Echo) -> None:
    other = Echo()
    try:
        box = make_box(mode, reach=(Endpoint("127.0.0.1", echo.port),))
        assert connects(box, "127.0.0.1", echo.port)
        assert not connects(box, "127.0.0.1", other.port)
        assert not connects(box, "169.254.169.254", 80)
        assert not connects(box, "1.1.1.1", 443)
        assert box.info()["network"] == "closed"
        assert other.connections == 0
    finally:
        other.close()


def test_without_named_addresses_there_is_no_way_out(box: Sandbox, echo: Echo) -> None:
    assert not connects(box, "127.0.0.1", echo.port)


def test_the_api_server_of_the_kubeconfig_is_reached(
    mode: SandboxMode, make_box: MakeBox, echo: Echo, tmp_path_factory: pytest.TempPathFactory
) -> None:
    config = tmp_path_factory.mktemp("kube") / "config"
    config.write_text(
        f'{{"current-context": "a", "contexts": [{{"name": "a", "context": {{"cluster": "c"}}}}],'
        f' "clusters": [{{"name": "c", "cluster": {{"server": "https://127.0.0.1:{echo.port}"}}}}]}}'
    )
    assert connects(make_box(mode, kubeconfig=config), "127.0.0.1", echo.port)


def test_names_and_outside_addresses_can_be_named_too(mode: SandboxMode, make_box: MakeBox) -> None:
    # Nothing answers there, but the address exists inside: the connection is accepted and then closed.
    box = make_box(mode, reach=(Endpoint("api.cluster.invalid", 443), Endpoint("10.77.0.1", 6443)))
    assert box.run(["getent", "hosts", "api.cluster.invalid"], timeout=30).text().split()[0] == "127.0.0.1"
    assert connects(box, "api.cluster.invalid", 443)
    assert connects(box, "10.77.0.1", 6443)
    assert not connects(box, "10.77.0.2", 6443)


def test_megabytes_arrive_whole_both_ways(mode: SandboxMode, make_box: MakeBox) -> None:
    payload = bytes(range(256)) * 20_000
    up, down = Echo(expect=len(payload)), Echo(reply=payload)
    try:
        box = make_box(mode, reach=(Endpoint("127.0.0.1", up.port), Endpoint("127.0.0.1", down.port)))
        text = (
            'exec 3<>"/dev/tcp/127.0.0.1/$1"; cat >&3; cat <&3; echo;'
            'exec 4<>"/dev/tcp/127.0.0.1/$2"; echo go >&4; cat <&4 | sha256sum'
        )
        command = ["/bin/bash", "-c", text, "both", str(up.port), str(down.port)]
        done = box.run(command, stdin=payload, timeout=30)
        assert done.text().split() == [hashlib.sha256(payload).hexdigest()] * 2 + ["-"]
    finally:
        up.close()
        down.close()


def test_an_agent_cannot_use_up_our_descriptors(mode: SandboxMode, make_box: MakeBox) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as quiet:
        port = quiet.getsockname()[1]
        box = make_box(mode, reach=(Endpoint("127.0.0.1", port),))
        text = (
            'for n in {1..700}; do eval "exec $((n + 20))<>/dev/tcp/127.0.0.1/$1" || break; done; echo open; read -r x'
        )
        with box.start(["/bin/bash", "-c", text, "flood", str(port)]) as started:
            assert started.tree.process.stdout is not None
            while started.tree.process.stdout.readline() != b"open\n":
                pass
            held = len(list(Path("/proc/self/fd").iterdir()))
            assert held < 2 * MOST_CONNECTIONS + 100


def test_a_shared_network_is_recorded(mode: SandboxMode, make_box: MakeBox, echo: Echo) -> None:
    box = make_box(mode, network=Network.SHARED)
    assert connects(box, "127.0.0.1", echo.port)
    assert box.info()["network"] == "shared"


def test_a_closed_network_that_fails_degrades_and_says_so(
    mode: SandboxMode, make_box: MakeBox, echo: Echo, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devops_bench.sandbox import box as module
    from devops_bench.sandbox.network import NetworkUnavailable

    def refuse(*_args: object) -> None:
        raise NetworkUnavailable("setns: Operation not permitted")

    monkeypatch.setattr(module, "listen_inside", refuse)
    box = make_box(mode, reach=(Endpoint("127.0.0.1", echo.port),))
    assert connects(box, "127.0.0.1", echo.port)
    assert box.info()["network"] == "shared"
    assert "closed network failed: setns" in box.info()["notes"][0]


def test_endpoints_are_read_from_urls() -> None:
    assert Endpoint.of("https://127.0.0.1:6443") == Endpoint("127.0.0.1", 6443)
    assert Endpoint.of("https://api.example.test/v1") == Endpoint("api.example.test", 443)
    assert Endpoint.of("http://[::1]:8080") == Endpoint("::1", 8080)
    with pytest.raises(ValueError, match="no host"):
        Endpoint.of("not a url")

"""Connections to a provider over TLS and through proxies; nothing here leaves loopback."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from devops_bench.errors import ConfigError
from devops_bench.gateway.model import Forward, Patience
from devops_bench.gateway.model.proxies import proxy_for
from devops_bench.models.http import Connection, Request

from .provider import KEY, Provider, ask, forwarding, resolved, wait_for
from .test_model_forward import REPLY, replying


class Tls:
    """A TLS front on loopback for a plain server behind it; a certificate of its own for `localhost`."""

    def __init__(self, folder: Path, behind: int) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        now = datetime.datetime.now(datetime.UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(key, hashes.SHA256())
        )
        self.certificate = folder / "cert.pem"
        self.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        keyfile = folder / "key.pem"
        keyfile.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._context.load_cert_chain(self.certificate, keyfile)
        self._behind = behind
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, plain: socket.socket) -> None:
        with contextlib.suppress(OSError), self._context.wrap_socket(plain, server_side=True) as front:
            pump(front, socket.create_connection(("127.0.0.1", self._behind)))


def pump(left: socket.socket, right: socket.socket) -> None:
    """Bytes both ways until one side ends."""

    def one_way(source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for sock in (source, target):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    back = threading.Thread(target=one_way, args=(right, left), daemon=True)
    back.start()
    one_way(left, right)
    back.join(30)
    left.close()
    right.close()


@pytest.fixture
def tls(tmp_path: Path) -> Iterator[tuple[Provider, Tls]]:
    with Provider(replying()) as provider:
        front = Tls(tmp_path, provider.port)
        yield provider, front
        front.close()


def test_tls_is_verified(tls: tuple[Provider, Tls], monkeypatch: pytest.MonkeyPatch) -> None:
    provider, front = tls
    target = resolved(f"https://localhost:{front.port}")
    with forwarding(target) as one:
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == "connection" and "certificate" in one.end.error.lower()
    assert not provider.requests
    monkeypatch.setenv("SSL_CERT_FILE", str(front.certificate))
    with forwarding(target) as one:
        assert [ask(one).content for _ in range(3)] == [REPLY] * 3
    with forwarding(resolved(f"https://localhost.localdomain:{front.port}")) as one:
        assert ask(one).status_code == 400
    assert len(provider.requests) == 3


def test_a_large_body_passes_over_tls(tls: tuple[Provider, Tls], monkeypatch: pytest.MonkeyPatch) -> None:
    provider, front = tls
    monkeypatch.setenv("SSL_CERT_FILE", str(front.certificate))
    body = b'{"model":"m-1","messages":[{"role":"user","content":"' + b"x" * (20 << 20) + b'"}]}'
    with forwarding(resolved(f"https://localhost:{front.port}")) as one:
        assert ask(one, "", content=body).content == REPLY
    assert provider.requests[0].body == body


class ProxyServer:
    """An HTTP proxy that knows CONNECT; every name leads to one port."""

    def __init__(self, port: int, refuse: bool = False) -> None:
        self.heads: list[bytes] = []
        self._port, self._refuse = port, refuse
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += sock.recv(1)
        self.heads.append(head)
        if self._refuse:
            sock.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return sock.close()
        sock.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return pump(sock, socket.create_connection(("127.0.0.1", self._port)))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def test_https_goes_through_the_proxy_of_the_environment(tls: tuple[Provider, Tls], monkeypatch: Any) -> None:
    provider, front = tls
    monkeypatch.setenv("SSL_CERT_FILE", str(front.certificate))
    proxy = ProxyServer(front.port)
    # The name is the certificate's, but nothing of it is asked of this host.
    env = {"https_proxy": f"http://user:p%40ss@{proxy.address}"}
    monkeypatch.setattr("devops_bench.gateway.model.proxies._direct", lambda host, excepted: False)
    with forwarding(resolved(f"https://localhost:{front.port}"), env=env) as one:
        assert ask(one).content == REPLY
    proxy.close()
    (head,) = proxy.heads
    assert head.startswith(f"CONNECT localhost:{front.port} HTTP/1.1\r\n".encode())
    assert b"Proxy-Authorization: Basic dXNlcjpwQHNz\r\n" in head and KEY.encode() not in head
    assert "proxy-authorization" not in provider.requests[0].headers


def test_a_proxy_that_refuses_is_a_failed_connection() -> None:
    proxy = ProxyServer(1, refuse=True)
    env = {"HTTPS_PROXY": f"http://{proxy.address}"}
    with forwarding(resolved("https://api.example.invalid"), env=env) as one:
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == "connection" and "407" in one.end.error
    proxy.close()


def test_plain_http_through_a_proxy_names_the_whole_url() -> None:
    def handle(connection: Connection, request: Request) -> None:
        connection.send(200, REPLY)

    with Provider(handle) as proxy:
        env = {"HTTP_PROXY": proxy.url}
        with forwarding(resolved("http://models.example.invalid/v1"), env=env) as one:
            assert ask(one).content == REPLY
        assert proxy.requests[0].target == "http://models.example.invalid/v1/chat/completions"
        assert proxy.requests[0].headers["host"] == "models.example.invalid"


@pytest.mark.parametrize(
    ("env", "host", "proxy"),
    [
        ({}, "api.example", None),
        ({"HTTPS_PROXY": "http://p:3128"}, "api.example", ("p", 3128)),
        ({"HTTPS_PROXY": "p:3128"}, "api.example", ("p", 3128)),
        ({"ALL_PROXY": "http://p"}, "api.example", ("p", 80)),
        ({"HTTP_PROXY": "http://p"}, "api.example", None),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "other, .example"}, "api.example", None),
        ({"HTTPS_PROXY": "http://p", "NO_PROXY": "ample"}, "api.example", ("p", 80)),
        ({"HTTPS_PROXY": "http://p", "no_proxy": "*"}, "api.example", None),
        ({"HTTPS_PROXY": "http://p"}, "127.0.0.1", None),
        ({"HTTPS_PROXY": "http://p"}, "::1", None),
        ({"HTTPS_PROXY": "http://p"}, "localhost", None),
    ],
)
def test_which_proxy_is_meant(env: dict[str, str], host: str, proxy: tuple[str, int] | None) -> None:
    found = proxy_for("https", host, env)
    assert (None if found is None else (found.host, found.port)) == proxy


@pytest.mark.parametrize("told", ["socks5://p:1", "https://p", "http://", "http://p:x"])
def test_a_proxy_that_is_none_is_a_configuration_error_without_its_password(told: str) -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as refused:
        proxy_for("https", "api.example", {"HTTPS_PROXY": told.replace("://", "://u:secret@")})
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["", "api.example", "ftp://x", "https://user:secret@x", "https://x:y"])
def test_a_base_url_that_is_none_is_a_configuration_error(url: str) -> None:
    with pytest.raises(ConfigError, match="base URL of provider openai-compatible") as refused:
        Forward(resolved(url, "openai-compatible"), env={})
    assert "secret" not in str(refused.value)


def test_a_host_that_swallows_connections_is_noticed() -> None:
    """A full backlog: the kernel answers no more connection requests."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        port = full.getsockname()[1]
        held = []
        for _ in range(4):
            sock = socket.socket()
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
            held.append(sock)
        with forwarding(resolved(f"http://127.0.0.1:{port}"), patience=Patience(idle=30, connect=0.3)) as one:
            assert ask(one).status_code == 400
            wait_for(lambda: one.end)
            assert one.end is not None and one.end.kind == "connection" and "no answer" in one.end.error
        for sock in held:
            sock.close()

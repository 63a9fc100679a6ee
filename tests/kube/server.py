"""A tiny HTTP(S) server that misbehaves on demand: the border at which a broken API server is played."""

from __future__ import annotations

import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

Behaviour = Callable[[socket.socket], None]


class Misbehaving:
    """Accepts connections on a loopback port and hands each to `behave` in a thread."""

    def __init__(self, behave: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        self._behave, self._tls = behave, tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.connections = 0
        self.ended = threading.Event()
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                raw, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._one, args=(raw,), daemon=True).start()

    def _one(self, raw: socket.socket) -> None:
        try:
            with self._tls.wrap_socket(raw, server_side=True) if self._tls else raw as connection:
                self._behave(connection)
        except OSError:
            raw.close()

    def close(self) -> None:
        self.ended.set()
        self._listener.close()

    def __enter__(self) -> Misbehaving:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def read_request(connection: socket.socket) -> bytes:
    """The head (and what came with it) of the next request; empty at the end of the connection."""
    text = b""
    while b"\r\n\r\n" not in text:
        chunk = connection.recv(65536)
        if not chunk:
            return b""
        text += chunk
    return text


def reply(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    """An HTTP answer with its length."""
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )


def certificate(folder: Path, name: str = "127.0.0.1") -> tuple[ssl.SSLContext, str, str]:
    """A self-signed pair: the server's TLS context, the certificate's PEM and the key's PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(name))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    cert_pem = made.public_bytes(serialization.Encoding.PEM).decode()
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    (folder / "server.pem").write_text(cert_pem + key_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context, cert_pem, key_pem

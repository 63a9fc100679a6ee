"""Reads a kubeconfig into credentials, and credentials into a TLS context, without leaving key material in a file."""

from __future__ import annotations

import base64
import binascii
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from devops_bench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where an API server is and who we are there. PEM data is text; secrets never show in a repr.

    `needs_kubectl` names the plugin (exec or auth-provider) that only kubectl can run; then there is no identity here.
    """

    server: str
    ca_pem: str | None = None
    cert_pem: str | None = field(default=None, repr=False)
    key_pem: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    insecure: bool = False
    tls_server_name: str | None = None
    needs_kubectl: str | None = None

    @classmethod
    def load(cls, path: Path, context: str | None = None) -> Credentials:
        """Read `path` (YAML or JSON); `context` defaults to the file's current one.

        Raises ConfigError naming the file for anything missing or malformed. Relative file names inside are relative to
        the kubeconfig's folder.
        """
        data = _read(path)
        name = context or data.get("current-context")
        if not name:
            raise ConfigError("no context named and no current-context", where=path, fix="name a context")
        chosen = _named(data, "contexts", "context", name, path)
        cluster = _named(data, "clusters", "cluster", chosen.get("cluster"), path)
        user = _named(data, "users", "user", chosen.get("user"), path) if chosen.get("user") else {}
        server = str(cluster.get("server") or "")
        if urlsplit(server).scheme not in {"https", "http"} or not urlsplit(server).hostname:
            raise ConfigError(
                f"server {server!r} is not an http(s) address", where=path, fix="correct the cluster entry"
            )
        plugin = next((key for key in ("exec", "auth-provider") if user.get(key)), None)
        token = user.get("token")
        if not token and user.get("tokenFile"):
            token = _text(path, user["tokenFile"]).strip()
        return cls(
            server=server.rstrip("/"),
            ca_pem=_pem(path, cluster, "certificate-authority"),
            cert_pem=_pem(path, user, "client-certificate"),
            key_pem=_pem(path, user, "client-key"),
            token=str(token) if token else None,
            insecure=bool(cluster.get("insecure-skip-tls-verify")),
            tls_server_name=cluster.get("tls-server-name"),
            needs_kubectl=plugin,
        )

    def tls(self) -> ssl.SSLContext | None:
        """The TLS context for `server`, None for plain http."""
        if not self.server.startswith("https"):
            return None
        try:
            context = ssl.create_default_context(cadata=self.ca_pem)
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.cert_pem and self.key_pem:
                _load_pair(context, self.cert_pem + "\n" + self.key_pem)
        except (ssl.SSLError, ValueError) as error:
            raise ConfigError(
                f"certificates for {self.server} cannot be used: {error}", fix="make the kubeconfig anew"
            ) from None
        return context


def _load_pair(context: ssl.SSLContext, pem: str) -> None:
    """OpenSSL wants a file name: give it memory that has one (Linux), else a 0600 file removed at once."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("client-certificate", os.MFD_CLOEXEC)
        try:
            os.fchmod(fd, 0o600)
            os.write(fd, pem.encode())
            context.load_cert_chain(f"/proc/self/fd/{fd}")
        finally:
            os.close(fd)
        return
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as handle:
        handle.write(pem)
        handle.flush()
        context.load_cert_chain(handle.name)


def _read(path: Path) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        data = YAML(typ="safe").load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"kubeconfig cannot be read: {error}", where=path, fix="check the path") from None
    except YAMLError as error:
        raise ConfigError(
            f"kubeconfig is not YAML: {str(error).splitlines()[0]}", where=path, fix="restore it"
        ) from None
    if not isinstance(data, dict):
        raise ConfigError("kubeconfig is empty or not a mapping", where=path, fix="restore it")
    return data


def _named(data: dict[str, Any], section: str, key: str, name: Any, path: Path) -> dict[str, Any]:
    entries = data.get(section)
    for entry in entries if isinstance(entries, list) else []:
        if isinstance(entry, dict) and entry.get("name") == name and isinstance(entry.get(key), dict):
            found: dict[str, Any] = entry[key]
            return found
    raise ConfigError(f"no {key} {name!r} under {section}", where=path, fix="name one that exists")


def _pem(path: Path, section: dict[str, Any], key: str) -> str | None:
    encoded = section.get(f"{key}-data")
    if encoded:
        try:
            return base64.b64decode(str(encoded), validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise ConfigError(f"{key}-data is not base64 of PEM", where=path, fix="make the kubeconfig anew") from None
    return _text(path, section[key]) if section.get(key) else None


def _text(path: Path, name: str) -> str:
    target = path.parent / name
    try:
        return target.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{target} cannot be read: {error}", where=path, fix="restore the file") from None

"""The environment's HTTP proxy: HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in capitals or not."""

from __future__ import annotations

import base64
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from devops_bench.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy; `fields` are the headers it wants."""

    host: str
    port: int
    fields: tuple[tuple[str, str], ...] = field(default=(), repr=False)


def proxy_for(scheme: str, host: str, env: Mapping[str, str]) -> Proxy | None:
    """The proxy on the way to a host, None for a direct way; never for this host itself. Raises ConfigError."""
    if _direct(host, _env(env, "no_proxy")):
        return None
    name = f"{scheme}_proxy"
    told = _env(env, name)
    if not told:
        name, told = "all_proxy", _env(env, "all_proxy")
    if not told:
        return None
    try:
        url = urlsplit(told if "://" in told else f"http://{told}")
        port = url.port or 80
    except ValueError:
        url, port = urlsplit(""), 0
    if url.scheme != "http" or not url.hostname:
        raise ConfigError(f"{name.upper()} is no http:// proxy", fix="set it to http://HOST:PORT or unset it")
    fields: tuple[tuple[str, str], ...] = ()
    if url.username is not None:
        pair = f"{unquote(url.username)}:{unquote(url.password or '')}".encode()
        fields = (("Proxy-Authorization", f"Basic {base64.b64encode(pair).decode()}"),)
    return Proxy(url.hostname, port, fields)


def _env(env: Mapping[str, str], name: str) -> str:
    return (env.get(name) or env.get(name.upper()) or "").strip()


def _direct(host: str, excepted: str) -> bool:
    try:
        if ipaddress.ip_address(host).is_loopback:
            return True
    except ValueError:
        if host == "localhost":
            return True
    for entry in excepted.replace(" ", ",").split(","):
        name = entry.strip().lower().removeprefix("*").removeprefix(".")
        if entry.strip() == "*" or (name and (host.lower() == name or host.lower().endswith(f".{name}"))):
            return True
    return False

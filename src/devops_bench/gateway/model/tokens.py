"""Where access tokens come from: OAuth's refresh and JWT-bearer grants, the metadata server, or google-auth.

Source: Google's guides to OAuth 2.0 for server-to-server applications and to the VM metadata server; RFC 6749, 7523.
"""

from __future__ import annotations

import base64
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from devops_bench.errors import ConfigError
from devops_bench.gateway.model.dial import Dialer, exchange
from devops_bench.gateway.model.proxies import proxy_for
from devops_bench.gateway.model.sockets import PORTS, Origin
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.gateway.model.watch import Watch
from devops_bench.models.replies.draft import mapping, parsed

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
# Seconds that an endpoint for tokens may take.
PATIENCE: Final = 10.0
_TOKEN_URI: Final = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address
_METADATA: Final = "metadata.google.internal"
_FORM: Final = "application/x-www-form-urlencoded"
_MAX_REPLY: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and when it ends, in seconds of the monotonic clock."""

    value: str = field(repr=False)
    expires: float


# Fetches a new token. Raises UpstreamError, watch.ClientGone.
Source = Callable[[Watch], Token]


@dataclass(frozen=True, slots=True)
class Fetched:
    """A small reply, read whole."""

    status: int
    headers: Mapping[str, str]
    data: bytes = field(repr=False)


def fetch(
    method: str, url: str, fields: list[tuple[str, str]], body: bytes, watch: Watch, env: Mapping[str, str]
) -> Fetched:
    """One request over a connection of its own. Raises UpstreamError, watch.ClientGone, ValueError for a bad URL."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname:
        raise ValueError(f"{url!r} is no address of a token endpoint")
    origin = Origin(parts.scheme, parts.hostname, parts.port or PORTS[parts.scheme])
    dialer = Dialer(origin, proxy_for(origin.scheme, origin.host, env))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    try:
        answered = exchange(dialer, method, target, fields, body, watch)
        data = b""
        for portion in answered.chunks():
            data += portion
            if len(data) > _MAX_REPLY:
                answered.close()
                raise UpstreamError("garbage", "the token endpoint sends too much")
        return Fetched(answered.status, {name.lower(): value for name, value in answered.fields}, data)
    finally:
        dialer.close()


def _granted(found: Fetched, asked: float) -> Token:
    """The token in a reply. Its text never shows what was asked with."""
    data = mapping(parsed(found.data))
    value, seconds = data.get("access_token"), data.get("expires_in", 3600)
    if found.status == 200 and isinstance(value, str) and value:
        lasts = float(seconds) if isinstance(seconds, int | float) else 3600.0
        return Token(value, asked + lasts)
    told = data.get("error_description") or data.get("error") or "no token in its reply"
    raise UpstreamError("credentials", f"HTTP {found.status} of the token endpoint: {str(told)[:300]}")


def _short(watch: Watch) -> Watch:
    """The same client, less patience."""
    watch = watch.copy()
    watch.idle = PATIENCE
    return watch


@dataclass(frozen=True, slots=True)
class AuthorizedUser:
    """A person's credentials, as `gcloud auth application-default login` leaves them."""

    form: Mapping[str, str] = field(repr=False)
    uri: str
    env: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, info: Mapping[str, Any], env: Mapping[str, str]) -> AuthorizedUser:
        """From the file. Raises KeyError for what it lacks."""
        names = ("client_id", "client_secret", "refresh_token")
        form = {"grant_type": "refresh_token", **{name: str(info[name]) for name in names}}
        return cls(form, str(info.get("token_uri") or _TOKEN_URI), env)

    def __call__(self, watch: Watch) -> Token:
        asked = time.monotonic()
        body = urlencode(self.form).encode()
        return _granted(fetch("POST", self.uri, [("Content-Type", _FORM)], body, _short(watch), self.env), asked)


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """A service account's key: it signs what it asks for."""

    email: str
    key_id: str
    key: Any = field(repr=False)
    uri: str
    env: Mapping[str, str] = field(repr=False)

    @classmethod
    def of(cls, info: Mapping[str, Any], env: Mapping[str, str]) -> ServiceAccount:
        """From the file. Raises KeyError for what it lacks, ValueError for a key that is none."""
        try:
            from cryptography.hazmat.primitives.serialization import load_pem_private_key
        except ImportError:
            raise ConfigError(
                "service account keys need the extra `agents`", fix="pip install 'devops-bench[agents]'"
            ) from None
        try:
            key = load_pem_private_key(str(info["private_key"]).encode(), password=None)
        except (ValueError, TypeError):
            raise ValueError("private_key is no key in PEM") from None
        uri = str(info.get("token_uri") or _TOKEN_URI)
        return cls(str(info["client_email"]), str(info.get("private_key_id", "")), key, uri, env)

    def __call__(self, watch: Watch) -> Token:
        asked = time.monotonic()
        grant = "urn:ietf:params:oauth:grant-type:jwt-bearer"
        body = urlencode({"grant_type": grant, "assertion": self._assertion(int(time.time()))}).encode()
        return _granted(fetch("POST", self.uri, [("Content-Type", _FORM)], body, _short(watch), self.env), asked)

    def _assertion(self, now: int) -> str:
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding

        head = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        # A host's clock may be ahead a little.
        claims = {"iss": self.email, "scope": SCOPE, "aud": self.uri, "iat": now - 10, "exp": now + 3000}
        signed = f"{_base64url(json.dumps(head).encode())}.{_base64url(json.dumps(claims).encode())}"
        return f"{signed}.{_base64url(self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata server of a cloud machine; it is on the link, never behind a proxy."""

    host: str

    @classmethod
    def of(cls, env: Mapping[str, str]) -> Metadata:
        """GCE_METADATA_HOST (HOST[:PORT]), by default Google's name for it."""
        return cls(env.get("GCE_METADATA_HOST") or _METADATA)

    def project(self, watch: Watch) -> str | None:
        """The machine's project; None when there is no metadata server."""
        try:
            found = self._get("project/project-id", watch)
        except (UpstreamError, ValueError):
            return None
        good = found.status == 200 and found.headers.get("metadata-flavor") == "Google"
        return found.data.decode("ascii", "replace").strip() or None if good else None

    def token(self, watch: Watch) -> Token:
        """The machine's service account's."""
        asked = time.monotonic()
        return _granted(self._get("instance/service-accounts/default/token", watch), asked)

    def _get(self, what: str, watch: Watch) -> Fetched:
        url = f"http://{self.host}/computeMetadata/v1/{what}"
        return fetch("GET", url, [("Metadata-Flavor", "Google")], b"", _short(watch), {})


def by_google_auth(info: Mapping[str, Any], env: Mapping[str, str]) -> Source:
    """Any other type of file (workload identity, impersonation ...). Raises ValueError, ConfigError."""
    try:
        from google.auth import load_credentials_from_dict
        from google.auth.exceptions import GoogleAuthError, TransportError
    except ImportError:
        raise ConfigError(
            f"credentials of type {info.get('type')!r} need the extra `agents`",
            fix="pip install 'devops-bench[agents]'",
        ) from None

    def request_for(watch: Watch) -> Any:
        def request(
            url: str, method: str = "GET", body: Any = None, headers: Any = None, timeout: Any = None, **_: Any
        ) -> Fetched:
            data = body.encode() if isinstance(body, str) else body or b""
            try:
                return fetch(method, url, list((headers or {}).items()), data, _short(watch), env)
            except UpstreamError as error:
                problem: Any = TransportError
                raise problem(str(error)) from None

        return request

    try:
        # It warns of files that others wrote; this one the operator named.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            load: Any = load_credentials_from_dict
            credentials, _ = load(dict(info), scopes=[SCOPE], request=request_for(Watch(None, PATIENCE, PATIENCE)))
    except GoogleAuthError as error:
        raise ValueError(str(error)) from None

    def source(watch: Watch) -> Token:
        asked = time.monotonic()
        try:
            credentials.refresh(request_for(watch))
        except TransportError as error:
            raise UpstreamError("connection", str(error)[:300]) from None
        except GoogleAuthError as error:
            raise UpstreamError("credentials", f"{type(error).__name__}: {str(error)[:300]}") from None
        left = (credentials.expiry.timestamp() - time.time()) if credentials.expiry is not None else 3600.0
        return Token(str(credentials.token), asked + left)

    return source

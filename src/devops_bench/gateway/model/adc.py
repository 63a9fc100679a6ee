"""Ambient Google Cloud credentials: found where Google's own libraries look, kept fresh, shown to nobody.

Order (Application Default Credentials): the file of GOOGLE_APPLICATION_CREDENTIALS, gcloud's file, the metadata server.
Files of type authorized_user and service_account and the metadata server are read here, in milliseconds; any other type
is left to `google-auth`, whose import costs a second.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from devops_bench.errors import ConfigError, TransientError
from devops_bench.gateway.model import tokens
from devops_bench.gateway.model.tokens import Source, Token
from devops_bench.gateway.model.upstream import UpstreamError
from devops_bench.gateway.model.watch import Watch

# Seconds before its end at which a token is replaced: the metadata server has a new one from five minutes before.
_EARLY: Final = 240.0
# Seconds for a metadata server to answer: it is near, or not there.
_PROBE: Final = 3.0
_PROJECT_NAMES: Final = ("GOOGLE_CLOUD_PROJECT", "GCP_PROJECT_ID", "PROJECT_ID")
_LOGIN: Final = "run `gcloud auth application-default login` or set GOOGLE_APPLICATION_CREDENTIALS"


class Ambient(Protocol):
    """What a provider asks of ambient credentials."""

    @property
    def project(self) -> str: ...
    def headers(self, watch: Watch) -> list[tuple[str, str]]: ...
    def secrets(self) -> Mapping[str, str]: ...


class AmbientCredentials:
    """One source of tokens with its project. For any thread."""

    def __init__(self, source: Source, project: str, quota_project: str | None = None) -> None:
        self.project = project
        self._quota_project = quota_project
        self._source = source
        self._lock = threading.Lock()
        self._token: Token | None = None

    def headers(self, watch: Watch) -> list[tuple[str, str]]:
        """Authorization, and the project that pays if the file names one. Raises UpstreamError, ClientGone."""
        with self._lock:
            if self._token is None or time.monotonic() > self._token.expires - _EARLY:
                self._token = self._source(watch)
            value = self._token.value
        quota = [("x-goog-user-project", self._quota_project)] if self._quota_project else []
        return [("Authorization", f"Bearer {value}"), *quota]

    def check(self) -> None:
        """Fetch a token now. Raises ConfigError when credentials are refused, TransientError without an answer."""
        try:
            self.headers(Watch(None, tokens.PATIENCE, tokens.PATIENCE))
        except UpstreamError as error:
            if error.word == "credentials":
                raise ConfigError(f"ambient Google Cloud credentials are refused: {error}", fix=_LOGIN) from None
            raise TransientError(f"no token for ambient Google Cloud credentials: {error}") from None

    def secrets(self) -> Mapping[str, str]:
        """The token in use."""
        with self._lock:
            return {"GOOGLE_ACCESS_TOKEN": self._token.value} if self._token is not None else {}


def ambient(env: Mapping[str, str]) -> AmbientCredentials:
    """The host's credentials. Raises ConfigError when there are none, they are malformed, or no project is known."""
    named = env.get("GOOGLE_APPLICATION_CREDENTIALS", "").strip()
    path = Path(named) if named else _gcloud_file(env)
    if named or path.is_file():
        info = _read(path)
        return AmbientCredentials(_source(info, path, env), _project(env, info), _text(info, "quota_project_id"))
    metadata = tokens.Metadata.of(env)
    project = next((env[name] for name in _PROJECT_NAMES if env.get(name)), None)
    found = metadata.project(Watch(None, tokens.PATIENCE, _PROBE))
    if found is None:
        raise ConfigError("there are no ambient Google Cloud credentials on this host", fix=_LOGIN)
    return AmbientCredentials(metadata.token, project or found)


def _gcloud_file(env: Mapping[str, str]) -> Path:
    folder = env.get("CLOUDSDK_CONFIG")
    home = Path(env.get("HOME") or "/nonexistent")
    return (Path(folder) if folder else home / ".config" / "gcloud") / "application_default_credentials.json"


def _read(path: Path) -> Mapping[str, Any]:
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=path, fix=_LOGIN) from None
    except ValueError:
        raise ConfigError("holds no credentials in JSON", where=path, fix=_LOGIN) from None
    if not isinstance(info, dict):
        raise ConfigError("holds no credentials", where=path, fix=_LOGIN)
    return info


def _source(info: Mapping[str, Any], path: Path, env: Mapping[str, str]) -> Source:
    kind = info.get("type")
    try:
        if kind == "authorized_user":
            return tokens.AuthorizedUser.of(info, env)
        if kind == "service_account":
            return tokens.ServiceAccount.of(info, env)
        return tokens.by_google_auth(info, env)
    except KeyError as error:
        raise ConfigError(f"has no {error.args[0]!r}", where=path, fix=_LOGIN) from None
    except ValueError as error:
        raise ConfigError(f"cannot be used: {error}", where=path, fix=_LOGIN) from None


def _project(env: Mapping[str, str], info: Mapping[str, Any]) -> str:
    named = [env.get(name) for name in _PROJECT_NAMES]
    named += [_text(info, "project_id"), _text(info, "quota_project_id")]
    project = next((name for name in named if name), None)
    if project is None:
        raise ConfigError("no Google Cloud project is named", fix="set GOOGLE_CLOUD_PROJECT")
    return project


def _text(info: Mapping[str, Any], name: str) -> str | None:
    value = info.get(name)
    return value if isinstance(value, str) and value else None

"""A real provider behind the gateway: the client's request with the real key, to the provider's own address."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Final
from urllib.parse import quote, unquote, urlsplit

from devops_bench.errors import ConfigError
from devops_bench.gateway.model import vertex
from devops_bench.gateway.model.adc import Ambient, ambient
from devops_bench.gateway.model.dial import Answered, Dialer, exchange
from devops_bench.gateway.model.headers import header, to_provider
from devops_bench.gateway.model.proxies import proxy_for
from devops_bench.gateway.model.sockets import PORTS, Origin
from devops_bench.gateway.model.upstream import Asked, Incoming, UpstreamError
from devops_bench.gateway.model.watch import Watch
from devops_bench.models.http import JSON
from devops_bench.models.player import listing, model_card
from devops_bench.models.providers import Resolved
from devops_bench.models.replies.draft import mapping, parsed
from devops_bench.models.routes import Action

# The base URLs of the providers' own clients.
_URLS: Final[Mapping[str, str]] = {
    "google": "https://generativelanguage.googleapis.com",
    "anthropic": "https://api.anthropic.com",
    "openai": "https://api.openai.com/v1",
    "openai-responses": "https://api.openai.com/v1",
}
_VERSION = re.compile(r"/(v1|v1beta|v1alpha)/")
# Of the query, what clients use. Others hold keys, or leave out what a reply is metered by (Google's `fields`).
_QUERY: Final = frozenset(
    {"alt", "$alt", "beta", "api-version", "pagesize", "pagetoken", "limit", "after", "after_id", "before_id"}
)
_MAX_PLAIN: Final = 256 << 20


class Forward:
    """Requests go to the provider of `resolved`. Raises ConfigError when it cannot be reached as it is configured.

    `ambient_credentials` are those of Vertex; by default the host's own (`adc`), looked for at once, fetched when
    needed. `env` names proxies, project and location.
    """

    def __init__(
        self,
        resolved: Resolved,
        *,
        env: Mapping[str, str] = os.environ,
        ambient_credentials: Ambient | None = None,
    ) -> None:
        self.provider = resolved.provider
        self.model = resolved.model
        self._key, self._key_name = resolved.key, resolved.key_name or "API_KEY"
        self._ambient: Ambient | None = None
        self._location = "global"
        default = _URLS.get(resolved.provider)
        if resolved.provider == "vertex":
            self._ambient = ambient_credentials or ambient(env)
            self._location = env.get("GOOGLE_CLOUD_LOCATION") or env.get("GCP_VERTEX_LOCATION") or "global"
            if not vertex.is_location(self._location):
                raise ConfigError(
                    f"GOOGLE_CLOUD_LOCATION={self._location!r} is no location", fix="set it to global or a region"
                )
            default = vertex.base_url(self._location)
        self._base = _origin(resolved.base_url or default or "", resolved.provider)
        origin, self._prefix = self._base
        self._dialer = Dialer(origin, proxy_for(origin.scheme, origin.host, env))

    def secrets(self) -> Mapping[str, str]:
        """The key, or the ambient token that is in use."""
        if self._ambient is not None:
            return self._ambient.secrets()
        return {self._key_name: self._key} if self._key else {}

    def open(self, asked: Asked, watch: Watch) -> Incoming:
        """Send it. Raises UpstreamError, ClientGone."""
        if self._ambient is not None and asked.route.action in {Action.LIST, Action.SHOW}:
            return Made(self.provider, self.model, asked)
        fields = to_provider(asked.request.fields, asked.token)
        fields += [("Accept-Encoding", "identity"), *self._auth(asked.route.wire, watch)]
        target, body = self._target(asked), asked.request.body
        if self._ambient is not None and asked.route.wire == "anthropic":
            body = vertex.anthropic_body(mapping(parsed(body)), count=asked.route.action is Action.COUNT)
        try:
            answered = exchange(self._dialer, asked.request.method, target, fields, body, watch)
        except ValueError as error:
            raise UpstreamError("connection", f"the request cannot be sent: {error}") from None
        return _plain(answered)

    def close(self) -> None:
        """Drop idle connections."""
        self._dialer.close()

    def _auth(self, wire: str, watch: Watch) -> list[tuple[str, str]]:
        if self._ambient is not None:
            return self._ambient.headers(watch)
        if not self._key:
            return []
        names = {"google": "x-goog-api-key", "anthropic": "x-api-key"}
        return [(names[wire], self._key)] if wire in names else [("Authorization", f"Bearer {self._key}")]

    def _target(self, asked: Asked) -> str:
        """Made from what the request means, not from the path that the client wrote."""
        query = _query(asked.request.target)
        if self._ambient is not None:
            return self._prefix + self._on_vertex(asked) + query
        route = asked.route
        if route.wire == "google":
            found = _VERSION.search(asked.request.path)
            path = f"/{found[1] if found else 'v1beta'}/models"
            if route.model is not None:
                path += f"/{quote(route.model, safe='@:')}"
            path += f":{vertex.METHODS[route.action]}" if route.action in vertex.METHODS else ""
            return self._prefix.removesuffix(f"/{found[1]}" if found else "/v1beta") + path + query
        path = _PATHS[route.wire][Action.GENERATE if route.action is Action.STREAM else route.action]
        if route.action is Action.SHOW:
            path += f"/{quote(route.model or '', safe='@:')}"
        prefix = self._prefix.removesuffix("/v1") if route.wire == "anthropic" else self._prefix
        return prefix + path + query

    def _on_vertex(self, asked: Asked) -> str:
        assert self._ambient is not None
        project, count = self._ambient.project, asked.route.action is Action.COUNT
        if asked.route.wire == "anthropic":
            return vertex.anthropic_path(project, self._location, asked.model, stream=asked.stream, count=count)
        return vertex.google_path(project, self._location, asked.model, asked.route.action)


_PATHS: Final[Mapping[str, Mapping[Action, str]]] = {
    "anthropic": {
        Action.GENERATE: "/v1/messages",
        Action.COUNT: "/v1/messages/count_tokens",
        Action.LIST: "/v1/models",
        Action.SHOW: "/v1/models",
    },
    "openai": {Action.GENERATE: "/chat/completions", Action.LIST: "/models", Action.SHOW: "/models"},
    "openai-responses": {
        Action.GENERATE: "/responses",
        Action.COUNT: "/responses/input_tokens",
        Action.LIST: "/models",
        Action.SHOW: "/models",
    },
}


def _origin(url: str, provider: str) -> tuple[Origin, str]:
    """Origin and path of a base URL. Raises ConfigError; the URL may hold a password and is not shown."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS[parts.scheme]
    except (ValueError, KeyError):
        parts, port = urlsplit(""), 0
    if not parts.hostname or parts.username is not None:
        raise ConfigError(
            f"the base URL of provider {provider} is not usable", fix="set it to https://HOST[:PORT]/PATH"
        )
    return Origin(parts.scheme, parts.hostname, port), parts.path.rstrip("/")


def _query(target: str) -> str:
    """What is known of the client's query, as it is."""
    _, _, query = target.partition("?")
    kept = [pair for pair in query.split("&") if unquote(pair.partition("=")[0]).lower() in _QUERY]
    return "?" + "&".join(kept) if kept else ""


def _plain(answered: Answered) -> Incoming:
    """The reply, unpacked if the provider packs it although nobody asked for that."""
    packing = header(answered.fields, "content-encoding").lower()
    if packing in {"", "identity"}:
        return answered
    if packing not in {"gzip", "deflate"}:
        answered.close()
        raise UpstreamError("garbage", f"the provider packs its replies by {packing}")
    return Unpacked(answered)


class Unpacked:
    """A reply in gzip or deflate, unpacked as it comes."""

    def __init__(self, answered: Answered) -> None:
        self._answered = answered
        self.status = answered.status
        self.fields = answered.fields
        self.length = None

    def chunks(self) -> Iterator[bytes]:
        """The body, unpacked."""
        unpacker, size = zlib.decompressobj(wbits=47), 0
        for portion in self._answered.chunks():
            try:
                plain = unpacker.decompress(portion, _MAX_PLAIN)
            except zlib.error:
                raise UpstreamError("garbage", "the reply is not packed as it says") from None
            size += len(plain)
            if size > _MAX_PLAIN or unpacker.unconsumed_tail:
                raise UpstreamError("garbage", "the reply is too large")
            if plain:
                yield plain

    def close(self) -> None:
        """Drop the connection if it was not read whole."""
        self._answered.close()


class Made:
    """A list of the one model there is: Vertex has none in this form."""

    def __init__(self, provider: str, model: str, asked: Asked) -> None:
        wire = asked.route.wire
        data = listing(wire, [model]) if asked.route.action is Action.LIST else model_card(wire, model)
        self._body = json.dumps(data).encode()
        self.status = 200
        self.fields = (("Content-Type", JSON),)
        self.length = len(self._body)

    def chunks(self) -> Iterator[bytes]:
        """The list."""
        yield self._body

    def close(self) -> None:
        """Nothing is open."""

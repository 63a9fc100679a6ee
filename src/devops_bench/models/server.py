"""The scripted model server: real HTTP on loopback, the wire formats of the providers, answers from scenario files.

Runs in threads of the process that opens it and has no global state. Any key is accepted unless a `token` is required.

```python
with ScriptedServer(Path("scenarios")) as server:
    base_url = server.endpoint("anthropic", "scripted:careful")
```
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.models import routes
from devops_bench.models.http import JSON, Connection, Listener, Request
from devops_bench.models.play import Played, play
from devops_bench.models.record import MAX_BODY, Log, Recorded, without_keys
from devops_bench.models.routes import Action, Route
from devops_bench.models.scenario import FaultKind, Scenario, load_scenarios
from devops_bench.models.verbs import NoToolError
from devops_bench.models.wire import Conversation, Wire, anthropic, google, openai_chat, openai_responses

WIRES: Mapping[str, Wire] = {
    "google": google,
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
# Below the server's root, where a provider's client expects its base URL to point.
_BASES = {"google": "", "vertex": "", "scripted": "", "anthropic": "", "openai": "/v1", "openai-responses": "/v1"}
_SSE = "text/event-stream; charset=utf-8"
HANG_LIMIT = 3600.0
_GARBAGE = b'<html>\x00\xff{"unfinished": [1, 2'


class ScriptedServer:
    """Serves `scenarios` (a folder, a file, or scenarios by name) from construction until `close`."""

    def __init__(self, scenarios: Path | Mapping[str, Scenario], *, port: int = 0, token: str | None = None) -> None:
        """`port` 0 lets the kernel choose. With `token` a request without that key gets 401. Raises ConfigError."""
        self.scenarios = load_scenarios(scenarios) if isinstance(scenarios, Path) else dict(scenarios)
        self._token = token
        self._log = Log()
        self._strikes: Counter[str] = Counter()
        self._lock = threading.Lock()
        try:
            self._listener = Listener(self._handle, port)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on 127.0.0.1:{port} ({error.strerror})", fix="choose another port"
            ) from None
        self.port = self._listener.port
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ScriptedServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def requests(self) -> tuple[Recorded, ...]:
        """The requests so far that are answered or being answered, oldest first, within the bounds of `record`."""
        return self._log.all()

    def endpoint(self, provider: str, model: str) -> str:
        """The base URL to give to a client of `provider` so that `model` is played, whatever it makes of the model id.

        Raises ConfigError when there is no such scenario.
        """
        scenario = routes.scenario_for(model, None, self.scenarios)
        if scenario is None:
            raise ConfigError(f"there is no scenario for model {model!r}", fix=f"there are: {self._names()}")
        return f"{self.url}{routes.PINNED}{scenario.name}{_BASES.get(provider, '/v1')}"

    def close(self) -> None:
        """End all connections and free the port."""
        self._listener.close()

    def _names(self) -> str:
        return ", ".join(f"scripted:{name}" for name in sorted(self.scenarios))

    def _handle(self, connection: Connection, request: Request) -> None:
        body = request.body[:MAX_BODY].decode("utf-8", "replace")
        exchange = _Exchange(
            self, connection, request,
            Recorded(
                time=time.time(), method=request.method, path=request.path, headers=without_keys(request.headers),
                body=body, truncated=len(request.body) > MAX_BODY,
            ),
        )  # fmt: skip
        exchange.answer()

    def allows(self, request: Request) -> bool:
        """Whether the request has the required key, in any of the places where clients put it."""
        if self._token is None:
            return True
        headers = request.headers
        scheme, _, bearer = headers.get("authorization", "").partition(" ")
        given = {
            headers.get("x-api-key"),
            headers.get("x-goog-api-key"),
            headers.get("api-key"),
            request.query.get("key"),
        }
        return self._token in given or (scheme.lower() == "bearer" and bearer.strip() == self._token)

    def strike(self, key: str) -> int:
        """Count a fault; how often it struck before."""
        with self._lock:
            self._strikes[key] += 1
            return self._strikes[key] - 1

    def record(self, one: Recorded) -> None:
        """Keep a request."""
        self._log.add(one)

    def wait(self, seconds: float) -> None:
        """Sleep, but not past `close`."""
        self._listener.closing.wait(seconds)


@dataclass
class _Exchange:
    """One request on its way to its answer. The record is kept before the first byte is sent."""

    server: ScriptedServer
    connection: Connection
    request: Request
    record: Recorded

    def answer(self) -> None:
        route = routes.route(self.request.method, self.request.path, self.request.headers)
        if route is None:
            return self._send(404, {"error": {"message": f"no such path: {self.request.method} {self.request.path}"}})
        wire = WIRES[route.wire]
        self.record = replace(self.record, wire=route.wire, action=route.action.value)
        if not self.server.allows(self.request):
            return self._fail(wire, 401, "the key is not valid")
        if route.action in {Action.LIST, Action.SHOW}:
            return self._models(wire, route)
        try:
            body = json.loads(self.request.body)
            if not isinstance(body, dict):
                raise ValueError("not an object")
            model = route.model or str(body.get("model", ""))
            said = wire.read(body, model, stream=route.action is Action.STREAM, size=len(self.request.body))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            return self._fail(wire, 400, f"the request cannot be read: {type(error).__name__}: {error}")
        return self._generate(wire, route, said)

    def _generate(self, wire: Wire, route: Route, said: Conversation) -> None:
        names = tuple(tool.name for tool in said.tools)
        self.record = replace(self.record, model=said.model, turn=said.turns, tools=names, stream=said.stream)
        scenario = routes.scenario_for(said.model, route.pinned, self.server.scenarios)
        if scenario is None:
            there = ", ".join(sorted(self.server.scenarios))
            return self._fail(wire, 404, f"there is no scenario for model {said.model!r}; there are: {there}")
        self.record = replace(self.record, scenario=scenario.name)
        if route.action is Action.COUNT:
            count = said.input_tokens
            return self._send(200, {"totalTokens": count} if route.wire == "google" else {"input_tokens": count})
        try:
            played = play(scenario, said, now=int(time.time()), strikes=self.server.strike)
        except NoToolError as error:
            return self._fail(wire, 400, f"scenario {scenario.name}, turn {said.turns + 1}: {error}")
        if played.delay:
            self.server.wait(played.delay)
        kind = played.fault.kind if played.fault is not None else None
        self.record = replace(self.record, fault=kind.value if kind else None)
        if kind in {FaultKind.HTTP, FaultKind.HANG, FaultKind.GARBAGE}:
            return self._break(wire, played, said)
        if said.stream:
            return self._stream(wire, played, cut=kind is FaultKind.CUT)
        whole = wire.whole(played.reply)
        if kind is FaultKind.CUT:
            self._keep(200)
            self.connection.send_half(json.dumps(whole).encode())
            return self._hang_up()
        return self._send(200, whole)

    def _break(self, wire: Wire, played: Played, said: Conversation) -> None:
        fault = played.fault
        assert fault is not None
        if fault.kind is FaultKind.HTTP:
            status = fault.status or 500
            return self._fail(wire, status, fault.message or f"scripted status {status}", fault.retry_after)
        if fault.kind is FaultKind.HANG:
            self._keep(0)
            self.connection.wait_gone(HANG_LIMIT)
            return self._hang_up()
        self._keep(200)
        if said.stream:
            return self.connection.send(200, b"data: " + _GARBAGE + b"\n\n", _SSE)
        return self.connection.send(200, _GARBAGE)

    def _stream(self, wire: Wire, played: Played, *, cut: bool) -> None:
        array = self.record.wire == "google" and self.request.query.get("alt") != "sse"
        chunks = list(_array(played)) if array else list(wire.chunks(played.reply))
        self._keep(200)
        self.connection.begin(JSON if array else _SSE)
        if cut:
            # Up to the middle of a unit, so that no client takes it for a short answer.
            middle = max(1, len(chunks) // 2)
            for chunk in chunks[:middle]:
                self.connection.chunk(chunk)
            self.connection.chunk(chunks[middle][: len(chunks[middle]) // 2] if middle < len(chunks) else b"")
            return self._hang_up()
        for chunk in chunks:
            self.connection.chunk(chunk)
        return self.connection.end()

    def _models(self, wire: Wire, route: Route) -> None:
        if route.model is None:
            names = [f"scripted:{name}" for name in sorted(self.server.scenarios)]
            return self._send(200, _listing(route.wire, names))
        if routes.scenario_for(route.model, route.pinned, self.server.scenarios) is None:
            return self._fail(wire, 404, f"there is no scenario for model {route.model!r}")
        return self._send(200, _model(route.wire, route.model))

    def _fail(self, wire: Wire, status: int, message: str, retry_after: float | None = None) -> None:
        extra = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
        self._send(status, wire.error(status, message, retry_after), extra)

    def _send(self, status: int, data: Mapping[str, Any], extra: Mapping[str, str] | None = None) -> None:
        self._keep(status)
        self.connection.send(status, json.dumps(data, ensure_ascii=False).encode(), extra=extra)

    def _keep(self, status: int) -> None:
        self.server.record(replace(self.record, status=status))

    def _hang_up(self) -> None:
        self.connection.keep = False


def _array(played: Played) -> Iterator[bytes]:
    """Google's stream without `alt=sse`: one JSON array, element by element."""
    for at, response in enumerate(google.responses(played.reply)):
        yield (b"," if at else b"[") + json.dumps(response, ensure_ascii=False).encode() + b"\r\n"
    yield b"]"


def _listing(wire: str, names: list[str]) -> dict[str, Any]:
    models = [_model(wire, name) for name in names]
    if wire == "google":
        return {"models": models}
    if wire == "anthropic":
        return {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"object": "list", "data": models}


def _model(wire: str, name: str) -> dict[str, Any]:
    if wire == "google":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        limits = {"inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16}
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods, **limits}
    if wire == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "scripted"}

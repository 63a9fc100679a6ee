"""What a scripted model answers to an HTTP request, as data: shared by the scripted server and the model gateway.

No I/O; the only state is how often a fault with `times` struck, per conversation.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from devops_bench.models import routes
from devops_bench.models.http import JSON, Request
from devops_bench.models.play import Played, play
from devops_bench.models.record import MAX_BODY, Recorded, without_keys
from devops_bench.models.routes import Action, Route
from devops_bench.models.scenario import FaultKind, Scenario
from devops_bench.models.verbs import NoToolError
from devops_bench.models.wire import Conversation, Wire, anthropic, google, openai_chat, openai_responses

WIRES: Mapping[str, Wire] = {
    "google": google,
    "openai": openai_chat,
    "openai-responses": openai_responses,
    "anthropic": anthropic,
}
SSE = "text/event-stream; charset=utf-8"
_GARBAGE = b'<html>\x00\xff{"unfinished": [1, 2'


class Ending(StrEnum):
    """How an answer ends: as it should, in the middle, or never (then nothing of it is sent)."""

    WHOLE = "whole"
    CUT = "cut"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP response. `chunks` are sent one by one when `stream`, else together; `delay` seconds come first.

    An answer that is CUT promises more than its chunks hold.
    """

    status: int
    chunks: tuple[bytes, ...]
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    stream: bool = False
    ending: Ending = Ending.WHOLE
    delay: float = 0.0

    @property
    def body(self) -> bytes:
        """All chunks."""
        return b"".join(self.chunks)


class Player:
    """Plays scenarios by name. For any thread."""

    def __init__(self, scenarios: Mapping[str, Scenario]) -> None:
        self.scenarios = dict(scenarios)
        self._strikes: Counter[str] = Counter()
        self._lock = threading.Lock()

    def answer(self, request: Request, *, allowed: bool = True, pinned: str | None = None) -> tuple[Answer, Recorded]:
        """The answer to a request and its record. `allowed` False: its key is wrong.

        `pinned` is the scenario that plays, whatever model the request names.
        """
        body = request.body[:MAX_BODY].decode("utf-8", "replace")
        record = Recorded(
            time=time.time(), method=request.method, path=request.path, headers=without_keys(request.headers),
            body=body, truncated=len(request.body) > MAX_BODY,
        )  # fmt: skip
        asked = _Asked(self, request, record)
        answer = asked.answer(allowed, pinned)
        return answer, replace(asked.record, status=0 if answer.ending is Ending.HANG else answer.status)

    def strike(self, key: str) -> int:
        """Count a fault; how often it struck before."""
        with self._lock:
            self._strikes[key] += 1
            return self._strikes[key] - 1


@dataclass
class _Asked:
    """One request on its way to its answer."""

    player: Player
    request: Request
    record: Recorded

    def answer(self, allowed: bool, pinned: str | None) -> Answer:
        route = routes.route(self.request.method, self.request.path, self.request.headers)
        if route is None:
            return _json(404, {"error": {"message": f"no such path: {self.request.method} {self.request.path}"}})
        route = route if pinned is None else replace(route, pinned=pinned)
        wire = WIRES[route.wire]
        self.record = replace(self.record, wire=route.wire, action=route.action.value)
        if not allowed:
            return failure(wire, 401, "the key is not valid")
        if route.action in {Action.LIST, Action.SHOW}:
            return self._models(wire, route)
        try:
            body = json.loads(self.request.body)
            if not isinstance(body, dict):
                raise ValueError("not an object")
            model = route.model or str(body.get("model", ""))
            said = wire.read(body, model, stream=route.action is Action.STREAM, size=len(self.request.body))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            return failure(wire, 400, f"the request cannot be read: {type(error).__name__}: {error}")
        return self._generate(wire, route, said)

    def _generate(self, wire: Wire, route: Route, said: Conversation) -> Answer:
        names = tuple(tool.name for tool in said.tools)
        self.record = replace(self.record, model=said.model, turn=said.turns, tools=names, stream=said.stream)
        scenarios = self.player.scenarios
        scenario = routes.scenario_for(said.model, route.pinned, scenarios)
        if scenario is None:
            there = ", ".join(sorted(scenarios))
            return failure(wire, 404, f"there is no scenario for model {said.model!r}; there are: {there}")
        self.record = replace(self.record, scenario=scenario.name)
        if route.action is Action.COUNT:
            count = said.input_tokens
            return _json(200, {"totalTokens": count} if route.wire == "google" else {"input_tokens": count})
        try:
            played = play(scenario, said, now=int(time.time()), strikes=self.player.strike)
        except NoToolError as error:
            return failure(wire, 400, f"scenario {scenario.name}, turn {said.turns + 1}: {error}")
        kind = played.fault.kind if played.fault is not None else None
        self.record = replace(self.record, fault=kind.value if kind else None)
        if kind in {FaultKind.HTTP, FaultKind.HANG, FaultKind.GARBAGE}:
            answer = _broken(wire, played, said)
        elif said.stream:
            array = route.wire == "google" and self.request.query.get("alt") != "sse"
            answer = _streamed(wire, played, array=array, cut=kind is FaultKind.CUT)
        else:
            answer = _json(200, wire.whole(played.reply))
            answer = replace(answer, ending=Ending.CUT) if kind is FaultKind.CUT else answer
        return replace(answer, delay=played.delay)

    def _models(self, wire: Wire, route: Route) -> Answer:
        if route.model is None:
            names = [f"scripted:{name}" for name in sorted(self.player.scenarios)]
            return _json(200, listing(route.wire, names))
        if routes.scenario_for(route.model, route.pinned, self.player.scenarios) is None:
            return failure(wire, 404, f"there is no scenario for model {route.model!r}")
        return _json(200, model_card(route.wire, route.model))


def failure(wire: Wire, status: int, message: str, retry_after: float | None = None) -> Answer:
    """The provider's own way to say that a request failed."""
    extra = {} if retry_after is None else {"Retry-After": f"{retry_after:g}"}
    return _json(status, wire.error(status, message, retry_after), extra)


def _json(status: int, data: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, (json.dumps(data, ensure_ascii=False).encode(),), headers=headers or {})


def _broken(wire: Wire, played: Played, said: Conversation) -> Answer:
    fault = played.fault
    assert fault is not None
    if fault.kind is FaultKind.HTTP:
        status = fault.status or 500
        return failure(wire, status, fault.message or f"scripted status {status}", fault.retry_after)
    if fault.kind is FaultKind.HANG:
        return Answer(200, (), ending=Ending.HANG)
    if said.stream:
        return Answer(200, (b"data: " + _GARBAGE + b"\n\n",), SSE)
    return Answer(200, (_GARBAGE,))


def _streamed(wire: Wire, played: Played, *, array: bool, cut: bool) -> Answer:
    chunks = list(_array(played)) if array else list(wire.chunks(played.reply))
    if cut:
        # Up to the middle of a unit, so that no client takes it for a short answer.
        middle = max(1, len(chunks) // 2)
        half = [chunks[middle][: len(chunks[middle]) // 2]] if middle < len(chunks) else []
        chunks = chunks[:middle] + half
    ending = Ending.CUT if cut else Ending.WHOLE
    return Answer(200, tuple(chunks), JSON if array else SSE, stream=True, ending=ending)


def _array(played: Played) -> Iterator[bytes]:
    """Google's stream without `alt=sse`: one JSON array, element by element."""
    for at, response in enumerate(google.responses(played.reply)):
        yield (b"," if at else b"[") + json.dumps(response, ensure_ascii=False).encode() + b"\r\n"
    yield b"]"


def listing(wire: str, names: list[str]) -> dict[str, Any]:
    """A provider's list of models; at least one."""
    models = [model_card(wire, name) for name in names]
    if wire == "google":
        return {"models": models}
    if wire == "anthropic":
        return {"data": models, "has_more": False, "first_id": names[0], "last_id": names[-1]}
    return {"object": "list", "data": models}


def model_card(wire: str, name: str) -> dict[str, Any]:
    """A provider's entry of one model."""
    if wire == "google":
        methods = ["generateContent", "streamGenerateContent", "countTokens"]
        limits = {"inputTokenLimit": 1 << 20, "outputTokenLimit": 1 << 16}
        return {"name": f"models/{name}", "displayName": name, "supportedGenerationMethods": methods, **limits}
    if wire == "anthropic":
        return {"type": "model", "id": name, "display_name": name, "created_at": "2025-01-01T00:00:00Z"}
    return {"id": name, "object": "model", "created": 1735689600, "owned_by": "scripted"}

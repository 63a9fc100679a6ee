"""Which wire format and action a request's path means, and which scenario a model id means. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from devops_bench.models.scenario import Scenario

# Everything under /s/NAME is played by scenario NAME, whatever a client makes of the model id.
PINNED = "/s/"
# By wire format: where below a server's root a provider's client expects its base URL to point.
BASES: Mapping[str, str] = {"google": "", "anthropic": "", "openai": "/v1", "openai-responses": "/v1"}


class Action(StrEnum):
    """What is asked."""

    GENERATE = "generate"
    STREAM = "stream"
    COUNT = "count"
    LIST = "list"
    SHOW = "show"


@dataclass(frozen=True, slots=True)
class Route:
    """`wire` is a key of `player.WIRES`; `model` and `pinned` (a scenario) are given where the path names them."""

    wire: str
    action: Action
    model: str | None = None
    pinned: str | None = None


_PINNED = re.compile(rf"{PINNED}(?P<name>[^/]+)(?P<rest>/.*)")
_GOOGLE = re.compile(r".*/models/(?P<model>.+):(?P<method>generateContent|streamGenerateContent|countTokens)")
_GOOGLE_ACTIONS = {
    "generateContent": Action.GENERATE,
    "streamGenerateContent": Action.STREAM,
    "countTokens": Action.COUNT,
}
_POSTS = (
    ("/messages/count_tokens", "anthropic", Action.COUNT),
    ("/messages", "anthropic", Action.GENERATE),
    ("/chat/completions", "openai", Action.GENERATE),
    ("/responses/input_tokens", "openai-responses", Action.COUNT),
    ("/responses", "openai-responses", Action.GENERATE),
)
_MODELS = re.compile(r".*/models(?:/(?P<model>.+))?")


def route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """The meaning of a request, None when it has none."""
    pinned, rest = None, path
    if found := _PINNED.fullmatch(path):
        pinned, rest = found["name"], found["rest"]
    rest = rest.rstrip("/")
    if method == "POST":
        if found := _GOOGLE.fullmatch(rest):
            return Route("google", _GOOGLE_ACTIONS[found["method"]], found["model"], pinned)
        return next((Route(wire, action, None, pinned) for end, wire, action in _POSTS if rest.endswith(end)), None)
    if method == "GET" and (found := _MODELS.fullmatch(rest)):
        wire = "anthropic" if "anthropic-version" in headers else "openai"
        if "/v1beta" in rest or "x-goog-api-key" in headers:
            wire = "google"
        return Route(wire, Action.SHOW if found["model"] else Action.LIST, found["model"], pinned)
    return None


_SCRIPTED = re.compile(r"(?:.*[/:@])?scripted[:/_@~-](?P<name>.+)")


def scenario_for(model: str, pinned: str | None, scenarios: Mapping[str, Scenario]) -> Scenario | None:
    """The scenario of a model id: `scripted:NAME` however spelled, `NAME`, `provider/NAME`, or an alias of one."""
    if pinned is not None:
        return scenarios.get(pinned)
    found = _SCRIPTED.fullmatch(model)
    for name in (found["name"] if found else model, model, model.rpartition("/")[2], model.rpartition(":")[2]):
        if name in scenarios:
            return scenarios[name]
    bare = model.rpartition("/")[2]
    return next((one for one in scenarios.values() if {model, bare} & set(one.models)), None)

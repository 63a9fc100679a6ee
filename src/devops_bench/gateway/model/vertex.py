"""Vertex AI: the same bodies as the Gemini API and Anthropic's, at other paths. Pure functions.

Source: the Vertex AI REST reference (publishers.models.generateContent, streamGenerateContent, countTokens, rawPredict)
and Anthropic's guide to Claude on Vertex.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from devops_bench.models.routes import Action

ANTHROPIC_VERSION: Final = "vertex-2023-10-16"
# Regions that stand for several have hosts of another form.
_MULTI: Final = frozenset({"us", "eu"})
_LOCATION = re.compile(r"[a-z]+(-[a-z0-9]+)*\Z")
METHODS: Final[Mapping[Action, str]] = {
    Action.GENERATE: "generateContent",
    Action.STREAM: "streamGenerateContent",
    Action.COUNT: "countTokens",
}


def is_location(name: str) -> bool:
    """Whether a name can be a location: it becomes part of a host name."""
    return _LOCATION.match(name) is not None


def base_url(location: str) -> str:
    """Where a location is served."""
    if location == "global":
        return "https://aiplatform.googleapis.com"
    if location in _MULTI:
        return f"https://aiplatform.{location}.rep.googleapis.com"
    return f"https://{location}-aiplatform.googleapis.com"


def google_path(project: str, location: str, model: str, action: Action) -> str:
    """The path of a request to a Gemini model."""
    return f"{_publisher(project, location, 'google')}/models/{quote(model, safe='@')}:{METHODS[action]}"


def anthropic_path(project: str, location: str, model: str, *, stream: bool, count: bool) -> str:
    """The path of a request to a Claude model."""
    folder = _publisher(project, location, "anthropic")
    if count:
        return f"{folder}/models/count-tokens:rawPredict"
    return f"{folder}/models/{quote(model, safe='@')}:{'streamRawPredict' if stream else 'rawPredict'}"


def anthropic_body(data: Mapping[str, Any], *, count: bool) -> bytes:
    """The body of a messages request: the version goes in, the model stays only where the path does not name it."""
    kept = {key: value for key, value in data.items() if count or key != "model"}
    return json.dumps({"anthropic_version": ANTHROPIC_VERSION, **kept}, ensure_ascii=False).encode()


def _publisher(project: str, location: str, publisher: str) -> str:
    return f"/v1/projects/{quote(project, safe=':.')}/locations/{location}/publishers/{publisher}"

"""The one place that knows pydantic-ai: an endpoint becomes a client, a request becomes a `Reply` or a `RequestFailed`.

Importing pydantic-ai costs about a second: only `connect` does it, in the process that needs it. No retry happens below
here: a 429 or 500 is the supervisor's to see at once.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from devops_bench.agents.base import EndReason, ModelEndpoint, ToolCall, Usage
from devops_bench.errors import ConfigError

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.usage import RequestUsage

PROVIDERS = ("google", "vertex", "openai", "openai-responses", "anthropic", "openai-compatible", "scripted")
ERROR_LENGTH = 600


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to the model: `schema` is JSON Schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A tool call the model asks for. `args` is None when they are not a JSON object; `raw` is then what it sent."""

    name: str
    call_id: str
    args: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer. `finish`: stop, length, content_filter, tool_call, error, or empty when not told."""

    text: str
    reasoning: str
    calls: tuple[Wanted, ...]
    usage: Usage | None
    model: str | None
    finish: str


class RequestFailed(Exception):
    """No usable answer. `end` is the run's end; `raw` a short stable word for it (`http_429`, `connection` ...)."""

    def __init__(self, end: EndReason, raw: str, text: str) -> None:
        self.end = end
        self.raw = raw
        super().__init__(" ".join(text.split())[:ERROR_LENGTH])


class Conversation:
    """A model with the messages so far. Use inside one event loop; close it there."""

    def __init__(
        self,
        endpoint: ModelEndpoint,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        settings: Mapping[str, Any],
    ) -> None:
        """Connects to nothing yet. ConfigError for an unknown provider, a missing key, or pydantic-ai not installed."""
        self._model, self._http = connect(endpoint)
        from pydantic_ai.messages import ModelRequest, UserPromptPart
        from pydantic_ai.models import ModelRequestParameters
        from pydantic_ai.tools import ToolDefinition

        self._instructions = instructions
        self._messages: list[ModelMessage] = [
            ModelRequest(parts=[UserPromptPart(content=prompt)], instructions=instructions)
        ]
        self._settings: Any = {**settings, "max_retries": 0}
        # strict=False: providers' strict modes rewrite schemas, and every model must be offered the same tools.
        self._parameters = ModelRequestParameters(
            function_tools=[
                ToolDefinition(
                    name=tool.name,
                    description=tool.description,
                    parameters_json_schema=dict(tool.schema),
                    strict=False,
                )
                for tool in tools
            ]
        )

    async def ask(self, timeout: float) -> Reply:
        """Send everything so far; at most `timeout` seconds. Raises RequestFailed, or TimeoutError."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.exceptions import UserError

        try:
            async with asyncio.timeout(timeout):
                response = await model_request(
                    self._model,
                    self._messages,
                    model_settings=self._settings,
                    model_request_parameters=self._parameters,
                )
        except TimeoutError:
            raise
        except UserError as error:
            raise ConfigError(f"the model cannot be used: {error}") from None
        except Exception as error:
            raise failure(error) from error
        self._messages.append(response)
        return _reply(response)

    def answer(self, calls: Sequence[ToolCall]) -> None:
        """Hand the results of the last reply's tool calls back."""
        from pydantic_ai.messages import ModelRequest, ToolReturnPart

        parts = [ToolReturnPart(tool_name=call.name, content=call.result, tool_call_id=call.call_id) for call in calls]
        self._messages.append(ModelRequest(parts=parts, instructions=self._instructions))

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()


def connect(endpoint: ModelEndpoint) -> tuple[Model[Any], httpx2.AsyncClient]:
    """A pydantic-ai model for the endpoint, and the HTTP client to close in the end."""
    if endpoint.provider not in PROVIDERS:
        raise ConfigError(f"provider {endpoint.provider!r} is not known", fix=f"use one of {', '.join(PROVIDERS)}")
    if not endpoint.key and not endpoint.base_url and endpoint.provider != "vertex":
        raise ConfigError(f"no API key for provider {endpoint.provider}", fix="set AGENT_API_KEY or the provider's key")
    preload(endpoint.provider)
    import httpx2

    # A proxy of the environment is for the internet; a model on this host is never behind it.
    http = httpx2.AsyncClient(
        timeout=httpx2.Timeout(600, connect=15), trust_env=not _on_this_host(endpoint.base_url), follow_redirects=True
    )
    make = {"google": _google, "vertex": _google, "anthropic": _anthropic}.get(endpoint.provider, _openai)
    return make(endpoint, http), http


def preload(provider: str) -> None:
    """Import what a provider needs and no more: 2 to 4 CPU-seconds that a fork server pays once for all its combos.

    Raises ConfigError when the extra is not installed.
    """
    family = {"vertex": "google"}.get(provider, provider if provider in {"google", "anthropic"} else "openai")
    try:
        import_module("pydantic_ai.direct")
        import_module(f"pydantic_ai.models.{family}")
        import_module(f"pydantic_ai.providers.{family}")
    except ImportError as error:
        raise ConfigError(
            f"agent api needs the extra `agents` ({error.name} is missing)", fix="pip install 'devops-bench[agents]'"
        ) from None


def _openai(endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(api_key=endpoint.key or "none", base_url=endpoint.base_url, http_client=http)
    if endpoint.provider == "openai-responses":
        return OpenAIResponsesModel(endpoint.model, provider=provider)
    return OpenAIChatModel(endpoint.model, provider=provider)


def _anthropic(endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.providers.anthropic import AnthropicProvider

    provider = AnthropicProvider(api_key=endpoint.key or "none", base_url=endpoint.base_url, http_client=http)
    return AnthropicModel(endpoint.model, provider=provider)


def _google(endpoint: ModelEndpoint, http: httpx2.AsyncClient) -> Model[Any]:
    """The Gemini API by key, or Vertex by the host's ambient credentials (project and location by the environment)."""
    from google.auth.exceptions import GoogleAuthError
    from google.genai.types import HttpRetryOptions
    from pydantic_ai.models.google import GoogleModel
    from pydantic_ai.providers.google import GoogleProvider
    from pydantic_ai.providers.google_cloud import GoogleCloudProvider

    once, url = HttpRetryOptions(attempts=1), endpoint.base_url
    if endpoint.provider == "google":
        key = endpoint.key or "none"
        gemini = GoogleProvider(api_key=key, base_url=url, http_client=http, retry_options=once)
        return GoogleModel(endpoint.model, provider=gemini)
    project = os.environ.get("GOOGLE_CLOUD_PROJECT") or os.environ.get("GCP_PROJECT_ID")
    location = os.environ.get("GOOGLE_CLOUD_LOCATION") or "global"
    try:
        vertex = GoogleCloudProvider(
            project=project, location=location, base_url=url, http_client=http, retry_options=once
        )
    except (GoogleAuthError, ValueError) as error:
        raise ConfigError(
            f"no ambient Google Cloud credentials: {error}", fix="run `gcloud auth application-default login`"
        ) from None
    return GoogleModel(endpoint.model, provider=vertex)


def failure(error: Exception) -> RequestFailed:
    """What an exception of a request means. Refusals are the model's doing, all else is the API's."""
    from pydantic_ai.exceptions import ContentFilterError, ModelConnectionError, ModelHTTPError, UnexpectedModelBehavior

    if isinstance(error, ContentFilterError):
        return RequestFailed(EndReason.REFUSED, "content_filter", str(error))
    if isinstance(error, ModelHTTPError):
        wait = f", retry after {error.retry_after:g} s" if error.retry_after is not None else ""
        body = error.body if isinstance(error.body, str) else json.dumps(error.body, default=str)
        return RequestFailed(
            EndReason.API_ERROR, f"http_{error.status_code}", f"HTTP {error.status_code}{wait}: {body}"
        )
    if isinstance(error, UnexpectedModelBehavior):
        return RequestFailed(EndReason.API_ERROR, "bad_reply", f"the reply cannot be used: {error}")
    if isinstance(error, ModelConnectionError):
        return RequestFailed(EndReason.API_ERROR, "connection", str(error))
    return RequestFailed(EndReason.API_ERROR, "bad_reply", f"{type(error).__name__}: {error}")


def _reply(response: ModelResponse) -> Reply:
    from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

    calls = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            args, raw = _arguments(part.args)
            calls.append(Wanted(part.tool_name, part.tool_call_id, args, raw))
    return Reply(
        text="".join(part.content for part in response.parts if isinstance(part, TextPart)),
        reasoning="".join(part.content for part in response.parts if isinstance(part, ThinkingPart)),
        calls=tuple(calls),
        usage=_usage(response.usage),
        model=response.model_name,
        finish=response.finish_reason or "",
    )


def _arguments(args: Any) -> tuple[Mapping[str, Any] | None, str]:
    if isinstance(args, str):
        try:
            args = json.loads(args or "{}")
        except ValueError:
            return None, args
    if args is None:
        return {}, ""
    return (dict(args), "") if isinstance(args, Mapping) else (None, json.dumps(args, default=str))


def _usage(usage: RequestUsage) -> Usage | None:
    """Tokens of one request; pydantic-ai counts cached input as input and reasoning as output for every provider."""
    details = usage.details or {}
    reasoning = next((details[name] for name in ("reasoning_tokens", "thoughts_tokens") if details.get(name)), None)
    if not (usage.input_tokens or usage.output_tokens):
        return None
    return Usage(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cached=usage.cache_read_tokens or None,
        cache_write=usage.cache_write_tokens or None,
        reasoning=reasoning,
        total=usage.input_tokens + usage.output_tokens,
    )


def _on_this_host(url: str | None) -> bool:
    host = urlsplit(url or "").hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""OpenAI chat completions, also spoken by most other servers.

Source: the OpenAI API reference (chat.completion and chat.completion.chunk objects).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from devops_bench.models.wire import Conversation, Finish, Heading, History, Offered, Reply, pieces, sse, text_of

_FINISH = {
    Finish.STOP: "stop",
    Finish.CALLS: "tool_calls",
    Finish.MAX_TOKENS: "length",
    Finish.REFUSAL: "content_filter",
}
_TYPE = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def heading(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Heading:
    """What a chat completion request asks for."""
    return Heading(model, tuple(_tools(body)), bool(body.get("stream")), size)


def read(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Conversation:
    """A chat completion request."""
    head = heading(body, model, stream=stream, size=size)
    prompt, system, history = [], [], History()
    for message in body.get("messages", []):
        role, text = message.get("role"), text_of(message.get("content"))
        if role == "assistant":
            history.ours(call.get("id") for call in message.get("tool_calls") or [])
        elif role == "tool":
            history.result(text)
        elif role == "user":
            history.other()
            prompt.append(text)
        else:
            system.append(text)
    return Conversation(
        model=model,
        prompt="\n".join(prompt),
        turns=history.turns,
        results=tuple(history.results),
        tools=head.tools,
        stream=head.stream,
        size=size,
        system="\n".join(system),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[Offered]:
    for tool in body.get("tools") or []:
        function = tool.get("function")
        if function:
            yield Offered(function["name"], function.get("parameters") or {})


def usage(reply: Reply) -> dict[str, Any]:
    """A CompletionUsage."""
    tokens = reply.tokens
    return {
        "prompt_tokens": tokens.input,
        "completion_tokens": tokens.output,
        "total_tokens": tokens.total,
        "prompt_tokens_details": {"cached_tokens": tokens.cached},
        "completion_tokens_details": {"reasoning_tokens": tokens.reasoning},
    }


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.args))}}
        for call in reply.calls
    ]


def whole(reply: Reply) -> dict[str, Any]:
    """A chat.completion."""
    refused = reply.finish is Finish.REFUSAL
    message: dict[str, Any] = {
        "role": "assistant",
        "content": None if refused or (reply.calls and not reply.text) else reply.text,
        "refusal": (reply.text or "I cannot help with that.") if refused else None,
    }
    if reply.thinking:
        message["reasoning_content"] = reply.thinking
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _FINISH[reply.finish], "logprobs": None}
    return {**_head(reply, "chat.completion"), "choices": [choice], "usage": usage(reply)}


def _head(reply: Reply, kind: str) -> dict[str, Any]:
    return {"id": f"chatcmpl-{reply.id}", "object": kind, "created": reply.created, "model": reply.model}


def chunks(reply: Reply) -> Iterator[bytes]:
    """Chunks: role, text, calls (arguments in parts), finish reason, usage with no choices, [DONE]."""

    def chunk(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}
        return sse({**_head(reply, "chat.completion.chunk"), "choices": [choice], "usage": None})

    yield chunk({"role": "assistant", "content": ""})
    for part in pieces(reply.thinking, 2):
        yield chunk({"reasoning_content": part})
    if reply.finish is Finish.REFUSAL:
        yield chunk({"refusal": reply.text or "I cannot help with that."})
    else:
        for part in pieces(reply.text):
            yield chunk({"content": part})
    for at, call in enumerate(_calls(reply)):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield chunk({"tool_calls": [{**call, "index": at, "function": function}]})
        for part in pieces(call["function"]["arguments"], 2):
            yield chunk({"tool_calls": [{"index": at, "function": {"arguments": part}}]})
    yield chunk({}, _FINISH[reply.finish])
    yield sse({**_head(reply, "chat.completion.chunk"), "choices": [], "usage": usage(reply)})
    yield sse("[DONE]")


def error(status: int, message: str, retry_after: float | None) -> dict[str, Any]:
    """The error object."""
    kind = _TYPE.get(status, "server_error" if status >= 500 else "invalid_request_error")
    code = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}.get(status)
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}

"""Anthropic messages: the message object and its stream of typed events.

Source: the Anthropic API reference (Messages, streaming messages, errors).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from devops_bench.models.wire import (
    Conversation,
    Finish,
    Heading,
    History,
    Offered,
    Reply,
    new_id,
    pieces,
    sse,
    text_of,
)

_FINISH = {
    Finish.STOP: "end_turn",
    Finish.CALLS: "tool_use",
    Finish.MAX_TOKENS: "max_tokens",
    Finish.REFUSAL: "refusal",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def heading(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Heading:
    """What a messages request asks for."""
    return Heading(
        model,
        tuple(Offered(tool["name"], tool.get("input_schema") or {}) for tool in body.get("tools") or []),
        bool(body.get("stream")),
        size,
    )


def read(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Conversation:
    """A messages request."""
    head = heading(body, model, stream=stream, size=size)
    prompt, history = [], History()
    for message in body.get("messages", []):
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        if message.get("role") == "assistant":
            history.ours(block.get("id") for block in blocks if block.get("type") == "tool_use")
            continue
        history.other()
        for block in blocks:
            if block.get("type") == "tool_result":
                history.result(text_of(block.get("content")))
            elif block.get("type") == "text":
                prompt.append(block.get("text", ""))
    return Conversation(
        model=model,
        prompt="\n".join(prompt),
        turns=history.turns,
        results=tuple(history.results),
        tools=head.tools,
        stream=head.stream,
        size=size,
        system=text_of(body.get("system")),
    )


def _blocks(reply: Reply) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if reply.thinking:
        blocks.append({"type": "thinking", "thinking": reply.thinking, "signature": new_id("sig_")})
    if reply.text:
        blocks.append({"type": "text", "text": reply.text})
    blocks += [{"type": "tool_use", "id": call.id, "name": call.name, "input": dict(call.args)} for call in reply.calls]
    return blocks


def _usage(reply: Reply, output: int) -> dict[str, Any]:
    """`input_tokens` are those that were neither read from nor written to the cache."""
    tokens = reply.tokens
    usage = {
        "input_tokens": max(0, tokens.input - tokens.cached - tokens.cache_write),
        "cache_creation_input_tokens": tokens.cache_write,
        "cache_read_input_tokens": tokens.cached,
        "output_tokens": output,
    }
    # The stream's first event has one output token, before anything was thought.
    thought = min(output, tokens.reasoning) if output > 1 else 0
    return {**usage, "output_tokens_details": {"thinking_tokens": thought}} if thought else usage


def _message(reply: Reply, blocks: list[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": blocks,
        "stop_reason": _FINISH[reply.finish] if done else None,
        "stop_sequence": None,
        "usage": _usage(reply, reply.tokens.output if done else 1),
    }


def whole(reply: Reply) -> dict[str, Any]:
    """A message."""
    return _message(reply, _blocks(reply), done=True)


def chunks(reply: Reply) -> Iterator[bytes]:
    """message_start, the blocks, message_delta with stop reason and usage, message_stop."""

    def event(kind: str, **data: Any) -> bytes:
        return sse({"type": kind, **data}, event=kind)

    yield event("message_start", message=_message(reply, [], done=False))
    yield event("ping")
    for at, block in enumerate(_blocks(reply)):
        yield event("content_block_start", index=at, content_block=_empty(block))
        for delta in _deltas(block):
            yield event("content_block_delta", index=at, delta=delta)
        yield event("content_block_stop", index=at)
    delta = {"stop_reason": _FINISH[reply.finish], "stop_sequence": None}
    yield event("message_delta", delta=delta, usage=_usage(reply, reply.tokens.output))
    yield event("message_stop")


def _empty(block: dict[str, Any]) -> dict[str, Any]:
    empty: dict[str, dict[str, Any]] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return {**block, **empty[block["type"]]}


def _deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        for part in pieces(block["text"]):
            yield {"type": "text_delta", "text": part}
    elif block["type"] == "thinking":
        for part in pieces(block["thinking"], 2):
            yield {"type": "thinking_delta", "thinking": part}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        for part in pieces(json.dumps(block["input"]), 2):
            yield {"type": "input_json_delta", "partial_json": part}


def error(status: int, message: str, retry_after: float | None) -> dict[str, Any]:
    """The error object."""
    kind = _ERRORS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": new_id("req_")}

"""OpenAI responses: the response object and its stream of typed events.

Source: the OpenAI API reference (responses, streaming events). Codex offers an MCP server's tools as a `namespace`.
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
from devops_bench.models.wire import openai_chat as chat

_OURS = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}
_RESULTS = {"function_call_output", "custom_tool_call_output", "local_shell_call_output", "mcp_tool_call_output"}

# What an item has when it is announced and its parts are still to come.
_BEGUN: Mapping[str, dict[str, Any]] = {
    "message": {"content": []},
    "function_call": {"arguments": ""},
    "reasoning": {"summary": []},
}


def heading(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Heading:
    """What a responses request asks for."""
    return Heading(model, tuple(_tools(body.get("tools") or [], None)), bool(body.get("stream")), size)


def read(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Conversation:
    """A responses request; `input` is a text or a list of items."""
    head = heading(body, model, stream=stream, size=size)
    given = body.get("input") or []
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    prompt, system, history = [], [text_of(body.get("instructions"))], History()
    for item in items:
        kind, role = item.get("type", "message"), item.get("role")
        if kind in _OURS or role == "assistant":
            history.ours([item["call_id"]] if "call_id" in item else [])
        elif kind in _RESULTS:
            history.result(text_of(item.get("output")))
        elif role == "user":
            history.other()
            prompt.append(text_of(item.get("content")))
        elif role in {"system", "developer"}:
            system.append(text_of(item.get("content")))
    return Conversation(
        model=model,
        prompt="\n".join(prompt),
        turns=history.turns,
        results=tuple(history.results),
        tools=head.tools,
        stream=head.stream,
        size=size,
        system="\n".join(part for part in system if part),
    )


def _tools(tools: list[Mapping[str, Any]], namespace: str | None) -> Iterator[Offered]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tools(tool.get("tools") or [], tool["name"])
        elif "name" in tool:
            yield Offered(tool["name"], tool.get("parameters") or {}, namespace)


def _items(reply: Reply) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        items.append({"id": new_id("rs_"), "type": "reasoning", "summary": summary, "status": "completed"})
    if reply.finish is Finish.REFUSAL:
        items.append(_message({"type": "refusal", "refusal": reply.text or "I cannot help with that."}))
    elif reply.text:
        items.append(_message({"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}))
    for call in reply.calls:
        item = {
            "id": new_id("fc_"),
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": json.dumps(dict(call.args)),
            "status": "completed",
        }
        items.append(item if call.namespace is None else {**item, "namespace": call.namespace})
    return items


def _message(part: dict[str, Any]) -> dict[str, Any]:
    return {"id": new_id("msg_"), "type": "message", "role": "assistant", "status": "completed", "content": [part]}


def _response(reply: Reply, items: list[dict[str, Any]], *, done: bool) -> dict[str, Any]:
    cut = reply.finish is Finish.MAX_TOKENS
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": reply.created,
        "status": "in_progress" if not done else "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if done and cut else None,
        "instructions": None,
        "max_output_tokens": None,
        "model": reply.model,
        "output": items,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": False,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": _usage(reply) if done else None,
        "metadata": {},
    }


def _usage(reply: Reply) -> dict[str, Any]:
    tokens = reply.tokens
    return {
        "input_tokens": tokens.input,
        "input_tokens_details": {"cached_tokens": tokens.cached, "cache_write_tokens": tokens.cache_write},
        "output_tokens": tokens.output,
        "output_tokens_details": {"reasoning_tokens": tokens.reasoning},
        "total_tokens": tokens.total,
    }


def whole(reply: Reply) -> dict[str, Any]:
    """A response object."""
    return _response(reply, _items(reply), done=True)


def chunks(reply: Reply) -> Iterator[bytes]:
    """The event sequence, numbered."""
    items = _items(reply)
    last = "response.incomplete" if reply.finish is Finish.MAX_TOKENS else "response.completed"
    events: list[tuple[str, dict[str, Any]]] = [
        ("response.created", {"response": _response(reply, [], done=False)}),
        ("response.in_progress", {"response": _response(reply, [], done=False)}),
    ]
    for at, item in enumerate(items):
        events += _item_events(at, item)
    events.append((last, {"response": _response(reply, items, done=True)}))
    for number, (kind, data) in enumerate(events):
        yield sse({"type": kind, "sequence_number": number, **data}, event=kind)


def _item_events(at: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    where = {"item_id": item["id"], "output_index": at}
    begun = _BEGUN[item["type"]]
    added = {**item, **begun, "status": "in_progress"}
    yield "response.output_item.added", {"output_index": at, "item": added}
    if item["type"] == "function_call":
        for part in pieces(item["arguments"], 2):
            yield "response.function_call_arguments.delta", {**where, "delta": part}
        done = {**where, "name": item["name"], "arguments": item["arguments"]}
        yield "response.function_call_arguments.done", done
    elif item["type"] == "message":
        yield from _message_events({**where, "content_index": 0}, item["content"][0])
    else:
        yield from _reasoning_events({**where, "summary_index": 0}, item["summary"][0])
    yield "response.output_item.done", {"output_index": at, "item": item}


def _message_events(where: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    key = "refusal" if part["type"] == "refusal" else "text"
    name = "response.refusal" if key == "refusal" else "response.output_text"
    extra: dict[str, Any] = {} if key == "refusal" else {"logprobs": []}
    yield "response.content_part.added", {**where, "part": {**part, key: ""}}
    for piece in pieces(part[key]):
        yield f"{name}.delta", {**where, "delta": piece, **extra}
    yield f"{name}.done", {**where, key: part[key], **extra}
    yield "response.content_part.done", {**where, "part": part}


def _reasoning_events(where: dict[str, Any], part: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    yield "response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
    for piece in pieces(part["text"], 2):
        yield "response.reasoning_summary_text.delta", {**where, "delta": piece}
    yield "response.reasoning_summary_text.done", {**where, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**where, "part": part}


error = chat.error

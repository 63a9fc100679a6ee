"""Anthropic messages: the message object, and its stream of typed events.

Source: the Anthropic API reference (Messages, streaming, stop reasons, usage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devops_bench.models.replies.draft import Draft, items, mapping
from devops_bench.models.wire import Finish

_FINISH = {
    "end_turn": Finish.STOP,
    "stop_sequence": Finish.STOP,
    "pause_turn": Finish.STOP,
    "tool_use": Finish.CALLS,
    "max_tokens": Finish.MAX_TOKENS,
    "model_context_window_exceeded": Finish.MAX_TOKENS,
    "refusal": Finish.REFUSAL,
}


def whole(draft: Draft, reply: Mapping[str, Any]) -> None:
    """A message."""
    if reply.get("type") == "error":
        draft.fail(reply.get("error"))
        return
    draft.served(reply.get("model"))
    for at, block in enumerate(items(reply.get("content"))):
        _block(draft, at, block)
    _usage(draft, mapping(reply.get("usage")))
    _stop(draft, reply.get("stop_reason"))


def event(draft: Draft, event: Mapping[str, Any]) -> None:
    """One event of a stream. The usage of message_delta is cumulative and replaces that of message_start."""
    kind, at = event.get("type"), str(event.get("index"))
    if kind == "message_start":
        message = mapping(event.get("message"))
        draft.served(message.get("model"))
        _usage(draft, mapping(message.get("usage")))
    elif kind == "content_block_start":
        _block(draft, at, mapping(event.get("content_block")))
    elif kind == "content_block_delta":
        delta = mapping(event.get("delta"))
        draft.say(delta.get("text"))
        draft.args_part(at, delta.get("partial_json"))
    elif kind == "message_delta":
        _usage(draft, mapping(event.get("usage")))
        _stop(draft, mapping(event.get("delta")).get("stop_reason"))
    elif kind == "message_stop":
        draft.done = True
    elif kind == "error":
        draft.fail(event.get("error"))


def _block(draft: Draft, key: object, block: Mapping[str, Any]) -> None:
    if block.get("type") == "text":
        draft.say(block.get("text"))
    elif block.get("type") == "tool_use":
        draft.call(key, block.get("name"), block.get("id"))
        given = mapping(block.get("input"))
        if given:
            draft.args(key, given)


def _stop(draft: Draft, reason: object) -> None:
    if isinstance(reason, str):
        draft.finish, draft.done = _FINISH.get(reason), True


def _usage(draft: Draft, usage: Mapping[str, Any]) -> None:
    """`input_tokens` are those that were neither read from nor written to the cache: here they are added up."""
    draft.count(
        _fresh=usage.get("input_tokens"),
        cached=usage.get("cache_read_input_tokens"),
        cache_write=usage.get("cache_creation_input_tokens"),
        output=usage.get("output_tokens"),
        reasoning=mapping(usage.get("output_tokens_details")).get("thinking_tokens"),
    )
    if "_fresh" in draft.counts:
        counts = draft.counts
        draft.count(input=counts["_fresh"] + counts.get("cached", 0) + counts.get("cache_write", 0))

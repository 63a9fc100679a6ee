"""OpenAI responses: the response object, and its stream of typed events.

Source: the OpenAI API reference (responses, streaming events, ResponseUsage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devops_bench.models.replies.draft import Draft, items, mapping
from devops_bench.models.wire import Finish

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})
_INCOMPLETE = {"max_output_tokens": Finish.MAX_TOKENS, "content_filter": Finish.REFUSAL}


def whole(draft: Draft, reply: Mapping[str, Any]) -> None:
    """A response object."""
    if reply.get("error") and "output" not in reply:
        draft.fail(reply["error"])
        return
    for at, item in enumerate(items(reply.get("output"))):
        _item(draft, str(at), item, say=True)
    _end(draft, reply)


def event(draft: Draft, event: Mapping[str, Any]) -> None:
    """One event of a stream. Texts come as deltas, calls with their items; the last event repeats everything."""
    kind, at = str(event.get("type")), str(event.get("output_index"))
    if kind in {"response.output_text.delta", "response.refusal.delta"}:
        draft.say(event.get("delta"))
        draft.refusal = draft.refusal or kind == "response.refusal.delta"
    elif kind in {"response.output_item.added", "response.output_item.done"}:
        _item(draft, at, mapping(event.get("item")), say=False)
    elif kind in {"response.function_call_arguments.delta", "response.custom_tool_call_input.delta"}:
        draft.args_part(at, event.get("delta"))
    elif kind == "response.created":
        draft.served(mapping(event.get("response")).get("model"))
    elif kind in _ENDS:
        response = mapping(event.get("response"))
        if draft.empty:
            for number, item in enumerate(items(response.get("output"))):
                _item(draft, str(number), item, say=True)
        _end(draft, response)
    elif kind == "error":
        draft.fail(event.get("error") or event)


def _item(draft: Draft, key: str, item: Mapping[str, Any], *, say: bool) -> None:
    kind = item.get("type")
    if kind in _CALLS:
        name = item.get("name") or ("local_shell" if kind == "local_shell_call" else None)
        draft.call(key, name, item.get("call_id") or item.get("id"), item.get("namespace"))
        if item.get("arguments"):
            draft.args(key, item["arguments"])
        elif kind == "local_shell_call":
            draft.args(key, mapping(item.get("action")))
        elif item.get("input"):
            draft.args(key, {"input": item["input"]})
    elif kind == "message" and say:
        for part in items(item.get("content")):
            draft.say(part.get("text") or part.get("refusal"))
            draft.refusal = draft.refusal or part.get("type") == "refusal"


def _end(draft: Draft, response: Mapping[str, Any]) -> None:
    draft.served(response.get("model"))
    _usage(draft, mapping(response.get("usage")))
    status = response.get("status")
    if status == "completed":
        draft.finish, draft.done = Finish.STOP, True
    elif status == "incomplete":
        reason = mapping(response.get("incomplete_details")).get("reason")
        draft.finish, draft.done = _INCOMPLETE.get(str(reason)), True
    elif status in {"failed", "cancelled"}:
        draft.fail(response.get("error") or f"the response is {status}")


def _usage(draft: Draft, usage: Mapping[str, Any]) -> None:
    details = mapping(usage.get("input_tokens_details"))
    draft.count(
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cached=details.get("cached_tokens"),
        cache_write=details.get("cache_write_tokens"),
        reasoning=mapping(usage.get("output_tokens_details")).get("reasoning_tokens"),
    )

"""OpenAI chat completions and its many relatives.

Source: the OpenAI API reference (chat.completion, chat.completion.chunk, CompletionUsage).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devops_bench.models.replies.draft import Draft, items, mapping
from devops_bench.models.wire import Finish

_FINISH = {
    "stop": Finish.STOP,
    "tool_calls": Finish.CALLS,
    "function_call": Finish.CALLS,
    "length": Finish.MAX_TOKENS,
    "content_filter": Finish.REFUSAL,
}


def whole(draft: Draft, reply: Mapping[str, Any]) -> None:
    """A chat.completion."""
    _read(draft, reply, "message")


def event(draft: Draft, event: Mapping[str, Any]) -> None:
    """A chat.completion.chunk."""
    _read(draft, event, "delta")


def _read(draft: Draft, reply: Mapping[str, Any], field: str) -> None:
    if reply.get("error"):
        draft.fail(reply["error"])
        return
    draft.served(reply.get("model"))
    for choice in items(reply.get("choices"))[:1]:
        said = mapping(choice.get(field))
        draft.say(said.get("content"))
        if said.get("refusal"):
            draft.say(said["refusal"])
            draft.refusal = True
        for number, call in enumerate(items(said.get("tool_calls"))):
            # Some servers leave the index out; a new id then tells a new call.
            key = str(call.get("index", call.get("id") or number))
            function = mapping(call.get("function"))
            draft.call(key, function.get("name"), call.get("id"))
            draft.args_part(key, function.get("arguments"))
        reason = choice.get("finish_reason")
        if isinstance(reason, str):
            draft.finish, draft.done = _FINISH.get(reason), True
    _usage(draft, mapping(reply.get("usage")))


def _usage(draft: Draft, usage: Mapping[str, Any]) -> None:
    details = mapping(usage.get("prompt_tokens_details"))
    draft.count(
        input=usage.get("prompt_tokens"),
        output=usage.get("completion_tokens"),
        cached=details.get("cached_tokens", usage.get("prompt_cache_hit_tokens")),
        cache_write=details.get("cache_write_tokens"),
        reasoning=mapping(usage.get("completion_tokens_details")).get("reasoning_tokens"),
    )

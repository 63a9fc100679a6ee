"""Gemini API and Vertex: GenerateContentResponse, one or many.

Source: the Gemini API reference, v1beta (Candidate.FinishReason, PromptFeedback, UsageMetadata).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devops_bench.models.replies.draft import Draft, items, mapping
from devops_bench.models.wire import Finish

_FINISH = {"STOP": Finish.STOP, "MAX_TOKENS": Finish.MAX_TOKENS}
# Stopped by the provider's rules about content, not by a fault.
_BLOCKED = frozenset(
    {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY",
     "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR"}
)  # fmt: skip


def whole(draft: Draft, reply: Mapping[str, Any]) -> None:
    """A response; those of a stream add up."""
    if "error" in reply:
        draft.fail(reply["error"])
        return
    draft.served(reply.get("modelVersion"))
    if mapping(reply.get("promptFeedback")).get("blockReason"):
        draft.refusal = draft.done = True
    for candidate in items(reply.get("candidates"))[:1]:
        for part in items(mapping(candidate.get("content")).get("parts")):
            _part(draft, part)
        _finish(draft, candidate.get("finishReason"))
    _usage(draft, mapping(reply.get("usageMetadata")))


event = whole


def _part(draft: Draft, part: Mapping[str, Any]) -> None:
    call = mapping(part.get("functionCall"))
    if call.get("name"):
        key = object()
        draft.call(key, call["name"], call.get("id"))
        draft.args(key, mapping(call.get("args")))
    elif not part.get("thought"):
        draft.say(part.get("text"))


def _finish(draft: Draft, reason: object) -> None:
    if not isinstance(reason, str) or reason == "FINISH_REASON_UNSPECIFIED":
        return
    draft.done = True
    draft.finish = _FINISH.get(reason)
    draft.refusal = draft.refusal or reason in _BLOCKED


def _usage(draft: Draft, usage: Mapping[str, Any]) -> None:
    """Candidates leave the thoughts out; the prompt includes what was cached, but not what tools added."""

    def figure(name: str) -> int:
        value = usage.get(name)
        return value if isinstance(value, int) and not isinstance(value, bool) else 0

    if usage:
        draft.count(
            input=figure("promptTokenCount") + figure("toolUsePromptTokenCount"),
            output=figure("candidatesTokenCount") + figure("thoughtsTokenCount"),
            cached=usage.get("cachedContentTokenCount"),
            reasoning=usage.get("thoughtsTokenCount"),
        )

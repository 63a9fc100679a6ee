"""Gemini API: generateContent and streamGenerateContent (server-sent events, or a JSON array without `alt=sse`).

Source: the Gemini API reference, v1beta (GenerateContentRequest, GenerateContentResponse, google.rpc.Status).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from devops_bench.models.wire import Conversation, Finish, Heading, History, Offered, Reply, pieces, sse, text_of

_FINISH = {Finish.STOP: "STOP", Finish.CALLS: "STOP", Finish.MAX_TOKENS: "MAX_TOKENS", Finish.REFUSAL: "SAFETY"}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}


def heading(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Heading:
    """What a GenerateContentRequest asks for."""
    body = body.get("generateContentRequest", body)
    return Heading(model, tuple(_tools(body)), stream, size)


def read(body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Conversation:
    """A GenerateContentRequest (also the one nested in a countTokens request)."""
    head = heading(body, model, stream=stream, size=size)
    body = body.get("generateContentRequest", body)
    prompt, history = [], History()
    for content in body.get("contents", []):
        parts = content.get("parts") or []
        if content.get("role") == "model":
            history.ours(part["functionCall"].get("id") for part in parts if "functionCall" in part)
            continue
        history.other()
        for part in parts:
            if "functionResponse" in part:
                history.result(text_of(part["functionResponse"].get("response")))
        if not any("functionResponse" in part for part in parts):
            prompt.append(text_of([part for part in parts if "text" in part]))
    return Conversation(
        model=model,
        prompt="\n".join(prompt),
        turns=history.turns,
        results=tuple(history.results),
        tools=head.tools,
        stream=head.stream,
        size=size,
        system=text_of((body.get("systemInstruction") or body.get("system_instruction") or {}).get("parts")),
    )


def _tools(body: Mapping[str, Any]) -> Iterator[Offered]:
    for group in body.get("tools") or []:
        for tool in group.get("functionDeclarations") or group.get("function_declarations") or []:
            yield Offered(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})


def _parts(reply: Reply) -> list[dict[str, Any]]:
    thought = [{"text": reply.thinking, "thought": True}] if reply.thinking else []
    text = [{"text": reply.text}] if reply.text else []
    return [*thought, *text, *_calls(reply)]


def _calls(reply: Reply) -> list[dict[str, Any]]:
    return [{"functionCall": {"id": call.id, "name": call.name, "args": dict(call.args)}} for call in reply.calls]


def _response(reply: Reply, parts: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {
        "content": {"role": "model", "parts": parts} if parts else {"role": "model"},
        "index": 0,
    }
    response: dict[str, Any] = {
        "candidates": [candidate],
        "modelVersion": reply.model,
        "responseId": reply.id,
        "createTime": datetime.fromtimestamp(reply.created, UTC).isoformat().replace("+00:00", "Z"),
    }
    if last:
        candidate["finishReason"] = _FINISH[reply.finish]
        if reply.finish is Finish.REFUSAL:
            candidate["finishMessage"] = "The response was blocked by safety settings."
            candidate["safetyRatings"] = [
                {"category": "HARM_CATEGORY_DANGEROUS_CONTENT", "probability": "HIGH", "blocked": True}
            ]
        response["usageMetadata"] = _usage(reply)
    return response


def _usage(reply: Reply) -> dict[str, Any]:
    """Candidates do not include thoughts, the total does; the prompt includes what was cached."""
    tokens = reply.tokens
    usage = {
        "promptTokenCount": tokens.input,
        "candidatesTokenCount": tokens.output - tokens.reasoning,
        "totalTokenCount": tokens.total,
    }
    if tokens.cached:
        usage["cachedContentTokenCount"] = tokens.cached
    if tokens.reasoning:
        usage["thoughtsTokenCount"] = tokens.reasoning
    return usage


def whole(reply: Reply) -> dict[str, Any]:
    """A GenerateContentResponse."""
    return _response(reply, _parts(reply), last=True)


def responses(reply: Reply) -> list[dict[str, Any]]:
    """The GenerateContentResponses of a stream; usage and finish reason are in the last."""
    steps: list[list[dict[str, Any]]] = [[{"text": part, "thought": True}] for part in pieces(reply.thinking, 2)]
    steps += [[{"text": part}] for part in pieces(reply.text)]
    steps += [_calls(reply)] if reply.calls else []
    steps = steps or [[]]
    return [_response(reply, parts, last=at == len(steps) - 1) for at, parts in enumerate(steps)]


def chunks(reply: Reply) -> Iterator[bytes]:
    """A stream as server-sent events."""
    return (sse(response) for response in responses(reply))


def error(status: int, message: str, retry_after: float | None) -> dict[str, Any]:
    """A google.rpc.Status."""
    problem: dict[str, Any] = {"code": status, "message": message, "status": _STATUS.get(status, "UNKNOWN")}
    if retry_after is not None:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{retry_after:g}s"}
        problem["details"] = [retry]
    return {"error": problem}

"""A model API on loopback that answers from a list, in the four wire formats, and can fail in every way a provider
does.

Small on purpose: the agent's tests must not rest on the server that the product ships.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PROVIDERS = ("openai", "openai-responses", "anthropic", "google")
USAGE = {"input": 100, "output": 20, "cached": 40, "reasoning": 8}


@dataclass
class Turn:
    """One answer. `fault`: an HTTP status, `garbage`, `cut`, `hang`, or none. `finish`: stop, length, refusal."""

    text: str = ""
    calls: Sequence[tuple[str, Any]] = ()
    thinking: str = ""
    finish: str = "stop"
    fault: int | str = 0
    headers: dict[str, str] = field(default_factory=dict)


class Wire:
    """The server; `requests` are the bodies it got, `keys` what it was authorised with."""

    def __init__(self, provider: str, turns: Sequence[Turn]) -> None:
        self.provider = provider
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.release = threading.Event()
        left = list(turns)
        wire = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                wire.requests.append(json.loads(body))
                wire.headers.append({name.lower(): value for name, value in self.headers.items()})
                wire._answer(self, left.pop(0) if len(left) > 1 else left[0])

            def log_message(self, *_args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self.base_url = self.url + ("/v1" if provider.startswith("openai") else "")

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(30)

    def tools(self, request: int = 0) -> list[str]:
        """Names of the tools offered in a request."""
        offered = self.requests[request].get("tools", [])
        if self.provider == "google":
            return [item["name"] for tool in offered for item in tool["functionDeclarations"]]
        return [(item.get("function") or item)["name"] for item in offered]

    def _answer(self, handler: BaseHTTPRequestHandler, turn: Turn) -> None:
        data = json.dumps(getattr(self, "_" + self.provider.replace("-", "_"))(turn)).encode()
        status = 200
        if isinstance(turn.fault, int) and turn.fault:
            status, data = turn.fault, json.dumps({"error": {"type": "x", "message": f"said {turn.fault}"}}).encode()
        elif turn.fault == "garbage":
            data = b"<html>502 bad gateway</html>"
        elif turn.fault == "hang":
            self.release.wait(60)
            handler.close_connection = True
            return
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        handler.send_header("content-length", str(len(data)))
        for name, value in turn.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data[: len(data) // 2] if turn.fault == "cut" else data)
        handler.close_connection = turn.fault == "cut"

    def _openai(self, turn: Turn) -> dict[str, Any]:
        calls = [
            {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": _json(args)}}
            for i, (name, args) in enumerate(turn.calls)
        ]
        message: dict[str, Any] = {"role": "assistant", "content": turn.text or None}
        if turn.thinking:
            message["reasoning_content"] = turn.thinking
        if calls:
            message["tool_calls"] = calls
        if turn.finish == "refusal":
            message |= {"content": None, "refusal": "I cannot help with that."}
        finish = "tool_calls" if calls else {"refusal": "stop"}.get(turn.finish, turn.finish)
        return {
            "id": "r",
            "object": "chat.completion",
            "created": 1,
            "model": "served-1",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": USAGE["input"],
                "completion_tokens": USAGE["output"],
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": USAGE["cached"]},
                "completion_tokens_details": {"reasoning_tokens": USAGE["reasoning"]},
            },
        }

    def _openai_responses(self, turn: Turn) -> dict[str, Any]:
        output: list[dict[str, Any]] = []
        if turn.thinking:
            summary = [{"type": "summary_text", "text": turn.thinking}]
            output.append({"type": "reasoning", "id": "rs", "summary": summary})
        if turn.text or turn.finish == "refusal":
            part = {"type": "output_text", "text": turn.text, "annotations": []}
            if turn.finish == "refusal":
                part = {"type": "refusal", "refusal": "I cannot help with that."}
            output.append({"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]})
        for i, (name, args) in enumerate(turn.calls):
            call = {"type": "function_call", "id": f"f{i}", "call_id": f"c{i}", "name": name, "arguments": _json(args)}
            output.append({**call, "status": "completed"})
        cut = turn.finish == "length"
        return {
            "id": "r",
            "object": "response",
            "created_at": 1,
            "model": "served-1",
            "status": "incomplete" if cut else "completed",
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {
                "input_tokens": USAGE["input"],
                "output_tokens": USAGE["output"],
                "total_tokens": 120,
                "input_tokens_details": {"cached_tokens": USAGE["cached"]},
                "output_tokens_details": {"reasoning_tokens": USAGE["reasoning"]},
            },
        }

    def _anthropic(self, turn: Turn) -> dict[str, Any]:
        content: list[dict[str, Any]] = []
        if turn.thinking:
            content.append({"type": "thinking", "thinking": turn.thinking, "signature": "s"})
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        content += [
            {"type": "tool_use", "id": f"c{i}", "name": name, "input": args}
            for i, (name, args) in enumerate(turn.calls)
        ]
        stop = "tool_use" if turn.calls else {"stop": "end_turn", "length": "max_tokens"}.get(turn.finish, turn.finish)
        return {
            "id": "r",
            "type": "message",
            "role": "assistant",
            "model": "served-1",
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {
                "input_tokens": USAGE["input"] - USAGE["cached"],
                "cache_read_input_tokens": USAGE["cached"],
                "cache_creation_input_tokens": 0,
                "output_tokens": USAGE["output"],
            },
        }

    def _google(self, turn: Turn) -> dict[str, Any]:
        parts: list[dict[str, Any]] = []
        if turn.thinking:
            parts.append({"text": turn.thinking, "thought": True})
        if turn.text:
            parts.append({"text": turn.text})
        parts += [{"functionCall": {"name": name, "args": args}} for name, args in turn.calls]
        reason = {"stop": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}[turn.finish]
        return {
            "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}],
            "modelVersion": "served-1",
            "responseId": "r",
            "usageMetadata": {
                "promptTokenCount": USAGE["input"],
                "candidatesTokenCount": USAGE["output"] - USAGE["reasoning"],
                "thoughtsTokenCount": USAGE["reasoning"],
                "cachedContentTokenCount": USAGE["cached"],
                "totalTokenCount": 120,
            },
        }


def _json(args: Any) -> str:
    return args if isinstance(args, str) else json.dumps(args)

"""What of a symptom is the harness's or the agent program's own word, and what only quotes the world.

An agent's transcript and a task's workload may say anything, also the very words of an infrastructure fault: that may
be the fault the task planted. Callers give the router own words only; this is the second line, for text that people and
scripts paste: steps of transcripts, objects and events of a cluster and logs of its pods are left out.
"""

from __future__ import annotations

import json
import re
from typing import Any

LEAST = 64 << 10
"""Bytes kept from the beginning, and three times as many from the end."""
_ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
# kubectl logs --prefix, describe and get events, and what terminal agents draw before tool output.
_QUOTED = re.compile(
    r"\s*(?:\[pod/[^\]]+\]"
    r"|(?:pod|deployment|statefulset|daemonset|job|cronjob|replicaset)s?/\S+[:\s]"
    r"|(?:Warning|Normal)\s+\w+\s.*"
    r"|(?:\S+\s+)?(?:\d+[smhd]\S*\s+)(?:Warning|Normal)\s+\w+\s"
    r"|[⎿●✓✔]"
    r"|(?:tool(?:[ _-](?:result|output|response|call))?|observation|function_call_output|assistant)\s*:"
    r"|(?:container|workload)\s+\S+\s*:"
    r"|\$\s)",
    re.I,
)
_STEP_TYPES = frozenset(
    {
        "tool_use",
        "tool_result",
        "tool_call",
        "tool_response",
        "tool",
        "user",
        "assistant",
        "message",
        "function_call",
        "function_call_output",
        "mcp_tool_call",
        "command_execution",
        "agent_message",
        "reasoning",
        "thought",
        "thinking",
        "text",
        "item.completed",
        "item.started",
        "item.updated",
        "file_change",
        "step",
        "observation",
    }
)
_COLON = re.compile(r'":[ \t]*')
# Keys of result documents that hold the model's own text.
_MODEL_TEXT = frozenset({"response", "payloads", "trajectory", "transcript", "messages", "steps", "turns", "toolCalls"})
_ROLES = frozenset({"assistant", "user", "tool", "function", "model"})


def own_words(text: str) -> str:
    """`text` in lower case without control sequences and without what it only quotes; JSON quotes unescaped."""
    if len(text) > 4 * LEAST:
        text = text[:LEAST] + "\n" + text[-3 * LEAST :]
    text = _ANSI.sub("", text).replace("\0", "")
    whole = _decoded(text)
    text = "\n".join(_speech(whole) if whole is not None else _lines(text))
    text = text.replace('\\"', '"').replace("\\n", "\n")
    return _COLON.sub('": ', text).lower()


def _lines(text: str) -> list[str]:
    kept = []
    for line in text.splitlines():
        decoded = _decoded(line)
        if decoded is not None:
            kept.extend(_speech(decoded))
        elif not _QUOTED.match(line):
            kept.append(line)
    return kept


def _decoded(text: str) -> Any:
    """A JSON object or list, else None."""
    bare = text.strip()
    if bare[:1] not in {"{", "["} or len(bare) < 2:
        return None
    try:
        return json.loads(bare)
    except (ValueError, RecursionError):
        return None


def _speech(data: Any, depth: int = 0) -> list[str]:
    """The texts of a decoded document, steps and cluster objects left out."""
    if isinstance(data, list):
        return [text for item in data for text in _speech(item, depth + 1)] if depth < 20 else []
    if not isinstance(data, dict):
        return [str(data)] if depth else [json.dumps(data)]
    if _is_step(data) or _is_object(data):
        return []
    if not any(isinstance(value, dict | list) for value in data.values()):
        return [json.dumps({k: v for k, v in data.items() if k not in _MODEL_TEXT}, ensure_ascii=False)]
    found = []
    for key, value in data.items():
        if key in _MODEL_TEXT:
            continue
        if isinstance(value, dict | list):
            found += _speech(value, depth + 1) if depth < 20 else []
        else:
            found.append(json.dumps({key: value}, ensure_ascii=False)[1:-1])
    return found


def _is_step(data: dict[str, Any]) -> bool:
    kind, role = str(data.get("type", "")).lower(), str(data.get("role", "")).lower()
    if kind in _STEP_TYPES and "error" not in data:
        return True
    if kind == "result" and not data.get("is_error") and str(data.get("subtype", "success")) == "success":
        return data.get("status") != "error"  # how a turn ended, with the model's last words
    return role in _ROLES or {"name", "args", "result"} <= data.keys() or {"tool", "output"} <= data.keys()


def _is_object(data: dict[str, Any]) -> bool:
    # A Status is the API server's own answer; everything else with a kind is somebody's object.
    if "involvedObject" in data:
        return True
    return "apiVersion" in data and "kind" in data and data.get("kind") != "Status"

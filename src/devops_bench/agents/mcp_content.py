"""What a model sees of MCP: the text of a tool's result, and a tool's schema in the form that every provider takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

# Providers refuse these at the top of a tool's schema (Anthropic, OpenAI) or do not know them.
_NOT_ON_TOP = frozenset({"$schema", "$id", "oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum"})
_DEFINITIONS = "#/$defs/"


def result_text(item: Mapping[str, Any]) -> tuple[str, bool]:
    """The text of a JSON-RPC reply to `tools/call`, and whether it is an error. Parts that are no text are named."""
    if "error" in item:
        error = item["error"]
        return str(error.get("message", error) if isinstance(error, Mapping) else error), True
    result = item.get("result")
    if not isinstance(result, Mapping):
        return json.dumps(result), False
    content, bad = result.get("content"), result.get("isError") is True
    if not isinstance(content, Sequence) or isinstance(content, str):
        return json.dumps(result, ensure_ascii=False), bad
    text = "\n".join(_part(part) for part in content)
    if not text and "structuredContent" in result:
        text = json.dumps(result["structuredContent"], ensure_ascii=False)
    return text, bad


def shortened(text: str, cap: int) -> str:
    """At most `cap` characters and a notice: head and tail, and how much is missing between."""
    if len(text) <= cap:
        return text
    half = cap // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def plain_schema(schema: object) -> dict[str, Any]:
    """An MCP tool's `inputSchema` as an object schema that all providers take; what they refuse is left out.

    References are kept where they lead to the schema's own definitions; others become "anything".
    """
    source = schema if isinstance(schema, Mapping) else {}
    own = {**_mapping(source.get("definitions")), **_mapping(source.get("$defs"))}
    kept = {key: _plain(item, own) for key, item in source.items() if key not in _NOT_ON_TOP | {"definitions", "$defs"}}
    definitions = {name: _plain(item, own) for name, item in own.items()}
    kept |= {"type": "object", "properties": _mapping(kept.get("properties"))}
    if definitions:
        kept["$defs"] = definitions
    return kept


def _plain(item: Any, own: Mapping[str, Any]) -> Any:
    if isinstance(item, list):
        return [_plain(part, own) for part in item]
    if not isinstance(item, Mapping):
        return item
    reference = item.get("$ref")
    if isinstance(reference, str):
        name = reference.replace("#/definitions/", _DEFINITIONS, 1).removeprefix(_DEFINITIONS)
        rest = {key: _plain(part, own) for key, part in item.items() if key != "$ref"}
        return {**rest, "$ref": _DEFINITIONS + name} if name in own else rest
    return {key: _plain(part, own) for key, part in item.items()}


def _mapping(item: object) -> dict[str, Any]:
    return dict(item) if isinstance(item, Mapping) else {}


def _part(part: object) -> str:
    if not isinstance(part, Mapping):
        return json.dumps(part)
    kind = part.get("type")
    if kind == "text":
        return str(part.get("text", ""))
    if kind == "resource" and isinstance(part.get("resource"), Mapping) and "text" in part["resource"]:
        return str(part["resource"]["text"])
    if kind == "resource_link":
        return str(part.get("uri", ""))
    return f"[{kind} {part.get('mimeType', '')} of {len(str(part.get('data', '')))} characters]"

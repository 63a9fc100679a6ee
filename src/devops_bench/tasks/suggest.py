"""Wording of what is wrong with a value: `did you mean`, and one line for each pydantic error."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

_WANTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "finite_number": "a finite number",
}


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`did you mean X?`, or the list of what there is when it is short, or an empty string."""
    options = sorted(set(known))
    lowered = {option.lower(): option for option in options}
    close = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.6)
    if close:
        return f"did you mean {lowered[close[0]]}?"
    return f"use one of: {', '.join(options)}" if options and len(options) <= 20 else ""


def kind_of(value: Any) -> str:
    """What a YAML value is, in words, with the value itself when it is short."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {str(value).lower()}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the text {_short(value)!r}"
    return "a list" if isinstance(value, list) else "a mapping"


def _short(text: str, limit: int = 40) -> str:
    line = text.split("\n", 1)[0]
    return line if len(line) <= limit else line[: limit - 3] + "..."


def dotted(loc: Iterable[str | int]) -> str:
    """`check.checks[0].op` for a location."""
    out = ""
    for part in loc:
        out += f"[{part}]" if isinstance(part, int) else f".{part}" if out else str(part)
    return out


def explain(kind: str, loc: tuple[str | int, ...], value: Any, context: dict[str, Any], known: Iterable[str]) -> str:
    """One line for a pydantic error of type `kind` at `loc`; `known` are the keys allowed at that place."""
    name = dotted(loc)
    key = str(loc[-1]) if loc else ""
    if kind == "extra_forbidden":
        return f"unknown key {name!r}; {did_you_mean(key, known)}".rstrip("; ")
    if kind == "missing":
        return f"{name} is missing"
    if kind in {"enum", "literal_error"}:
        options = [part.strip().strip("'") for part in str(context.get("expected", "")).replace(" or ", ",").split(",")]
        return f"{name} cannot be {_plain(value)}; {did_you_mean(str(value), filter(None, options))}"
    if kind in _WANTED:
        quote = " (quote it)" if kind == "string_type" and isinstance(value, (bool, int, float)) else ""
        return f"{name} must be {_WANTED[kind]}, not {kind_of(value)}{quote}"
    if kind == "greater_than":
        return f"{name} must be greater than {context.get('gt'):g}, not {value}"
    if kind == "greater_than_equal":
        return f"{name} must be at least {context.get('ge'):g}, not {value}"
    if kind == "value_error":
        return f"{name} {context.get('error')}"
    if kind in {"too_short", "string_too_short"}:
        return f"{name} must not be empty"
    return f"{name}: {kind.replace('_', ' ')} ({kind_of(value)})"


def _plain(value: Any) -> str:
    return repr(_short(value)) if isinstance(value, str) else kind_of(value)

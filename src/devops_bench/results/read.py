"""Reading result files of any age: checked types, one line of error with the file's name, unknown keys kept.

Newer keys may be missing and stay missing (a reader must not invent a zero); what is there must have the right type.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.results import jsontext
from devops_bench.results.scorekeys import number
from devops_bench.results.setup import RUN_ID, parse_time


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and bool(parse_time(value))
    except ValueError:
        return False


Kind = tuple[str, Callable[[Any], bool]]
STR: Kind = ("a string", lambda value: isinstance(value, str))
TEXT: Kind = ("a non-empty string", lambda value: isinstance(value, str) and bool(value))
BOOL: Kind = ("true or false", lambda value: isinstance(value, bool))
INT: Kind = ("a whole number >= 0", lambda value: _is_int(value) and value >= 0)
NUMBER: Kind = ("a number", lambda value: number(value) is not None)
STRINGS: Kind = ("a list of strings", lambda value: isinstance(value, list) and all(isinstance(x, str) for x in value))
OBJECT: Kind = ("an object", lambda value: isinstance(value, dict))
OBJECTS: Kind = ("a list of objects", lambda value: isinstance(value, list) and all(isinstance(x, dict) for x in value))
TIME: Kind = ("a UTC time like 2026-01-31T12:00:00Z", _is_time)
RUN: Kind = ("run_<YYYYmmdd_HHMMSS>[_...]", lambda value: isinstance(value, str) and bool(RUN_ID.fullmatch(value)))


def _or_null(kind: Kind) -> Kind:
    name, test = kind
    return (f"{name} or null", lambda value: value is None or test(value))


ROW_REQUIRED: dict[str, Kind] = {
    "setupId": TEXT,
    "model": STR,
    "harness": STR,
    "runId": RUN,
    "t": TIME,
    "taskFolder": TEXT,
    "taskName": STR,
    "iteration": INT,
    "status": STR,
    "augmentation": STRINGS,
}
"""The identity of a row: in every version of the format."""

ROW_OPTIONAL: dict[str, Kind] = {
    "scoringVersion": STR,
    "latencySec": NUMBER,
    "catastrophic": BOOL,
    "catastrophicUnresolved": BOOL,
    "validated": BOOL,
    "outcomeScore": _or_null(NUMBER),
    "correctnessScore": _or_null(NUMBER),
    "recoverableSafetyScore": _or_null(NUMBER),
    "toolScore": _or_null(NUMBER),
    "toolWaitSec": _or_null(NUMBER),
    "timeoutSec": _or_null(NUMBER),
    "taskTitle": STR,
    "taskSummary": STR,
    "taskCategory": STR,
    "servedModel": STR,
    "terminalReason": STR,
    "taskTags": STRINGS,
    "catastrophicKinds": STRINGS,
    "checkGroups": OBJECT,
    "checks": OBJECTS,
    "sandboxed": _or_null(BOOL),
    "toolCalls": _or_null(INT),
    "toolErrors": _or_null(INT),
    "modelTurns": _or_null(INT),
    "inputTokens": _or_null(INT),
    "outputTokens": _or_null(INT),
    "cachedTokens": _or_null(INT),
    "reasoningTokens": _or_null(INT),
    "cacheWriteTokens": _or_null(INT),
    "totalTokens": _or_null(INT),
}
"""Newer keys: may be missing."""

MANIFEST_REQUIRED: dict[str, Kind] = {
    "runId": RUN,
    "t": TIME,
    "setupId": TEXT,
    "model": STR,
    "harness": STR,
    "augmentation": STRINGS,
}
MANIFEST_OPTIONAL: dict[str, Kind] = {
    "schemaVersion": INT,
    "timeoutSec": _or_null(NUMBER),
    "judgeModel": _or_null(STR),
    "sandboxImage": _or_null(STR),
    "sandboxImageDigest": _or_null(STR),
}


def check_object(
    value: Any, where: Path, label: str, required: dict[str, Kind], optional: dict[str, Kind]
) -> dict[str, Any]:
    """`value` itself if it is an object whose known keys have the right types; else ConfigError naming file and key."""
    fix = "correct or remove that file"
    if not isinstance(value, dict):
        raise ConfigError(f"{label} is not an object", where=where, fix=fix)
    for key, (wanted, test) in required.items():
        if key not in value:
            raise ConfigError(f"{label}: {key} is missing", where=where, fix=fix)
        if not test(value[key]):
            raise ConfigError(f"{label}: {key} is {_short(value[key])}, not {wanted}", where=where, fix=fix)
    for key, (wanted, test) in optional.items():
        if key in value and not test(value[key]):
            raise ConfigError(f"{label}: {key} is {_short(value[key])}, not {wanted}", where=where, fix=fix)
    return value


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a rows.json as they stand there. Raises ConfigError naming the file, the row (from 0) and the key."""
    return [
        check_object(item, path, f"row {index}", ROW_REQUIRED, ROW_OPTIONAL) for index, item in enumerate(_list(path))
    ]


def read_manifest(path: Path) -> dict[str, Any]:
    """A manifest.json as it stands. Raises ConfigError naming the file and the key."""
    return check_object(jsontext.read(path), path, "manifest", MANIFEST_REQUIRED, MANIFEST_OPTIONAL)


def read_records(path: Path) -> list[dict[str, Any]]:
    """The records of a results.json. Only the shape is checked: a list of objects."""
    return [check_object(item, path, f"record {index}", {}, {}) for index, item in enumerate(_list(path))]


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object (attempt.json, outcome.json, environment.json)."""
    return check_object(jsontext.read(path), path, "content", {}, {})


def _list(path: Path) -> list[Any]:
    data = jsontext.read(path)
    if not isinstance(data, list):
        raise ConfigError("not a list", where=path, fix="correct or remove that file")
    return data


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."

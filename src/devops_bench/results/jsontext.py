"""JSON as we write and read it: finite numbers, encodable text, and one line of error that names the file.

NaN and Infinity are not JSON; whoever wrote one meant "unknown", so it becomes null. Lone surrogates (a model can emit
them) cannot be encoded as UTF-8 and become the replacement character.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import date
from enum import Enum
from pathlib import Path, PurePath
from typing import Any

from devops_bench.errors import ConfigError

MAX_FILE_BYTES = 256 << 20
"""A result file larger than this (bytes) is not ours; reading it would take the host down."""


def clean(value: Any) -> Any:
    """A JSON-able copy of `value`: non-finite floats become None, tuples lists, enums their value, keys strings."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Enum):
        return clean(value.value)
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {clean(key if isinstance(key, str) else str(key)): clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [clean(item) for item in items]
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return clean(str(value))
    if isinstance(value, bytes | bytearray):
        return bytes(value).decode("utf-8", "replace")
    if is_dataclass(value) and not isinstance(value, type):
        return clean(asdict(value))
    return clean(str(value))


def dumps(value: Any, *, indent: int | None = 1) -> str:
    """JSON text of `value` after `clean`, with a trailing newline."""
    return json.dumps(clean(value), indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def read(path: Path) -> Any:
    """Decoded JSON of `path`.

    NaN and Infinity written by others are read as None. Raises ConfigError naming the file when it is missing, too
    large, torn, too deep or not JSON.
    """
    fix = "restore it from a copy, or delete the folder and run that combo again"
    try:
        with path.open("rb") as handle:
            if os.fstat(handle.fileno()).st_size > MAX_FILE_BYTES:
                raise ConfigError(f"larger than {MAX_FILE_BYTES >> 20} MiB: not a result file", where=path)
            raw = handle.read()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=path) from None
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=lambda _name: None)
    except json.JSONDecodeError as error:
        raise ConfigError(f"not valid JSON: {error.msg}", where=path, line=error.lineno, fix=fix) from None
    except UnicodeDecodeError:
        raise ConfigError("not valid JSON: not UTF-8 text", where=path, fix=fix) from None
    except (RecursionError, ValueError) as error:
        raise ConfigError(f"not valid JSON: {type(error).__name__}", where=path, fix=fix) from None

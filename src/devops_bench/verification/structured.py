"""Text that an agent wrote, as plain data: JSON, TOML or YAML (1.2, several documents), bounded in every direction.

Hostile input: a bomb of aliases or of merge keys, a self-reference, nesting that overflows a C parser's stack,
megabytes. The YAML parser is the pure Python one on purpose: the C one dies of a deep document, and the combo with it.
"""

from __future__ import annotations

import json
import math
import tomllib
from datetime import date, datetime, time
from typing import Any

MOST_BYTES = 1 << 20  # of JSON or TOML
MOST_YAML_BYTES = 256 << 10  # about 5 s of the pure parser at worst
MOST_NODES = 50_000
MOST_DEPTH = 100


class Unreadable(ValueError):
    """The text is not what its name says, or too large; the message is one line."""


def parse(text: str, name: str, kind: str | None = None) -> list[Any]:
    """The documents in `text`; without a kind the ending of `name` tells it, YAML by default. Raises Unreadable."""
    ending = kind or name.rpartition(".")[2].lower()
    limit = MOST_BYTES if ending in {"json", "toml"} else MOST_YAML_BYTES
    if len(text) > limit:
        raise Unreadable(f"{name} is larger than {limit >> 10} KiB")
    try:
        if ending == "json":
            documents = [json.loads(text)]
        elif ending == "toml":
            documents = [tomllib.loads(text)]
        else:
            documents = _yaml(text)
    except RecursionError:
        raise Unreadable(f"{name} is nested too deep") from None
    except (ValueError, ArithmeticError) as error:
        raise Unreadable(
            f"{name} cannot be parsed: {str(error).splitlines()[0] if str(error) else 'malformed'}"
        ) from None
    budget = [MOST_NODES]
    return [_plain(document, budget, 0, name) for document in documents if document is not None]


def _yaml(text: str) -> list[Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.constructor import SafeConstructor
    from ruamel.yaml.error import YAMLError

    total = 0

    class Bounded(SafeConstructor):
        """Counts a document before it makes objects of it: merge keys are written out while they are made."""

        def construct_document(self, node: Any) -> Any:
            nonlocal total
            total += _expanded(node, {})
            if total > 2 * MOST_NODES:  # keys are nodes, too
                raise ValueError(f"more than {MOST_NODES} values (aliases counted)")
            return super().construct_document(node)

    yaml = YAML(typ="safe", pure=True)
    yaml.Constructor = Bounded
    try:
        return list(yaml.load_all(text))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}: " if mark is not None else ""
        raise ValueError(place + str(getattr(error, "problem", None) or "malformed YAML")) from None
    except (TypeError, AttributeError, KeyError, AssertionError) as error:
        # The parser's own slips on odd documents (unhashable keys and the like).
        raise ValueError(f"malformed YAML ({type(error).__name__})") from None


def _expanded(node: Any, known: dict[int, int]) -> int:
    """How many nodes there are with every alias written out. Each one is looked at once, so it takes no longer than
    reading did. Raises ValueError for a node within itself.
    """
    size = known.get(id(node))
    if size is None:
        known[id(node)] = -1  # under way
        size = 1
        for item in node.value if isinstance(node.value, list) else ():
            for child in item if isinstance(item, tuple) else (item,):
                size += _expanded(child, known)
        known[id(node)] = size
    if size < 0:
        raise ValueError("a value that contains itself")
    return size


def _plain(value: Any, budget: list[int], depth: int, name: str) -> Any:
    """A copy of plain JSON types without shared parts, so that nothing later can explode."""
    budget[0] -= 1
    if budget[0] < 0:
        raise Unreadable(f"{name} has more than {MOST_NODES} values (aliases counted)")
    if depth > MOST_DEPTH:
        raise Unreadable(f"{name} is nested deeper than {MOST_DEPTH}")
    if isinstance(value, dict):
        return {str(key): _plain(item, budget, depth + 1, name) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item, budget, depth + 1, name) for item in value]
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return str(value)

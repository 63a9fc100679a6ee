"""JSONPath over objects that an agent controls, with the question "which elements lack the field?" answered.

Written as `$.spec.x`, `spec.x`, `.spec.x` or kubectl's `{.spec.x}`; a label key may be `labels['a.b/c']` or kubectl's
`labels.a\\.b/c`. A plain JSONPath query drops elements that lack the field, so that "every container has a CPU limit"
would hold for a container without limits. Here the path is cut after its last fan-out (`[*]`, filter, slice, union):
each element found by the first part yields its value of the second part, or MISSING. Patterns inside filters are
refused: they would run in backtracking time over hostile text, and `op: matches` does the same safely.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from devops_bench.verification.ops import MISSING

if TYPE_CHECKING:
    # A quarter of a second of imports: paid when a path is compiled, by the fork server if a task has one.
    from jsonpath.segments import JSONPathSegment

MOST_MATCHES = 10_000  # of one object: a recursive path over a hostile object must end


class BadPath(ValueError):
    """The task's path is not a JSONPath."""


class TooManyMatches(ValueError):
    """The object makes the path explode."""


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path: `head` finds the elements, `tail` the field of each."""

    text: str
    head: tuple[JSONPathSegment, ...]
    tail: tuple[JSONPathSegment, ...]

    def values(self, document: Any) -> list[Any]:
        """One value per element, MISSING for those that lack the field; [MISSING] when there is no element at all.

        Raises TooManyMatches.
        """
        elements = _resolve(self.head, document) if self.head else [document]
        found: list[Any] = []
        for element in elements:
            values = _resolve(self.tail, element) if self.tail else [element]
            found.extend(values or [MISSING])
        return found or [MISSING]


@lru_cache(maxsize=512)
def compile_path(text: str) -> Path:
    """Compile `text`. Raises BadPath naming it."""
    if _PATTERN_IN_FILTER.search(_QUOTED.sub("''", text)):
        raise BadPath(f"path {text!r} holds a pattern; use op: matches")
    import jsonpath

    try:
        query = jsonpath.compile(normalise(text))
    except (jsonpath.JSONPathError, ValueError, RecursionError) as error:
        raise BadPath(f"path {text!r} is not a JSONPath: {str(error).splitlines()[0]}") from None
    if not isinstance(query, jsonpath.JSONPath) or not query.segments:
        raise BadPath(f"path {text!r} selects no field")
    last = max((place for place, segment in enumerate(query.segments) if not _single(segment)), default=-1)
    return Path(text, query.segments[: last + 1], query.segments[last + 1 :])


def _single(segment: JSONPathSegment) -> bool:
    """True when the segment yields at most one child."""
    from jsonpath.segments import JSONPathRecursiveDescentSegment
    from jsonpath.selectors import IndexSelector, NameSelector

    if isinstance(segment, JSONPathRecursiveDescentSegment) or len(segment.selectors) != 1:
        return False
    return isinstance(segment.selectors[0], NameSelector | IndexSelector)


def _resolve(segments: Sequence[JSONPathSegment], document: Any) -> list[Any]:
    import jsonpath

    query = jsonpath.JSONPath(env=segments[0].env, segments=segments)
    found: list[Any] = []
    try:
        # A string would be parsed as JSON by the library: a scalar has no children.
        matches = query.finditer(document) if isinstance(document, dict | list) else ()
        for match in matches:
            found.append(match.obj)
            if len(found) > MOST_MATCHES:
                raise TooManyMatches(f"more than {MOST_MATCHES} matches in one object")
    except (jsonpath.JSONPathError, RecursionError) as error:
        raise TooManyMatches(f"the object is too deep or the filter does not fit it: {error}") from None
    return found


_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_PATTERN_IN_FILTER = re.compile(r"=~|\b(?:match|search)\s*\(")
_UNQUOTED = frozenset("_-/:@*")
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def normalise(text: str) -> str:
    """Any accepted spelling as standard JSONPath: `spec.labels.a-b` becomes `$.spec.labels['a-b']`."""
    path = text.strip()
    if path.startswith("{") and path.endswith("}"):
        path = path[1:-1].strip()
    if path.startswith("$"):
        path = path[1:]
    out, name, place = ["$"], "", 0
    pending_dot = bool(path) and path[0] not in ".["

    def flush() -> None:
        nonlocal name, pending_dot
        if name:
            quoted = name.replace("\\", "\\\\").replace("'", "\\'")
            out.append(f".{name}" if name == "*" or _PLAIN.match(name) else f"['{quoted}']")
        elif pending_dot:
            raise BadPath(f"path {text!r} has an empty name")
        name, pending_dot = "", False

    while place < len(path):
        char = path[place]
        if char == "\\" and place + 1 < len(path):
            name += path[place + 1]
            place += 2
        elif path.startswith("..", place):
            flush()
            end = _name_end(path, place + 2)
            out.append(path[place:end])
            place = end
        elif char == ".":
            if name or pending_dot:
                flush()
            pending_dot = True
            place += 1
        elif char == "[":
            if name:
                flush()
            pending_dot = False
            end = _bracket_end(path, place, text)
            out.append(path[place:end])
            place = end
        elif char.isalnum() or char in _UNQUOTED:
            name += char
            pending_dot = True
            place += 1
        else:
            raise BadPath(f"path {text!r} holds {char!r} in a name; quote the name: ['...']")
    if name or pending_dot:
        flush()
    return "".join(out)


def _name_end(path: str, start: int) -> int:
    while start < len(path) and path[start] not in ".[":
        start += 1
    return start


def _bracket_end(path: str, start: int, text: str) -> int:
    """The index after the bracket that closes the one at `start`; quotes hide brackets."""
    depth, quote, place = 0, "", start
    while place < len(path):
        char = path[place]
        if quote:
            if char == "\\":
                place += 1
            elif char == quote:
                quote = ""
        elif char in "'\"":
            quote = char
        elif char == "[":
            depth += 1
        elif char == "]":
            depth -= 1
            if depth == 0:
                return place + 1
        place += 1
    raise BadPath(f"path {text!r} has an open bracket")

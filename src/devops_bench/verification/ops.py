"""The operators of a check, as functions of two values. Pure; the left side comes from the cluster and is hostile.

A wrong kind of left value (text where a number is compared) is a failed comparison: the agent made it. A wrong kind of
expected value is the task's mistake and raises BadExpectation, which a check reports as an error.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, Final

from devops_bench.tasks.checks import Op
from devops_bench.verification import quantity

_LONGEST_TEXT = 1 << 20  # characters given to a regular expression
_LONGEST_SHOWN = 120


class BadExpectation(ValueError):
    """The task's own value or pattern cannot be used with its operator."""


class Missing:
    """The field is not there; distinct from a null."""

    def __repr__(self) -> str:
        return "nothing"


MISSING: Final = Missing()


def equal(left: Any, right: Any) -> bool:
    """Deep equality in which numbers and quantities compare as numbers when either side can only mean a number."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(equal(a, b) for a, b in zip(left, right, strict=True))
    if quantity.speaks_numbers(left) or quantity.speaks_numbers(right):
        a, b = quantity.parse(left), quantity.parse(right)
        if a is not None and b is not None:
            return a == b
    return type(left) is type(right) and bool(left == right)


def contains(left: Any, right: Any) -> bool:
    """Text in text; element in list (a mapping matches one that has at least its pairs); key or pairs in mapping."""
    if isinstance(left, str):
        return as_text(right) in left
    if isinstance(left, list):
        return any(equal(item, right) or (isinstance(right, dict) and contains(item, right)) for item in left)
    if isinstance(left, dict):
        if isinstance(right, dict):
            return all(key in left and equal(left[key], wanted) for key, wanted in right.items())
        return as_text(right) in left
    return False


def holds(op: Op, left: Any, expected: Any) -> bool:
    """Whether `left op expected`. `left` may be MISSING: then only `absent` and `ne` hold.

    Raises BadExpectation for an `expected` that the operator cannot take.
    """
    if op is Op.EXISTS:
        return left is not MISSING and left is not None
    if op is Op.ABSENT:
        return left is MISSING or left is None
    if op in _ORDERS:
        right = quantity.parse(expected)
        if right is None:
            raise BadExpectation(f"{op} needs a number or quantity, not {show(expected)}")
        number = quantity.parse(left)
        return number is not None and _ORDERS[op]((number > right) - (number < right))
    if op is Op.MATCHES:
        pattern = compiled(expected)
        text = None if left is MISSING or isinstance(left, dict | list) or left is None else as_text(left)
        return text is not None and pattern.search(text[:_LONGEST_TEXT]) is not None
    if op is Op.NE:
        return left is MISSING or not equal(left, expected)
    if left is MISSING:
        return False
    return equal(left, expected) if op is Op.EQ else contains(left, expected)


_ORDERS = {
    Op.GT: lambda sign: sign > 0,
    Op.GTE: lambda sign: sign >= 0,
    Op.LT: lambda sign: sign < 0,
    Op.LTE: lambda sign: sign <= 0,
}


def as_text(value: Any) -> str:
    """A scalar as it would stand in YAML; anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def show(value: Any) -> str:
    """`value` for a one-line reason: bounded, without control characters."""
    if value is MISSING:
        return "nothing"
    text = json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    text = "".join(char if char.isprintable() else "?" for char in text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


@lru_cache(maxsize=256)
def _compile(pattern: str) -> Any:
    try:
        import re2
    except ImportError:  # not on Linux: the patterns are the task author's, only the text is hostile
        import re

        try:
            return re.compile(pattern)
        except re.error as error:
            raise BadExpectation(f"pattern {show(pattern)} is not a regular expression: {error}") from None
    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        text = error.args[0] if error.args else error
        text = text.decode(errors="replace") if isinstance(text, bytes) else str(text)
        raise BadExpectation(f"pattern {show(pattern)} is not a regular expression (RE2): {text}") from None


def compiled(pattern: Any) -> Any:
    """A compiled pattern whose search takes time linear in the text (RE2). Raises BadExpectation."""
    if not isinstance(pattern, str):
        raise BadExpectation(f"matches needs a pattern, not {show(pattern)}")
    return _compile(pattern)

"""Label selectors, evaluated here so that one list per kind serves every entry.

Grammar: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a`, `!a`, joined by commas
(https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache

Matcher = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9]([A-Za-z0-9_.\-]*[A-Za-z0-9])?(/[A-Za-z0-9]([A-Za-z0-9_.\-]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"^(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<values>[^()]*)\)$")
_EQUAL = re.compile(rf"^(?P<key>{_KEY})\s*(?P<op>==|!=|=)\s*(?P<value>[A-Za-z0-9_.\-]*)$")
_EXISTS = re.compile(rf"^(?P<not>!?)\s*(?P<key>{_KEY})$")
_COMMA = re.compile(r",(?![^()]*\))")


@lru_cache(maxsize=256)
def parse(selector: str) -> Matcher:
    """A predicate over an object's labels. Raises ValueError naming the part that is not understood."""
    matchers = tuple(_term(part.strip()) for part in _COMMA.split(selector)) if selector.strip() else ()
    return lambda labels: all(match(labels) for match in matchers)


def _term(text: str) -> Matcher:
    if found := _SET.match(text):
        key, values = found["key"], frozenset(value.strip() for value in found["values"].split(","))
        if found["op"] == "in":
            return lambda labels: key in labels and labels[key] in values
        return lambda labels: labels.get(key) not in values
    if found := _EQUAL.match(text):
        key, value = found["key"], found["value"]
        if found["op"] == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if found := _EXISTS.match(text):
        key, absent = found["key"], bool(found["not"])
        return lambda labels: (key not in labels) is absent
    raise ValueError(f"label selector {text!r} is not understood")

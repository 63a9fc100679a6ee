"""JSON of a hostile writer: typed or empty, never an exception."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.frame import loose

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["text", "content"]), inner),
    max_leaves=10,
)


@given(ANYTHING)
def test_nothing_makes_a_reader_raise(value: Any) -> None:
    assert isinstance(loose.text(value), str)
    assert isinstance(loose.words(value), str)
    assert isinstance(loose.arguments(value), dict)
    assert isinstance(loose.items(value), list)
    assert isinstance(loose.moment(value), float)
    assert loose.count(value) is None or loose.count(value) >= 0  # type: ignore[operator]
    assert loose.number(value) is None or loose.number(value) >= 0  # type: ignore[operator]
    assert isinstance(dict(loose.mapping(value)), dict)


@given(st.binary())
def test_no_line_makes_the_reader_raise(line: bytes) -> None:
    assert loose.record(line) is None or isinstance(loose.record(line), dict)


def test_deep_nesting_is_unreadable_not_fatal() -> None:
    deep = b'{"a":' * 200_000
    assert loose.record(deep) is None
    nested: Any = "x"
    for _ in range(900):
        nested = [nested]
    assert loose.words(nested) == ""


def test_lines_that_are_no_objects_are_counted() -> None:
    found, broken = loose.records([b'{"a": 1}', b"", b"not json", b"[1]", b'{"b": 2}'])
    assert (found, broken) == ([{"a": 1}, {"b": 2}], 2)


@pytest.mark.parametrize(
    ("given_", "words"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "one"}, {"type": "image"}, {"text": "two"}], "one\ntwo"),
        ({"content": [{"text": "deep"}]}, "deep"),
        (None, ""),
    ],
)
def test_words_of_a_content_field(given_: Any, words: str) -> None:
    assert loose.words(given_) == words


def test_arguments_written_as_text_and_broken_ones() -> None:
    assert loose.arguments('{"cmd": "ls"}') == {"cmd": "ls"}
    assert loose.arguments("ls -la") == {"raw": "ls -la"}
    assert loose.arguments("") == {}


def test_times() -> None:
    assert loose.moment("2026-01-31T12:00:00.500Z") == 1769860800.5
    assert loose.moment("yesterday", 7.0) == 7.0

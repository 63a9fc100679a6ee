"""The operator table of the contract, row by row."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.tasks.checks import Op
from devops_bench.verification.ops import MISSING, BadExpectation, compiled, equal, holds, show

TABLE: list[tuple[Op, Any, Any, bool]] = [
    # eq and ne are numeric only if one side is a number or a suffixed quantity
    (Op.EQ, "1.20", "1.2", False),
    (Op.EQ, "1.20", 1.2, True),
    (Op.EQ, "80", 80, True),
    (Op.EQ, 80, "80", True),
    (Op.EQ, "500m", "0.5", True),
    (Op.EQ, "0.5", "500m", True),
    (Op.EQ, "1Gi", "1024Mi", True),
    (Op.EQ, "1e3", 1000, True),
    (Op.EQ, "1k", "1000", True),
    (Op.EQ, "1000", "1000", True),
    (Op.EQ, "1000", "1000.0", False),
    (Op.EQ, 1, 1.0, True),
    (Op.EQ, "nginx:1.20", "nginx:1.2", False),
    (Op.EQ, True, True, True),
    (Op.EQ, True, 1, False),
    (Op.EQ, 1, True, False),
    (Op.EQ, True, "true", False),
    (Op.EQ, None, None, True),
    (Op.EQ, "x", MISSING, False),
    (Op.EQ, MISSING, None, False),
    (Op.EQ, {"cpu": "500m"}, {"cpu": "0.5"}, True),
    (Op.EQ, {"cpu": "1"}, {"cpu": "1", "memory": "1"}, False),
    (Op.EQ, ["a", "1k"], ["a", 1000], True),
    (Op.EQ, ["a"], ["a", "a"], False),
    (Op.EQ, [], {}, False),
    (Op.NE, "1.20", "1.2", True),
    (Op.NE, "500m", 0.5, False),
    (Op.NE, MISSING, "x", True),
    (Op.NE, None, "x", True),
    (Op.NE, "x", "x", False),
    # orders compare quantities
    (Op.GT, "1Gi", "1000M", True),
    (Op.GT, 3, 3, False),
    (Op.GTE, 3, "3", True),
    (Op.LT, "100m", 1, True),
    (Op.LTE, "2", 1, False),
    (Op.LTE, "1.2", "1.20", True),
    (Op.GT, "abc", 1, False),
    (Op.LT, "abc", 1, False),
    (Op.GT, True, 0, False),
    (Op.GTE, MISSING, 0, False),
    (Op.LT, None, 1, False),
    # contains
    (Op.CONTAINS, "abc", "b", True),
    (Op.CONTAINS, "port 80", 80, True),
    (Op.CONTAINS, ["a", "b"], "b", True),
    (Op.CONTAINS, ["500m"], 0.5, True),
    (Op.CONTAINS, ["ab"], "a", False),
    (Op.CONTAINS, [{"name": "x", "value": "1"}], {"name": "x"}, True),
    (Op.CONTAINS, [{"name": "x"}], {"name": "y"}, False),
    (Op.CONTAINS, {"a": 1}, "a", True),
    (Op.CONTAINS, {"a": 1}, "b", False),
    (Op.CONTAINS, {"a": 1, "b": 2}, {"a": 1}, True),
    (Op.CONTAINS, {"a": 1}, {"a": 2}, False),
    (Op.CONTAINS, 5, 5, False),
    (Op.CONTAINS, MISSING, "a", False),
    # matches is a search in a scalar's text
    (Op.MATCHES, "nginx:1.25", r":1\.\d+$", True),
    (Op.MATCHES, 8080, "^80", True),
    (Op.MATCHES, True, "^true$", True),
    (Op.MATCHES, {"a": 1}, "a", False),
    (Op.MATCHES, ["a"], "a", False),
    (Op.MATCHES, None, ".*", False),
    (Op.MATCHES, MISSING, ".*", False),
    # exists and absent take a null for nothing
    (Op.EXISTS, "x", None, True),
    (Op.EXISTS, "", None, True),
    (Op.EXISTS, 0, None, True),
    (Op.EXISTS, False, None, True),
    (Op.EXISTS, None, None, False),
    (Op.EXISTS, MISSING, None, False),
    (Op.ABSENT, MISSING, None, True),
    (Op.ABSENT, None, None, True),
    (Op.ABSENT, "", None, False),
]


@pytest.mark.parametrize(("op", "left", "right", "expected"), TABLE)
def test_the_operator_table(op: Op, left: Any, right: Any, expected: bool) -> None:
    assert holds(op, left, right) is expected


@pytest.mark.parametrize(
    ("op", "value"),
    [(Op.GT, "soon"), (Op.LTE, None), (Op.GTE, [1]), (Op.MATCHES, "("), (Op.MATCHES, 5), (Op.MATCHES, "a(?=b)")],
)
def test_an_expectation_that_cannot_be_used_is_the_tasks_mistake(op: Op, value: Any) -> None:
    with pytest.raises(BadExpectation):
        holds(op, "1", value)


def test_a_pattern_that_explodes_elsewhere_takes_linear_time_here() -> None:
    started = time.process_time()
    assert compiled("(a+)+$").search("a" * 100_000 + "!") is None
    # Backtracking would take longer than the universe; ten seconds of CPU are no timing assertion.
    assert time.process_time() - started < 10


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(json_like, json_like)
def test_ne_is_the_negation_of_eq_and_eq_is_symmetric(left: Any, right: Any) -> None:
    assert holds(Op.NE, left, right) is not holds(Op.EQ, left, right)
    assert equal(left, right) == equal(right, left)
    assert equal(left, left)


@given(json_like, json_like, st.sampled_from([Op.EQ, Op.NE, Op.CONTAINS, Op.EXISTS, Op.ABSENT]))
def test_no_value_breaks_an_operator(left: Any, right: Any, op: Op) -> None:
    assert holds(op, left, right) in {True, False}


@given(st.text())
def test_what_is_shown_of_a_hostile_value_is_one_bounded_printable_line(text: str) -> None:
    shown = show(text)
    assert len(shown) <= 120
    assert shown.isprintable()

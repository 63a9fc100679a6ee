"""Kubernetes quantities and what counts as speaking numbers."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.verification.quantity import parse, speaks_numbers


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500m", "0.5"),
        ("1Gi", "1073741824"),
        ("1.5Gi", "1610612736"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1E", "1000000000000000000"),
        ("100u", "0.0001"),
        ("5n", "0.000000005"),
        ("-2k", "-2000"),
        ("+1", "1"),
        (".5", "0.5"),
        ("5.", "5"),
        (" 7 ", "7"),
        (3, "3"),
        (0.1, "0.1"),
    ],
)
def test_a_quantity_is_an_exact_number(text: object, number: str) -> None:
    assert parse(text) == Decimal(number)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "1Kib",
        "1 Gi",
        "0x10",
        "1e",
        "e3",
        "1ki",
        "--1",
        "1e9999",
        "٣",
        True,
        None,
        [],
        float("nan"),
        float("inf"),
        "9" * 65,
    ],
)
def test_what_is_no_quantity_is_none(text: object) -> None:
    assert parse(text) is None


@pytest.mark.parametrize(
    ("value", "speaks"),
    [
        ("1.20", False),
        ("80", False),
        ("500m", True),
        ("1e3", True),
        (1, True),
        (1.0, True),
        (True, False),
        ("v1", False),
        (None, False),
    ],
)
def test_plain_digits_in_a_string_do_not_speak_numbers(value: object, speaks: bool) -> None:
    assert speaks_numbers(value) is speaks


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**6), max_value=10**6))
def test_milli_is_a_thousandth(number: Decimal) -> None:
    assert parse(f"{number:f}m") == number / 1000


@given(st.text(max_size=80))
def test_no_text_breaks_the_parser(text: str) -> None:
    parse(text)
    speaks_numbers(text)

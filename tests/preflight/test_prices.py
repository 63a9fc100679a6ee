"""A limit in USD that does not count every model is told before anything is spent."""

from __future__ import annotations

import pytest

from devops_bench.matrix.expand import plan_of
from devops_bench.matrix.plan import Plan
from devops_bench.preflight import prices
from tests.matrix.conftest import OPTIONS, selected, spec_of


def plan(*models: str, configs: tuple[str, ...] = ("api",)) -> Plan:
    task = selected("common/a", infrastructure={"provider": "none"})
    return plan_of(spec_of(*configs, models=models, options=OPTIONS), [task])


def test_models_without_a_price_are_named_where_a_budget_in_usd_limits_the_run() -> None:
    line = prices.warning(plan("gemini-2.5-pro", "gemini-of-tomorrow", "scripted:x"), {}, 25.0, None)
    assert line == (
        "no price is known for gemini-of-tomorrow: the budget of 25 USD counts this as 0; "
        "give --max-tokens or --max-duration too"
    )
    assert prices.warning(plan("gemini-of-tomorrow"), {}, 25.0, 1000).endswith("counts this as 0")


def test_a_limit_of_each_attempt_is_one_too() -> None:
    line = prices.warning(plan("gemini-of-tomorrow"), {"BENCH_ATTEMPT_MAX_USD": "2"}, None, None)
    assert "BENCH_ATTEMPT_MAX_USD=2 counts this as 0" in line


@pytest.mark.parametrize(
    ("models", "configs", "cost"),
    [
        (("gemini-2.5-pro", "claude-sonnet-4-5"), ("api",), 25.0),
        (("gemini-of-tomorrow",), ("api",), None),
        (("scripted:x",), ("api",), 25.0),
        (("gemini-of-tomorrow",), ("noop",), 25.0),
    ],
)
def test_there_is_no_warning_without_need(
    models: tuple[str, ...], configs: tuple[str, ...], cost: float | None
) -> None:
    assert prices.warning(plan(*models, configs=configs), {}, cost, None) == ""

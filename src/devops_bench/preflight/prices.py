"""Does a limit in USD hold? Only for models whose price is known: all others count as 0."""

from __future__ import annotations

from collections.abc import Mapping

from devops_bench import settings
from devops_bench.errors import BenchError
from devops_bench.matrix.environment import launch_environment
from devops_bench.matrix.plan import NO_MODEL, Plan
from devops_bench.models.prices import has_price
from devops_bench.models.providers import bare, is_scripted, provider_in


def warning(plan: Plan, env: Mapping[str, str], cost: float | None, tokens: int | None) -> str:
    """One line when a limit in USD does not count every model of `plan`; empty when all is well or nothing limits.

    `cost` and `tokens` are the run's budget, None: none. A limit of each attempt is read from `env`.
    """
    limits = [f"the budget of {cost:g} USD"] if cost is not None else []
    if each := settings.value("attempt_cost", env):
        limits.append(f"BENCH_ATTEMPT_MAX_USD={each:g}")
    models = unpriced(plan, env) if limits else []
    if not models:
        return ""
    bound = "" if tokens is not None else "; give --max-tokens or --max-duration too"
    return f"no price is known for {', '.join(models)}: {' and '.join(limits)} counts this as 0{bound}"


def unpriced(plan: Plan, env: Mapping[str, str]) -> list[str]:
    """Models under test without a known price. Scripted ones have none to know."""
    seen = launch_environment(plan.options, env)
    asked = dict.fromkeys(combo.model for combo in plan.combos if combo.config.agent not in NO_MODEL)
    return [model for model in asked if not is_scripted(model) and not _known(model, plan.options.agent_provider, seen)]


def _known(model: str, told: str | None, env: Mapping[str, str]) -> bool:
    try:
        provider = provider_in(model, told, env)
    except BenchError:
        return True  # nothing starts with an unknown provider
    return has_price(bare(model, provider), provider)

"""A combo as the scheduler sees it: its place in the plan and what it shares with others."""

from __future__ import annotations

from dataclasses import dataclass

from devops_bench.errors import BenchError
from devops_bench.matrix.plan import NO_MODEL, Combo, Plan
from devops_bench.models.providers import provider_of


@dataclass(frozen=True, slots=True)
class Job:
    """`index` is the place in the plan. Jobs of one `provider` (of models, None: asks none) share its rate limit, jobs
    of one `weight` (an agent's canonical key) a part of the host, jobs of one `cluster` provider its readiness.
    """

    rid: str
    index: int
    provider: str | None = None
    weight: str = ""
    cluster: str = "none"

    @property
    def lane(self) -> tuple[str | None, str, str]:
        """What decides whether it may start; the same for all jobs of a lane."""
        return self.provider, self.weight, self.cluster


def jobs_of(plan: Plan) -> tuple[Job, ...]:
    """The jobs of a plan, in its order."""
    return tuple(_job(combo, index, plan.options.agent_provider) for index, combo in enumerate(plan.combos))


def _job(combo: Combo, index: int, explicit: str | None) -> Job:
    return Job(combo.rid, index, _provider(combo, explicit), combo.config.agent, combo.provider)


def _provider(combo: Combo, explicit: str | None) -> str | None:
    if combo.config.agent in NO_MODEL:
        return None
    try:
        return provider_of(combo.model, explicit)
    except BenchError:
        return None  # the combo itself will say so

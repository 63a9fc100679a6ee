"""A scheduler from what the journal says: what every new supervisor of a run begins with."""

from __future__ import annotations

from collections.abc import Iterable

from devops_bench.supervisor.schedule.jobs import Job
from devops_bench.supervisor.schedule.rules import Rules
from devops_bench.supervisor.schedule.scheduler import Scheduler
from devops_bench.supervisor.state import RunState


def restore(jobs: Iterable[Job], rules: Rules, state: RunState, now: float) -> Scheduler:
    """Spend, working time and providers' caps go on; no job is placed yet: `ready` and `running` do that."""
    return Scheduler(
        jobs,
        rules,
        now,
        worked=state.worked,
        cost=state.spent_usd,
        tokens=state.spent_tokens,
        caps=state.limits,
    )

"""What follows from the end of an attempt, as a function of data: nothing more, planned again, or tried again."""

from __future__ import annotations

import random
from dataclasses import dataclass

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState, FailureClass
from devops_bench.supervisor.schedule.retry import Fault, Retry, decide
from devops_bench.supervisor.schedule.rules import Rules
from devops_bench.supervisor.state import ComboStatus


@dataclass(frozen=True, slots=True)
class FollowUp:
    """`retry`: another attempt is due. `replan`: the attempt did not count. `exhausted`: it would be retried, but was
    already. `final`: the rid is terminal. None of the first and last while a stop is on: the next supervisor goes on.
    """

    retry: Retry | None = None
    replan: str = ""
    exhausted: bool = False
    final: bool = False


def fault_of(outcome: Outcome) -> Fault | None:
    """The fault of an invalid attempt."""
    return Fault.of(outcome) if outcome.state is ComboState.INVALID else None


def follow_up(
    combo: ComboStatus, outcome: Outcome, fault: Fault | None, stopping: bool, rules: Rules, rng: random.Random
) -> FollowUp:
    """Decide. `combo` is what the journal says, the attempt's own end included."""
    if outcome.state is ComboState.STOPPED:
        return FollowUp() if stopping else FollowUp(replan="stopped, but not by this run")
    retry = decide(outcome.state, fault, combo.retries, combo.retried_for, rules, rng)
    if retry is not None:
        return FollowUp() if stopping else FollowUp(retry=retry)
    spent = fault is not None and (fault.max_retries > 0 or fault.klass is FailureClass.UNKNOWN)
    return FollowUp(exhausted=spent, final=True)

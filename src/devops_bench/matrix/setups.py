"""The setup under which an attempt of a combo counts, as its files tell it."""

from __future__ import annotations

from devops_bench.matrix.plan import Combo, Plan
from devops_bench.results.setup import Setup


def setup_of(plan: Plan, combo: Combo, run_id: str, t: str) -> Setup:
    """`run_id` is the attempt folder's name, `t` the attempt's end (UTC, Z). Raises HarnessError if malformed."""
    options = plan.options
    return Setup(
        model=combo.model,
        harness=combo.config.agent,
        augmentation=combo.config.augmentation,
        run_id=run_id,
        t=t,
        sandbox=options.sandbox,
        iteration=combo.repeat,
        timeout_sec=options.agent_timeout_sec,
        judge_model=options.judge_model,
    )

"""The figures that decide: how many at once, budgets, when the circuit breaks, how long to back off."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from devops_bench import settings


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a whole matrix, None: no limit. USD, tokens, and seconds in which a supervisor worked on it."""

    cost: float | None = None
    tokens: int | None = None
    duration: float | None = None

    @property
    def limited(self) -> bool:
        """Whether there is any limit."""
        return (self.cost, self.tokens, self.duration) != (None, None, None)


@dataclass(frozen=True, slots=True)
class Rules:
    """`weights` caps how many jobs of an agent run at once. `breaker` invalid combos in a row with one signature of
    class config-auth or setup stop launching. Delays in seconds.
    """

    max_parallel: int
    weights: Mapping[str, int] = field(default_factory=dict)
    budget: Budget = field(default_factory=Budget)
    breaker: int = 3
    backoff: float = 0.5
    backoff_most: float = 300.0
    quiet: float = 20.0
    settle: float = 10.0

    @classmethod
    def of(cls, max_parallel: int, budget: Budget, env: Mapping[str, str]) -> Rules:
        """From the plan and the settings. Raises ConfigError for a malformed variable."""
        cores = len(os.sched_getaffinity(0))
        return cls(
            max_parallel=max_parallel,
            weights={agent: max(1, int(cores / each)) for agent, each in settings.CORES_EACH.items()},
            budget=budget,
            breaker=settings.integer("breaker", env),
            backoff=settings.value("retry_backoff", env),
            backoff_most=settings.TABLE["retry_backoff_most"].value,
            quiet=settings.value("limit_quiet", env),
        )

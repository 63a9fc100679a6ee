"""`orders.json`: how a run is to be supervised (budgets, hands-off, smoke), beside `plan.json`, which says what runs.

Written by `run`, changed by `resume`, read by the supervisor. A run without the file has no orders.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import Plan
from devops_bench.paths import atomic_write
from devops_bench.supervisor.schedule.rules import Budget

NAME = "orders.json"


@dataclass(frozen=True, slots=True)
class Orders:
    """`matrix` is the identity of what runs (`matrix_id`): two runs with the same one are never active at once.

    `smoke` is scripted, real, off (as the user wished), or empty (no gate). `fixer` is the argv that a fault is
    handed to.
    """

    matrix: str = ""
    budget: Budget = field(default_factory=Budget)
    hands_off: bool = False
    smoke: str = ""
    unlimited: bool = False
    fixer: tuple[str, ...] = ()

    def write(self, run_dir: Path) -> None:
        """Write durably."""
        atomic_write(run_dir / NAME, json.dumps(asdict(self), indent=1) + "\n")

    @classmethod
    def read(cls, run_dir: Path) -> Orders:
        """The run's orders. Raises ConfigError when the file is damaged."""
        path = run_dir / NAME
        try:
            data = json.loads(path.read_text())
            return cls(**{**data, "budget": Budget(**data["budget"]), "fixer": tuple(data["fixer"])})
        except FileNotFoundError:
            return cls()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"cannot be read: {error}", where=path, fix="restore it, or remove it") from None

    def with_budget(self, cost: float | None, tokens: int | None, duration: float | None) -> Orders:
        """The same with what is given instead."""
        budget = self.budget
        return replace(
            self,
            budget=Budget(
                budget.cost if cost is None else cost,
                budget.tokens if tokens is None else tokens,
                budget.duration if duration is None else duration,
            ),
        )


def matrix_id(plan: Plan) -> str:
    """The same for two plans of the same combos, tasks and options; `m` and 15 hex digits."""
    data: Mapping[str, Any] = json.loads(plan.to_json())
    core = {key: data[key] for key in ("combos", "options", "task_hashes", "retry_of")}
    return "m" + hashlib.sha256(json.dumps(core, sort_keys=True).encode()).hexdigest()[:15]

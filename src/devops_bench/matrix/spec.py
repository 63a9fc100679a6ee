"""What the user asked for, after reading flags, environment and matrix file, before any task was opened."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devops_bench.matrix.plan import AgentConfig, PlanOptions
from devops_bench.matrix.presets import NOWHERE, Place

ALL = "ALL"


@dataclass(frozen=True, slots=True)
class TaskRef:
    """A task as written: a `task.yaml`, its folder, a pattern, or `ALL`; relative to the folder `base`."""

    text: str
    base: Path
    place: Place = NOWHERE


@dataclass(frozen=True, slots=True)
class MatrixSpec:
    """The axes and what holds for all combos. Made by `axes.read_axes`; `expand` turns it into a Plan.

    `provider` overrides the cluster provider of every task that needs a cluster. `dropped` names the variables that no
    combo may see (`BENCH_VERTEX`). With `resume_stamp` the axes are empty: nothing is launched, but that run
    attached to.
    """

    tasks: tuple[TaskRef, ...]
    models: tuple[str, ...]
    configs: tuple[AgentConfig, ...]
    options: PlanOptions
    repeats: int = 1
    cluster_base: str = "eval"
    provider: str | None = None
    dry_run: bool = False
    resume_stamp: str | None = None
    poll_timeout_sec: float = 86400
    skip_model_preflight: bool = False
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

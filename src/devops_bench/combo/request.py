"""What a combo process is asked to do, as it comes from the supervisor or from the combo command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from devops_bench.matrix.plan import Combo, Plan


@dataclass(frozen=True, slots=True)
class Request:
    """One attempt. `plane_folder` and `plane_fd` are a booted control plane handed over by a pool.

    `token_fd` is the lock of the cluster token; it is held as long as the process lives.
    """

    plan: Plan
    combo: Combo
    attempt: int
    directory: Path
    env: Mapping[str, str] = field(repr=False)
    plane_folder: Path | None = None
    plane_fd: int | None = None
    token_fd: int | None = None

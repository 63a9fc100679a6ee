"""What a supervisor does at its start about the leftovers of dead ones: planes without an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor


def dead_planes(supervisor: Supervisor) -> None:
    """End control planes whose owner is dead and remove their folders; the journal says so."""
    from devops_bench.clusters.sweep import sweep

    for gone in sweep(supervisor.state_root):
        supervisor.record("swept", what=str(gone))

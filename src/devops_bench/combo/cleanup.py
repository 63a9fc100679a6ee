"""Removing what a dead combo left on this host. Called by the supervisor, never by the combo itself."""

from __future__ import annotations

import shutil
from pathlib import Path

from devops_bench.combo import scratch
from devops_bench.errors import BenchError


def sweep_combo(state_root: Path, rid: str, cluster_name: str) -> list[str]:
    """End the combo's control plane, remove its private state; one line for each thing that is left.

    The caller holds the combo's token. Agents need no sweep: they end with their combo, sandboxed or not.
    """
    from devops_bench.clusters import namespaces
    from devops_bench.clusters.sweep import sweep

    sweep(state_root, only=cluster_name)
    state_dir = state_root / rid
    left = scratch.remove(state_dir)
    try:
        namespaces.remove(state_root, cluster_name)
    except BenchError as error:
        left.append(f"namespace {cluster_name}: {error.message()}")
    shutil.rmtree(state_dir, ignore_errors=True)
    if state_dir.exists():
        left.append(f"folder {state_dir}")
    return left

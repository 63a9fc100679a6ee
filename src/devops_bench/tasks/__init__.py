"""Tasks: the schema, the loader with file:line errors, the catalogue on disk, and the static review.

Everything above imports the names below; nothing here knows of clusters, agents or runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from devops_bench.tasks.catalogue import FoundTask, catalogue_root, find_tasks
    from devops_bench.tasks.fingerprint import content_hash
    from devops_bench.tasks.loader import load_task
    from devops_bench.tasks.placeholders import fill
    from devops_bench.tasks.proved import ProofState, proof_state
    from devops_bench.tasks.spec import TaskSpec

_HOME = {
    "FoundTask": "catalogue",
    "catalogue_root": "catalogue",
    "find_tasks": "catalogue",
    "content_hash": "fingerprint",
    "load_task": "loader",
    "fill": "placeholders",
    "ProofState": "proved",
    "proof_state": "proved",
    "TaskSpec": "spec",
}
__all__ = [
    "FoundTask",
    "ProofState",
    "TaskSpec",
    "catalogue_root",
    "content_hash",
    "fill",
    "find_tasks",
    "load_task",
    "proof_state",
]


def __getattr__(name: str) -> Any:
    """Import on first use: pydantic and the YAML parser cost what a `--help` must not pay."""
    if name in _HOME:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

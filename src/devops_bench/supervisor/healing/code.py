"""A plan whose tasks come from the worktree, for what starts after a fix. Reads tasks, writes nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from devops_bench.matrix.plan import Plan
from devops_bench.tasks.fingerprint import content_hash


def remap(task_file: str, root: Path, folder: Path) -> str:
    """The same file in the worktree, for one that lies in the checkout."""
    path = Path(task_file)
    return str(folder / path.relative_to(root)) if root in path.parents else task_file


def with_code(plan: Plan, root: Path, folder: Path, note: str) -> Plan:
    """The plan with its tasks taken from the worktree, and their content as it is there."""
    combos = tuple(replace(combo, task_file=remap(combo.task_file, root, folder)) for combo in plan.combos)
    moved = {combo.task_key: Path(combo.task_file).parent for combo in combos}
    hashes = {
        key: content_hash(moved[key]) if folder in moved.get(key, Path()).parents else digest
        for key, digest in plan.task_hashes.items()
    }
    return replace(plan, combos=combos, task_hashes=hashes, notes=(*plan.notes, note))

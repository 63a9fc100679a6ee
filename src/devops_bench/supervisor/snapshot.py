"""Reading a run's state fast: the last snapshot plus the journal's tail. A snapshot is a cache and may be deleted."""

from __future__ import annotations

import json
from pathlib import Path

from devops_bench.paths import atomic_write
from devops_bench.supervisor import journal
from devops_bench.supervisor.state import RunState, fold

NAME = "snapshot.json"


def write(run_dir: Path, state: RunState, offset: int) -> None:
    """Store `state`, folded from the journal's first `offset` bytes."""
    atomic_write(run_dir / NAME, json.dumps({"offset": offset, "state": state.to_data()}), durable=False)


def load(run_dir: Path) -> tuple[RunState, int]:
    """The run's state now, and the journal offset it was folded to. ConfigError when the journal is damaged."""
    state, offset = _snapshot(run_dir)
    events, offset = journal.read(run_dir, offset)
    return fold(events, state), offset


def _snapshot(run_dir: Path) -> tuple[RunState, int]:
    try:
        data = json.loads((run_dir / NAME).read_text())
        size = (run_dir / journal.NAME).stat().st_size
        offset = int(data["offset"])
        if offset > size:
            raise ValueError("longer than the journal")
        return RunState.from_data(data["state"]), offset
    except (OSError, ValueError, KeyError, TypeError):
        return RunState(), 0

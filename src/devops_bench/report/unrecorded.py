"""Records of attempts that could not write their own: killed, never forked, or dead between their record and outcome.

Every attempt that ended has a row, or a batch would tell of fewer combos than there were. What the journal says of an
attempt is written as the attempt itself would have: status `failed`, `error`, no score. A score that a dead attempt
had already written is taken back: the attempt was not judged, and another one may have been.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devops_bench.errors import BenchError, ConfigError
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.matrix.setups import setup_of
from devops_bench.paths import atomic_write
from devops_bench.redact import Redactor
from devops_bench.report.journal import Facts
from devops_bench.results.aggregate import ROWS
from devops_bench.results.manifest import manifest_from
from devops_bench.results.read import read_rows
from devops_bench.results.record import Record, RecordStatus, task_fields
from devops_bench.results.rows import rows_from
from devops_bench.results.write import write_json
from devops_bench.settings import JUDGED, ComboState
from devops_bench.tasks.loader import load_task


def complete(run_dir: Path, plan: Plan, facts: Facts, redactor: Redactor) -> int:
    """Write the missing records of ended attempts below `run_dir`; how many. Safe to repeat. Raises OSError."""
    combos = {combo.rid: combo for combo in plan.combos}
    written = 0
    for rid, directory, end in _ended(run_dir, facts):
        if rid in combos and not _unscored_row(directory):
            _write(directory, combos[rid], plan, end, redactor)
            written += 1
    return written


def _ended(run_dir: Path, facts: Facts) -> Iterator[tuple[str, Path, Mapping[str, Any]]]:
    """(rid, folder, `combo_finished` event) of the attempts that were not judged and have a folder."""
    for (rid, attempt), end in facts.finished.items():
        name = facts.folders.get((rid, attempt))
        if name and end.get("state") not in JUDGED and (run_dir / rid / name).is_dir():
            yield rid, run_dir / rid / name, end


def _unscored_row(directory: Path) -> bool:
    """Whether the attempt has a row that claims no score."""
    try:
        return all(row.get("outcomeScore") is None for row in read_rows(directory / ROWS))
    except (ConfigError, OSError):
        return False


def _write(directory: Path, combo: Combo, plan: Plan, end: Mapping[str, Any], redactor: Redactor) -> None:
    """results.json (what stands there is kept but for the verdict), manifest.json, attempt.json; rows.json last."""
    record = _record(combo, end)
    setup = setup_of(plan, combo, directory.name, str(end["time"])[:19] + "Z")
    told = {**record.as_dict(), **_own(directory), "status": record.status, "error": record.error, "scores": {}}
    write_json(directory / "results.json", [told], redactor)
    if not os.path.exists(path := directory / "attempt.json"):
        names = ("attempt", "rid", "state", "class", "phase", "signature", "reason")
        state = {**{name: end.get(name) for name in names}, "end": None, "raw_end": None, "ended": end["time"]}
        atomic_write(path, json.dumps(redactor.obj(state), indent=1) + "\n")
    write_json(directory / "manifest.json", manifest_from(record, setup).as_dict(), redactor)
    write_json(directory / ROWS, [row.as_dict() for row in rows_from(record, setup)], redactor)


def _record(combo: Combo, end: Mapping[str, Any]) -> Record:
    """What is known of an attempt that nobody recorded: its task and how it ended."""
    fields: dict[str, Any] = {"name": combo.task_name, "folder": combo.task_key}
    try:
        task = load_task(Path(combo.task_file), key=combo.task_key)
        fields = task_fields(task, task)
    except (BenchError, OSError):
        pass  # the task is gone or was changed since: its name is in the plan
    stopped = end.get("state") == ComboState.STOPPED
    error = "stopped" if stopped else f"{end.get('class') or 'infra'}: {end.get('reason') or 'no reason was given'}"
    return Record(**fields, status=RecordStatus.FAILED, error=error)


def _own(directory: Path) -> dict[str, Any]:
    """The record that the attempt wrote before it died; empty when it wrote none, or not the whole of it."""
    try:
        first = json.loads((directory / "results.json").read_bytes())[0]
    except (OSError, ValueError, LookupError, TypeError):
        return {}
    return first if isinstance(first, dict) else {}

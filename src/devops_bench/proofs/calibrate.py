"""Climbs the ladder on real clusters and keeps the scores beside the catalogue, in `.calibration.json`.

Called by `devops-bench tasks calibrate`. A row is of one content hash; a changed task's row is run again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from pathlib import Path

from devops_bench.errors import ConfigError, TransientError
from devops_bench.paths import atomic_write
from devops_bench.proofs.engine import default_jobs
from devops_bench.proofs.judge import Outcome
from devops_bench.proofs.lab import run_case
from devops_bench.proofs.ladder import SCORES, Row, Rung, rungs_of, score_of
from devops_bench.sandbox import SandboxMode
from devops_bench.tasks.catalogue import FoundTask
from devops_bench.tasks.fingerprint import content_hash
from devops_bench.tasks.loader import load_task
from devops_bench.tasks.proved import ProofState, proof_state, read_record
from devops_bench.tasks.spec import TaskSpec

STORE = ".calibration.json"
Progress = Callable[[str, Rung, float | None], None]


def calibrate(
    tasks: Sequence[FoundTask],
    mode: SandboxMode,
    *,
    jobs: int | None = None,
    progress: Progress = lambda _key, _rung, _score: None,
    env: Mapping[str, str] = os.environ,
) -> list[Row]:
    """Every rung of every task: from the stored proof where it is of these files, else run now.

    Raises TransientError when a rung could not be judged, TaskError for a bad task.
    """
    scores: dict[str, dict[Rung, float | None]] = {}
    hashes: dict[str, str] = {}
    with ThreadPoolExecutor(jobs or default_jobs(), thread_name_prefix="rung") as pool:
        waiting: dict[Future[Outcome], tuple[TaskSpec, Rung]] = {}
        try:
            for found in tasks:
                task = load_task(found.file, key=found.key, strict=True)
                hashes[found.key] = content_hash(found.folder)
                scores[found.key] = {**dict.fromkeys(Rung), **_proved(found)}
                for rung, case in rungs_of(task).items():
                    if case is not None and scores[found.key][rung] is None:
                        waiting[pool.submit(run_case, task, case, mode, env)] = (task, rung)
            for future in as_completed(waiting):
                task, rung = waiting[future]
                scores[task.key][rung] = _score(task, rung, future.result())
                progress(task.key, rung, scores[task.key][rung])
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [Row(key, hashes[key], scores[key]) for key in scores]


def _proved(found: FoundTask) -> dict[Rung, float | None]:
    """What the proofs have climbed already; nothing when they are of other files."""
    record = read_record(found.folder)
    if record is None or proof_state(found.folder) is not ProofState.CURRENT:
        return {}
    kept = record.proofs.get(SCORES) or {}
    return {rung: float(kept[rung.value]) for rung in Rung if rung.value in kept}


def _score(task: TaskSpec, rung: Rung, outcome: Outcome) -> float:
    found = score_of(outcome.last, task.verification_spec) if outcome.last and not outcome.trouble else None
    if found is None:
        why = outcome.trouble or "an entry could not be evaluated"
        raise TransientError(f"{task.key}: {rung.value} has no score: {why}", where=task.folder)
    return found


def read_rows(root: Path) -> dict[str, Row]:
    """The kept rows of a catalogue; none when it was never calibrated. Raises ConfigError for a damaged file."""
    path = root / STORE
    try:
        data = json.loads(path.read_text())
        return {
            key: Row(key, item["content_hash"], {Rung(rung): score for rung, score in item["scores"].items()})
            for key, item in data.items()
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(f"cannot be read ({error})", where=path, fix="delete it and calibrate again") from None


def keep_rows(root: Path, rows: Sequence[Row], known: set[str]) -> dict[str, Row]:
    """Add `rows` to the kept ones, drop those of tasks that are not `known`, and return all."""
    merged = {**read_rows(root), **{row.key: row for row in rows}}
    kept = {key: merged[key] for key in sorted(merged) if key in known}
    data = {key: {"content_hash": row.content_hash, "scores": row.scores} for key, row in kept.items()}
    atomic_write(root / STORE, (json.dumps(data, indent=1) + "\n").encode())
    return kept

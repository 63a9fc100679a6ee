"""The stored result of a task's proofs (`.validated.json` in its folder) and whether it still speaks of these files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from devops_bench.paths import atomic_write
from devops_bench.tasks.fingerprint import RECORD_FILE, content_hash
from devops_bench.tasks.spec import TaskSpec

RECORD_VERSION = 1


class ProofState(StrEnum):
    """What is known of a task's proofs."""

    CURRENT = "current"  # all passed, for exactly these files
    FAILED = "failed"  # the last run for these files found something
    STALE = "stale"  # the files changed since
    NONE = "none"  # never run, or the record is unreadable


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """What `.validated.json` holds."""

    content_hash: str
    passed: bool
    at: str
    version: str
    proofs: dict[str, Any]


def read_record(folder: Path) -> ProofRecord | None:
    """The record beside task.yaml, or None if there is none that can be read."""
    try:
        data = json.loads((folder / RECORD_FILE).read_text(encoding="utf-8"))
        if data["schema"] != RECORD_VERSION:
            return None
        return ProofRecord(
            str(data["content_hash"]), bool(data["passed"]), str(data["at"]), str(data["version"]), dict(data["proofs"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_record(folder: Path, record: ProofRecord) -> None:
    """Replace the record, atomically."""
    data = {
        "schema": RECORD_VERSION,
        "content_hash": record.content_hash,
        "passed": record.passed,
        "at": record.at,
        "version": record.version,
        "proofs": record.proofs,
    }
    path = folder / RECORD_FILE
    atomic_write(path, json.dumps(data, indent=2) + "\n")
    path.chmod(0o644)  # part of the catalogue, not of a run


def is_validated(task: TaskSpec) -> bool:
    """What a record may call validated: the task says so, and no stored proof speaks against it.

    A task from elsewhere has no stored proof; its own word counts then.
    """
    return task.validated and proof_state(task.folder) in {ProofState.CURRENT, ProofState.NONE}


def proof_state(folder: Path) -> ProofState:
    """Whether the task in `folder` is proved as it stands."""
    record = read_record(folder)
    if record is None:
        return ProofState.NONE
    if record.content_hash != content_hash(folder):
        return ProofState.STALE
    return ProofState.CURRENT if record.passed else ProofState.FAILED

"""pass@k and pass^k per setup and task from stored rows.

An attempt is a distinct (`runId`, `iteration`) of a setup and task; one without a score counts in neither n nor c.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.scoring.stats import pass_at_k, pass_pow_k

_ROUNDING = 1e-9  # sqrt(1 x (0.1 + 0.9)) must reach a threshold of 1
_TEXT = ("setupId", "model", "harness", "taskFolder", "taskName", "runId")


def read_rows(root: Path) -> list[dict[str, Any]]:
    """All rows below `root`: those of single combos, and of an aggregated batch where its combos are not there too.

    A batch (`rows.json` beside `manifests.json`) repeats the rows of the combos below it under another run id; counting
    both would double n. Raises ConfigError naming the file for a malformed row, and for a tree without any rows.json.
    """
    if not root.is_dir():
        raise ConfigError("not a folder", where=root, fix="name a results or run folder")
    files = sorted(root.rglob("rows.json"))
    if not files:
        raise ConfigError("no rows.json below this folder", where=root, fix="name a results or run folder")
    batches = {file for file in files if (file.parent / "manifests.json").exists()}
    single = [file for file in files if file not in batches]
    kept = [b for b in batches if not any(file.is_relative_to(b.parent) for file in single)]
    # Of nested batches only the innermost: an outer one repeats them.
    kept = [b for b in kept if not any(o is not b and o.is_relative_to(b.parent) for o in kept)]
    return [row for file in sorted([*single, *kept]) for row in _rows(file)]


def _rows(file: Path) -> Iterable[dict[str, Any]]:
    try:
        data = json.loads(file.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(
            f"cannot be read: {str(error).splitlines()[0]}", where=file, fix="restore or remove it"
        ) from None
    if not isinstance(data, list):
        raise ConfigError("is not a list of rows", where=file, fix="restore or remove it")
    for place, row in enumerate(data):
        trouble = _trouble(row)
        if trouble:
            raise ConfigError(f"row {place}: {trouble}", where=file, fix="restore or remove it")
        yield row


def _trouble(row: Any) -> str:
    if not isinstance(row, dict):
        return "is not an object"
    for key in _TEXT:
        if not isinstance(row.get(key), str):
            return f"{key} is missing or not text"
    if not isinstance(row.get("iteration"), int) or isinstance(row.get("iteration"), bool):
        return "iteration is missing or not a whole number"
    score = row.get("outcomeScore")
    if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
        return "outcomeScore is neither a number nor null"
    tokens = row.get("augmentation", [])
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        return "augmentation is not a list of texts"
    return ""


def summarise(rows: Iterable[Mapping[str, Any]], k: int, threshold: float) -> dict[str, Any]:
    """The content of `passk_summary.json`: one item per setup, its tasks and their unweighted mean, sorted by name."""
    setups: dict[str, dict[str, Any]] = {}
    for row in rows:
        setup = setups.setdefault(row["setupId"], {"first": row, "tasks": {}})
        task = setup["tasks"].setdefault(row["taskFolder"], {"name": row["taskName"], "attempts": {}})
        score = row.get("outcomeScore")
        attempt = (row["runId"], row["iteration"])
        if score is not None or attempt not in task["attempts"]:
            task["attempts"][attempt] = score
    return {
        "k": k,
        "threshold": threshold,
        "setups": [_setup(key, setups[key], k, threshold) for key in sorted(setups)],
    }


def _setup(key: str, setup: Mapping[str, Any], k: int, threshold: float) -> dict[str, Any]:
    first = setup["first"]
    tasks = [_task(folder, setup["tasks"][folder], k, threshold) for folder in sorted(setup["tasks"])]
    return {
        "setupId": key,
        "model": first["model"],
        "harness": first["harness"],
        "augmentation": first.get("augmentation", []),
        "tasks": tasks,
        "overall": {name: _mean([task[name] for task in tasks]) for name in ("passAt1", "passAtK", "passPowK")},
    }


def _task(folder: str, task: Mapping[str, Any], k: int, threshold: float) -> dict[str, Any]:
    scores = [score for score in task["attempts"].values() if score is not None]
    n, c = len(scores), sum(score >= threshold - _ROUNDING for score in scores)
    return {
        "taskFolder": folder,
        "taskName": task["name"],
        "n": n,
        "c": c,
        "passAt1": _rounded(pass_at_k(n, c, 1)),
        "passAtK": _rounded(pass_at_k(n, c, k)),
        "passPowK": _rounded(pass_pow_k(n, c, k)),
    }


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _rounded(sum(known) / len(known)) if known else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)

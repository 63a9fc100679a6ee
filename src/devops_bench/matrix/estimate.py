"""How long a matrix will take and what it will cost, from earlier runs on this host where there are any.

Reads `plan.json` and the attempts' `attempt.json` and `outcome.json` below the runs root. Only attempts that were
judged count: an attempt that the infrastructure ended says nothing about the next one. A combo without history gets
its provider's default, and no cost.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import NO_MODEL, Combo, Plan

RUNS_MAX = 50  # newest first: older ones measured another program
# Seconds of a combo beside its agent (cluster, setup, verification, teardown), where nothing was measured yet.
PROVIDER_DEFAULT: Mapping[str, float] = {"none": 5, "kwok": 15, "existing": 30, "kind": 180, "gke": 1200}
# Seconds of the agent where nothing was measured yet: one that asks no model, and one that does.
AGENT_DEFAULT = 300.0
AGENT_WITHOUT_MODEL = 5.0
_SCORED = frozenset({"scored", "failed"})

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Sample:
    """One judged attempt: wall seconds from start to end, USD if known."""

    seconds: float
    cost_usd: float | None = None


@dataclass(slots=True)
class History:
    """Judged attempts of earlier runs by (task key, model, preset)."""

    samples: dict[Key, list[Sample]] = field(default_factory=dict)
    runs: int = 0

    def add(self, key: Key, sample: Sample) -> None:
        """Note one attempt."""
        self.samples.setdefault(key, []).append(sample)


@dataclass(frozen=True, slots=True)
class ComboEstimate:
    """Seconds and USD of one combo; `samples` is how many earlier attempts they rest on (0: a default, no cost)."""

    seconds: float
    cost_usd: float | None
    samples: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Of the whole matrix. `wall_seconds` is with `max_parallel` combos at once, `longest_seconds` when every agent
    uses its whole time. `cost_usd` sums the combos whose cost is known, `costed` says how many those are.
    """

    combos: Mapping[str, ComboEstimate]
    wall_seconds: float
    longest_seconds: float
    cost_usd: float | None
    costed: int
    measured: int
    runs: int


def estimate(plan: Plan, history: History) -> Estimate:
    """The estimate of `plan`. Pure."""
    found = {combo.rid: _combo(combo, history) for combo in plan.combos}
    limit = plan.options.agent_timeout_sec
    costs = [one.cost_usd for one in found.values() if one.cost_usd is not None]
    return Estimate(
        combos=found,
        wall_seconds=makespan((one.seconds for one in found.values()), plan.options.max_parallel),
        longest_seconds=makespan((limit + _overhead(combo) for combo in plan.combos), plan.options.max_parallel),
        cost_usd=sum(costs) if costs else None,
        costed=len(costs),
        measured=sum(one.samples > 0 for one in found.values()),
        runs=history.runs,
    )


def makespan(seconds: Iterable[float], lanes: int) -> float:
    """When the last of these, started in order on the first free of `lanes`, ends."""
    ends: list[float] = []
    for length in seconds:
        start = heapq.heappop(ends) if len(ends) >= lanes else 0.0
        heapq.heappush(ends, start + length)
    return max(ends, default=0.0)


def _combo(combo: Combo, history: History) -> ComboEstimate:
    samples = history.samples.get((combo.task_key, combo.model, combo.config.preset), [])
    if not samples:
        return ComboEstimate(_overhead(combo) + _agent(combo), None, 0)
    costs = [sample.cost_usd for sample in samples if sample.cost_usd is not None]
    return ComboEstimate(median(sample.seconds for sample in samples), median(costs) if costs else None, len(samples))


def _overhead(combo: Combo) -> float:
    return PROVIDER_DEFAULT.get(combo.provider, PROVIDER_DEFAULT["kwok"])


def _agent(combo: Combo) -> float:
    quick = combo.config.agent in NO_MODEL or combo.model.startswith("scripted:")
    return AGENT_WITHOUT_MODEL if quick else AGENT_DEFAULT


def read_history(root: Path, wanted: Iterable[Combo]) -> History:
    """The judged attempts of the newest runs below `root` that say something about `wanted`.

    What cannot be read is passed over: an estimate is worth less than the launch that asks for it.
    """
    keys = {(combo.task_key, combo.model, combo.config.preset) for combo in wanted}
    history = History()
    for run_dir in _newest_runs(root):
        before = sum(map(len, history.samples.values()))
        try:
            plan = Plan.read(run_dir)
        except ConfigError:
            continue
        for combo in plan.combos:
            key = (combo.task_key, combo.model, combo.config.preset)
            if key in keys:
                for sample in _attempts(run_dir / combo.rid):
                    history.add(key, sample)
        history.runs += sum(map(len, history.samples.values())) > before
    return history


def _newest_runs(root: Path) -> list[Path]:
    try:
        return sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.name)[
            : -RUNS_MAX - 1 : -1
        ]
    except OSError:
        return []


def _attempts(rid_dir: Path) -> Iterator[Sample]:
    try:
        folders = sorted(rid_dir.glob("run_*"))
    except OSError:
        return
    for folder in folders:
        outcome, attempt = _json(folder / "outcome.json"), _json(folder / "attempt.json")
        seconds = _seconds(attempt.get("started"), attempt.get("ended"))
        if outcome.get("state") in _SCORED and seconds is not None:
            yield Sample(seconds, _cost(outcome.get("cost_usd")))


def _cost(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None


def _seconds(started: object, ended: object) -> float | None:
    try:
        length = (datetime.fromisoformat(str(ended)) - datetime.fromisoformat(str(started))).total_seconds()
    except (ValueError, TypeError):
        return None
    return length if 0 <= length < 30 * 86400 else None


def _json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}

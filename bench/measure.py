"""Timing whole processes: wall and CPU seconds, medians, and ratios against a baseline run in turn with the subject."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of wall clock and of CPU (user and system, children included); peak memory in MB."""

    wall: float
    cpu: float
    rss: float = 0.0


def run(argv: Sequence[str], env: Mapping[str, str] | None = None) -> Cost:
    """Run to the end, output thrown away."""
    started = time.perf_counter()
    process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env)
    _pid, _status, usage = os.wait4(process.pid, 0)
    process.returncode = 0
    return Cost(time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def children() -> float:
    """CPU seconds of all children waited for so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def in_turn(subject: Sequence[str], baseline: Sequence[str], times: int = 15) -> tuple[Cost, Cost]:
    """Medians of both, run A B A B ... after one warm-up, so that a drifting machine hits both alike."""
    run(subject)
    run(baseline)
    pairs = [(run(subject), run(baseline)) for _ in range(times)]
    return median([a for a, _ in pairs]), median([b for _, b in pairs])


def medians_in_turn(variants: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Milliseconds of each variant, median of `rounds`; one after the other within a round, for the same reason."""
    spent: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(rounds):
        for name, work in variants.items():
            started = time.perf_counter()
            work()
            spent[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(figures) for name, figures in spent.items()}


def median(costs: Sequence[Cost]) -> Cost:
    """Figure by figure."""
    return Cost(
        statistics.median(cost.wall for cost in costs),
        statistics.median(cost.cpu for cost in costs),
        statistics.median(cost.rss for cost in costs),
    )


def row(name: str, value: str, baseline: str, target: str = "") -> None:
    """One line of a table."""
    print(f"{name:<46} {value:>16} {baseline:>30}  {target}", flush=True)

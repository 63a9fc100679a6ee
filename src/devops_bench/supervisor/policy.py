"""Decisions of the supervisor as functions of data: what may start now, what is tried again and when. No I/O."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState
from devops_bench.supervisor.state import ComboStatus

MAX_RETRIES = 2
BASE_DELAY = 0.5


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay` seconds because of `signature`."""

    delay: float
    signature: str


def startable(
    order: Iterable[str], combos: Mapping[str, ComboStatus], busy: int, max_parallel: int, held: frozenset[str]
) -> list[str]:
    """Rids to start now, in plan order: planned or waiting, not `held` (no control plane yet, backing off, locked)."""
    free = max_parallel - busy
    chosen: list[str] = []
    if free <= 0:
        return chosen
    for rid in order:
        if combos[rid].state in {ComboState.PLANNED, ComboState.WAITING} and rid not in held:
            chosen.append(rid)
            if len(chosen) == free:
                break
    return chosen


def decide_retry(outcome: Outcome, retries: int, rng: random.Random) -> Retry | None:
    """Only an invalid attempt with a transient cause is tried again: at most twice, exponential backoff with jitter."""
    if outcome.state is not ComboState.INVALID or not outcome.transient or retries >= MAX_RETRIES:
        return None
    delay = BASE_DELAY * 2**retries * (1 + rng.random() / 2)
    return Retry(max(delay, outcome.delay), outcome.signature or "unknown")

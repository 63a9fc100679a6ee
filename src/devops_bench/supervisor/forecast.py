"""Where a run stands in a few figures, and how long it will still take. Pure: from the folded state alone."""

from __future__ import annotations

from collections import Counter

from devops_bench.settings import ComboState
from devops_bench.supervisor.state import ComboStatus, RunState, seconds

_OVER = frozenset({ComboState.SCORED, ComboState.FAILED, ComboState.INVALID})


def overall(state: RunState, living: bool) -> str:
    """One word for the run: done, running, stopping, stopped, halted (launching stopped: `halted` says why), or
    interrupted (its supervisor died).
    """
    if state.done:
        return "done"
    if living:
        return "stopping" if state.stop_requested else "running"
    if state.stop_requested:
        return "stopped"
    return "halted" if state.halted else "interrupted"


def done(state: RunState) -> int:
    """Combos with a final verdict."""
    return sum(combo.state in _OVER for combo in state.combos.values())


def active_phases(state: RunState) -> dict[str, int]:
    """Running combos by phase."""
    return dict(Counter(combo.phase or "start" for combo in state.combos.values() if combo.state is ComboState.RUNNING))


def left(state: RunState, max_parallel: int, now: str) -> float | None:
    """Seconds until the rest is done, from how long combos of this run took; None before the first one ended."""
    ended = [took for combo in state.combos.values() if combo.state in _OVER and (took := _took(combo)) is not None]
    if not ended:
        return None
    usual = sum(ended) / len(ended)
    rest = sum(
        max(0.0, usual - (seconds(combo.started, now) or 0.0)) if combo.state is ComboState.RUNNING else usual
        for combo in state.combos.values()
        if combo.state not in _OVER
    )
    return round(rest / max(1, max_parallel), 1)


def _took(combo: ComboStatus) -> float | None:
    return seconds(combo.started, combo.ended)

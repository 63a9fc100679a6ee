"""The verdict on a combo whose process ended without an outcome."""

from __future__ import annotations

from devops_bench.combo.outcome import Outcome
from devops_bench.settings import ComboState, FailureClass


def died(phase: str, code: int | None) -> Outcome:
    """The outcome of a combo whose process ended without one. `code` is negative for a signal, None if unknown."""
    how, exit_code = "its process ended without an outcome", 1
    if code is not None and code < 0:
        how, exit_code = f"its process was killed by signal {-code}", 128 - code
    elif code:
        how = f"its process exited with {code} and left no outcome"
    return Outcome(
        state=ComboState.INVALID,
        exit=exit_code,
        klass=FailureClass.INFRA.value,
        phase=phase or None,
        signature="process-died",
        reason=f"{how} in phase {phase or 'start'}",
        transient=True,
    )

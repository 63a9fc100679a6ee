"""Attempt folders: `<rid>/run_<ts>_<rid>/`, each reserved by mkdir; and the verdict on a combo that died."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from devops_bench.combo.outcome import Outcome
from devops_bench.errors import HarnessError
from devops_bench.paths import DIR_MODE, private_dir
from devops_bench.settings import ComboState, FailureClass


def reserve(run_dir: Path, rid: str, *, clock: datetime | None = None) -> Path:
    """Make and return a new attempt folder; the next second is taken when the name exists already."""
    parent = private_dir(run_dir / rid)
    moment = clock or datetime.now(UTC)
    for step in range(3600):
        name = f"run_{moment + timedelta(seconds=step):%Y%m%d_%H%M%S}_{rid}"
        try:
            (parent / name).mkdir(mode=DIR_MODE)
        except FileExistsError:
            continue
        return parent / name
    raise HarnessError("no free attempt name", where=parent)


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

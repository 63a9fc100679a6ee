"""What follows from the end of an attempt: journal, retry, status file. The same for a supervisor and a collector.

Invariant: `combo_finished` is in the journal before anything that depends on it; a crash in between is mended by
`mend`, which every new supervisor calls.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.combo import outcome as outcomes
from devops_bench.combo.events import last_phase
from devops_bench.combo.outcome import Outcome
from devops_bench.combo.token import take_token
from devops_bench.matrix.plan import Combo
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState
from devops_bench.supervisor import attempts, summary
from devops_bench.supervisor.follow_up import fault_of, follow_up
from devops_bench.supervisor.schedule.retry import Fault
from devops_bench.supervisor.schedule.rules import Rules
from devops_bench.supervisor.schedule.scheduler import End
from devops_bench.supervisor.state import RunState

REASON_CHARS = 700


@dataclass(frozen=True, slots=True)
class Again:
    """The combo is planned again and may start after `delay` seconds."""

    delay: float


@dataclass(frozen=True, slots=True)
class Ended:
    """What the scheduler is told, and whether the combo starts again."""

    end: End
    again: Again | None


class Endings:
    """Bound to one run's journal (through `record`) and state. `holds` says that a final end waits for something."""

    def __init__(
        self,
        run_dir: Path,
        state: RunState,
        combos: Mapping[str, Combo],
        state_root: Path,
        record: Callable[..., None],
        redactor: Redactor,
        rules: Rules,
        holds: Callable[[str, Fault], bool] = lambda _rid, _fault: False,
    ) -> None:
        self._run_dir = run_dir
        self._state = state
        self._combos = combos
        self._state_root = state_root
        self._record = record
        self._redactor = redactor
        self._rules = rules
        self._holds = holds
        self._rng = random.Random()  # noqa: S311 - jitter, not a secret

    def outcome_of(self, rid: str, directory: Path, code: int | None = None) -> Outcome:
        """The attempt's outcome, or what is concluded when its process ended without one (and is then swept)."""
        found = outcomes.read(directory)
        if found is not None and found.signature != outcomes.CRASHED:
            return found
        self._sweep(rid)
        if found is not None:
            return found
        died = attempts.died(last_phase(directory) or self._state.combos[rid].phase, code)
        if self._state.stop_requested:
            return Outcome(ComboState.STOPPED, died.exit, phase=died.phase, reason="killed by stop")
        return died

    def conclude(self, rid: str, attempt: int, outcome: Outcome) -> Ended:
        """Journal the end of an attempt and what follows from it."""
        reason = self._redactor.text(outcome.reason)[:REASON_CHARS]
        self._record("combo_finished", rid=rid, attempt=attempt, **{**outcome.fields(), "reason": reason})
        if outcome.residue:
            self._record("combo_residue", rid=rid, attempt=attempt, residue=self._redactor.obj(list(outcome.residue)))
        fault = fault_of(outcome)
        if fault is not None:
            self._classified(rid, attempt, fault)
        again = self._follow_up(rid, attempt, outcome, fault, reason, may_wait=True)
        klass, signature = (fault.klass, fault.signature) if fault is not None else (None, "")
        limited = fault is not None and fault.rate_limit
        return Ended(End(outcome.state, klass, signature, limited, outcome.delay), again)

    def mend(self, rid: str) -> Again | None:
        """Do what should have followed from an end that is in the journal, if it has not been done."""
        combo = self._state.combos[rid]
        if combo.state is ComboState.STOPPED:
            self._record("combo_replanned", rid=rid, reason="resumed after a stop")
            return Again(0.0)
        if not combo.state.terminal or summary.has_status(self._run_dir, rid):
            return None
        told = Outcome(
            combo.state,
            combo.exit or 0,
            klass=combo.klass,
            phase=combo.phase or None,
            signature=combo.signature,
            reason=combo.reason,
            transient=combo.transient,
        )
        return self._follow_up(rid, combo.attempt, told, fault_of(told), combo.reason)

    def _classified(self, rid: str, attempt: int, fault: Fault) -> None:
        self._record(
            "classified",
            rid=rid,
            attempt=attempt,
            phase=fault.phase,
            signature=self._redactor.text(fault.signature),
            row=fault.row,
            action=fault.action,
            max_retries=fault.max_retries,
            **{"class": fault.klass.value},
        )

    def _follow_up(
        self, rid: str, attempt: int, outcome: Outcome, fault: Fault | None, reason: str, may_wait: bool = False
    ) -> Again | None:
        stopping = bool(self._state.stop_requested)
        found = follow_up(self._state.combos[rid], outcome, fault, stopping, self._rules, self._rng)
        if found.replan:
            self._record("combo_replanned", rid=rid, reason=found.replan)
            return Again(0.0)
        if found.retry is not None and fault is not None:
            delay = round(found.retry.delay, 3)
            signature = self._redactor.text(found.retry.signature)
            self._record(
                "retry_planned",
                rid=rid,
                attempt=attempt,
                delay=delay,
                signature=signature,
                phase=fault.phase,
                reason=reason,
            )
            return Again(delay)
        if found.exhausted:
            self._record("retry_exhausted", rid=rid, attempt=attempt, signature=outcome.signature)
        # While stopping nothing is final: the next supervisor finds an end without a status file and mends it.
        if found.final and may_wait and fault is not None and self._holds(rid, fault):
            return None  # it waits for a fix
        if found.final:
            summary.write_status(self._run_dir, rid, outcome.exit)
        return None

    def _sweep(self, rid: str) -> None:
        """Remove what a dead combo left on this host; what cannot be removed is said, not hidden.

        Only while holding its token: another run may have taken the combo's place already, and sweeps before it starts.
        """
        combo = self._combos[rid]
        token = take_token(combo.token, self._state_root)
        if token is None:
            return
        from devops_bench.combo.cleanup import sweep_combo  # imports the sandbox: only when something died

        try:
            left = sweep_combo(self._state_root, rid, combo.cluster_name)
        finally:
            os.close(token)
        if left:
            self._record("combo_residue", rid=rid, residue=self._redactor.obj(left))


def recorder(journal: Any, state: RunState) -> Callable[..., None]:
    """Append to `journal` and fold into `state`."""

    def record(event: str, **fields: Any) -> None:
        state.apply(journal.append(event, **fields))

    return record

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
from devops_bench.combo.cleanup import sweep_combo
from devops_bench.combo.events import last_phase
from devops_bench.combo.outcome import Outcome
from devops_bench.combo.token import take_token
from devops_bench.matrix.plan import Combo
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState
from devops_bench.supervisor import attempts, policy, summary
from devops_bench.supervisor.policy import Retry
from devops_bench.supervisor.state import RunState

REASON_CHARS = 700


@dataclass(frozen=True, slots=True)
class Again:
    """The combo is planned again and may start after `delay` seconds."""

    delay: float


class Endings:
    """Bound to one run's journal (through `record`) and state."""

    def __init__(
        self,
        run_dir: Path,
        state: RunState,
        combos: Mapping[str, Combo],
        state_root: Path,
        record: Callable[..., None],
        redactor: Redactor,
    ) -> None:
        self._run_dir = run_dir
        self._state = state
        self._combos = combos
        self._state_root = state_root
        self._record = record
        self._redactor = redactor
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

    def conclude(self, rid: str, attempt: int, outcome: Outcome) -> Again | None:
        """Journal the end of an attempt and what follows from it."""
        reason = self._redactor.text(outcome.reason)[:REASON_CHARS]
        self._record("combo_finished", rid=rid, attempt=attempt, **{**outcome.fields(), "reason": reason})
        if outcome.residue:
            self._record("combo_residue", rid=rid, attempt=attempt, residue=self._redactor.obj(list(outcome.residue)))
        return self._follow_up(rid, attempt, outcome, reason)

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
            signature=combo.signature,
            reason=combo.reason,
            transient=combo.transient,
        )
        return self._follow_up(rid, combo.attempt, told, combo.reason)

    def _follow_up(self, rid: str, attempt: int, outcome: Outcome, reason: str) -> Again | None:
        stopping = bool(self._state.stop_requested)
        if outcome.state is ComboState.STOPPED:
            if stopping:
                return None
            self._record("combo_replanned", rid=rid, reason="stopped, but not by this run")
            return Again(0.0)
        retries = self._state.combos[rid].retries
        retry = policy.decide_retry(outcome, retries, self._rng)
        if retry is not None:
            # While stopping nothing is planned: the next supervisor finds an end without a status file and mends it.
            return None if stopping else self._again(rid, attempt, retry, reason)
        if outcome.state is ComboState.INVALID and outcome.transient:
            self._record("retry_exhausted", rid=rid, attempt=attempt, signature=outcome.signature)
        summary.write_status(self._run_dir, rid, outcome.exit)
        return None

    def _again(self, rid: str, attempt: int, retry: Retry, reason: str) -> Again:
        delay = round(retry.delay, 3)
        self._record("retry_planned", rid=rid, attempt=attempt, delay=delay, signature=retry.signature, reason=reason)
        return Again(delay)

    def _sweep(self, rid: str) -> None:
        """Remove what a dead combo left on this host; what cannot be removed is said, not hidden.

        Only while holding its token: another run may have taken the combo's place already, and sweeps before it starts.
        """
        combo = self._combos[rid]
        token = take_token(combo.token, self._state_root)
        if token is None:
            return
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

"""Is an attempt that could not be judged tried again? By the known-issues table, never by guess.

Only invalid attempts, only rows that the table calls transient, at most RETRIES_MAX per combo, with exponential backoff
and jitter. What nobody knows is tried once more; the same unknown failure in the same phase again ends it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from devops_bench.combo.outcome import Outcome
from devops_bench.router import route
from devops_bench.router.route import UNKNOWN_RETRIES
from devops_bench.router.table import RETRIES_MAX
from devops_bench.settings import ComboState, FailureClass, Phase
from devops_bench.supervisor.schedule.rules import Rules


@dataclass(frozen=True, slots=True)
class Fault:
    """What an invalid attempt's failure is. `signature` is the table's or a fingerprint, `row` the table's line."""

    klass: FailureClass
    phase: str
    signature: str
    max_retries: int
    delay: float = 0.0
    row: int | None = None
    action: str = ""
    rate_limit: bool = False

    @property
    def known(self) -> bool:
        """False for a failure that is told by its fingerprint only."""
        return self.klass is not FailureClass.UNKNOWN

    @classmethod
    def of(cls, outcome: Outcome) -> Fault:
        """Look an invalid attempt up. The combo's own class stands, as it saw more; the table says how often to try."""
        phase = Phase(outcome.phase) if outcome.phase in set(Phase) else None
        said = FailureClass(outcome.klass) if outcome.klass in set(FailureClass) else FailureClass.UNKNOWN
        found = route(f"{outcome.signature or ''}\n{outcome.reason}", phase=phase)
        if said not in {found.klass, FailureClass.UNKNOWN} and outcome.signature:
            # Words that it quotes may be of another row: its own signature is what its row goes by.
            found = route(outcome.signature, phase=phase)
        where = outcome.phase or ""
        if found.row is not None and said in {found.klass, FailureClass.UNKNOWN}:
            signature = outcome.signature or found.signature
            return cls(found.klass, where, signature, found.max_retries, outcome.delay, found.row, found.action,
                       found.rate_limit)  # fmt: skip
        if said is FailureClass.UNKNOWN:
            return cls(said, where, found.signature, UNKNOWN_RETRIES, outcome.delay, action=found.action)
        retries = RETRIES_MAX if outcome.transient and said is FailureClass.INFRA else 0
        return cls(said, where, outcome.signature or found.signature, retries, outcome.delay)


@dataclass(frozen=True, slots=True)
class Retry:
    """Try again after `delay` seconds because of `signature`."""

    delay: float
    signature: str


def decide(
    state: ComboState, fault: Fault | None, retries: int, before: tuple[str, str], rules: Rules, rng: random.Random
) -> Retry | None:
    """The retry that follows, or None. `retries` were made, the last one because of `before` (signature, phase)."""
    if state is not ComboState.INVALID or fault is None:
        return None
    most = fault.max_retries
    if not fault.known:
        # Another unknown failure than before is news, and gets its own second try.
        most = 0 if (fault.signature, fault.phase) == before else RETRIES_MAX
    if retries >= min(most, RETRIES_MAX):
        return None
    delay = min(rules.backoff * 2**retries * (1 + rng.random() / 2), rules.backoff_most)
    return Retry(max(delay, fault.delay), fault.signature)

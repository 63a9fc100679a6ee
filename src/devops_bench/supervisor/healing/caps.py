"""How often, how long and how dearly a run may be repaired. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from devops_bench.plaintext import counted
from devops_bench.supervisor.healing.spend import Spend
from devops_bench.supervisor.schedule.rules import Budget

DEFAULT_BUDGET = Budget(cost=25.0, duration=86400.0)
"""USD and seconds of an unlimited run without a budget of its own: nobody may be there to see what it spends."""


@dataclass(frozen=True, slots=True)
class Caps:
    """Fixes per run and per signature; seconds of one fix and of all."""

    fixes: int = 5
    per_signature: int = 1
    one: float = 1800.0
    all: float = 7200.0


@dataclass(slots=True)
class Ledger:
    """What was tried in this run. `fixed` signatures had an accepted fix; `commit` is the last one that was accepted,
    before that the one that the run began with.
    """

    caps: Caps = field(default_factory=Caps)
    tried: Counter[str] = field(default_factory=Counter)
    fixed: set[str] = field(default_factory=set)
    seconds: float = 0.0
    stopped: str = ""
    commit: str = ""

    def refuses(self, signature: str) -> str:
        """Why no fix for `signature` is tried; empty when one may be."""
        if self.stopped:
            return self.stopped
        if signature in self.fixed:
            return f"{signature} came again after its fix"
        if self.tried[signature] >= self.caps.per_signature:
            return f"a fix for {signature} was tried already"
        if self.tried.total() >= self.caps.fixes:
            return f"{counted(self.caps.fixes, 'fix', 'fixes')} tried in this run, the most"
        if self.seconds >= self.caps.all:
            return f"fixing took {self.seconds:.0f} s in this run"
        return ""

    def note(self, signature: str, seconds: float, accepted: bool) -> None:
        """A fix was tried."""
        self.tried[signature] += 1
        self.seconds += seconds
        if accepted:
            self.fixed.add(signature)

    def hear_spend(self, spend: Spend, budget: Budget) -> None:
        """What a fix cost. A budget that nobody can measure is none: without an end in time there is no second fix."""
        unknown = [
            name
            for name, limit, told in (("cost", budget.cost, spend.cost), ("tokens", budget.tokens, spend.tokens))
            if limit is not None and told is None
        ]
        if unknown and budget.duration is None and not self.stopped:
            self.stopped = (
                f"the fixer does not say what it spends, so --max-{unknown[0]} cannot hold: let it write "
                "$BENCH_FIX_SPEND, or resume with --max-duration"
            )

    def restore(self, events: Iterable[Mapping[str, Any]]) -> None:
        """Go on where earlier supervisors of the run were; a fix that one of them did not end was tried."""
        begun = ""
        for event in events:
            kind, signature = event["event"], str(event.get("signature") or "")
            if kind == "unlimited":
                self.commit = self.commit or str(event.get("commit") or "")
            elif kind == "fix_started":
                begun = signature
            elif kind == "fix_ended":
                begun = ""
                self._ended(event, signature)
            elif kind == "resumed" and begun:
                self.note(begun, 0.0, accepted=False)
                begun = ""
        if begun:
            self.note(begun, 0.0, accepted=False)

    def _ended(self, event: Mapping[str, Any], signature: str) -> None:
        seconds = float(event.get("seconds") or 0.0)
        if event.get("postponed"):
            self.seconds += seconds
        else:
            self.note(signature, seconds, bool(event.get("accepted")))
        self.commit = str(event.get("commit") or self.commit)
        if event.get("final"):
            self.stopped = str(event.get("why") or "an earlier fix ended it")

"""How often, how long and how dearly a run may be repaired. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Caps:
    """Fixes per run and per signature; seconds of one fix and of all."""

    fixes: int = 5
    per_signature: int = 1
    one: float = 1800.0
    all: float = 7200.0


@dataclass(slots=True)
class Ledger:
    """What was tried in this run. `fixed` signatures had an accepted fix."""

    caps: Caps = field(default_factory=Caps)
    tried: Counter[str] = field(default_factory=Counter)
    fixed: set[str] = field(default_factory=set)
    seconds: float = 0.0
    stopped: str = ""

    def refuses(self, signature: str) -> str:
        """Why no fix for `signature` is tried; empty when one may be."""
        if self.stopped:
            return self.stopped
        if signature in self.fixed:
            return f"{signature} came again after its fix"
        if self.tried[signature] >= self.caps.per_signature:
            return f"a fix for {signature} was tried already"
        if self.tried.total() >= self.caps.fixes:
            return f"{self.caps.fixes} fixes were tried in this run"
        if self.seconds >= self.caps.all:
            return f"fixing took {self.seconds:.0f} s in this run"
        return ""

    def note(self, signature: str, seconds: float, accepted: bool) -> None:
        """A fix was tried."""
        self.tried[signature] += 1
        self.seconds += seconds
        if accepted:
            self.fixed.add(signature)

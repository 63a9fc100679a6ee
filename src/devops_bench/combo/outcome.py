"""`outcome.json`: the last act of a combo. Whoever finds it knows the attempt is over and how; without it, it died."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.paths import atomic_write
from devops_bench.settings import ComboState

NAME = "outcome.json"
CRASHED = "combo-crashed"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an attempt ended. `klass` is a FailureClass value for invalid ones, `exit` the contract's 0, 1 or 128+n.

    `transient` says that the same thing may work when tried again, `delay` seconds later at the earliest. Cost is USD,
    None when unknown.
    """

    state: ComboState
    exit: int
    klass: str | None = None
    phase: str | None = None
    signature: str | None = None
    reason: str = ""
    score: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    transient: bool = False
    delay: float = 0.0
    residue: tuple[str, ...] = ()

    def fields(self) -> dict[str, Any]:
        """The fields of a `combo_finished` event."""
        return {
            "state": self.state.value,
            "exit": self.exit,
            "class": self.klass,
            "phase": self.phase,
            "signature": self.signature,
            "reason": self.reason,
            "score": self.score,
            "cost_usd": self.cost_usd,
            "tokens": self.tokens,
            "transient": self.transient,
        }

    def write(self, directory: Path, **more: Any) -> None:
        """Write `outcome.json` durably; `more` are extra keys (rid, attempt, ended)."""
        data = {**more, **self.fields(), "delay": self.delay, "residue": list(self.residue)}
        atomic_write(directory / NAME, json.dumps(data, indent=1) + "\n")


def read(directory: Path) -> Outcome | None:
    """The attempt's outcome; None when there is none or it is damaged."""
    try:
        data = json.loads((directory / NAME).read_bytes())
        return Outcome(
            state=ComboState(data["state"]),
            exit=int(data["exit"]),
            klass=data.get("class"),
            phase=data.get("phase"),
            signature=data.get("signature"),
            reason=str(data.get("reason") or ""),
            score=data.get("score"),
            cost_usd=data.get("cost_usd"),
            tokens=data.get("tokens"),
            transient=bool(data.get("transient")),
            delay=float(data.get("delay") or 0.0),
            residue=tuple(str(item) for item in data.get("residue") or ()),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None

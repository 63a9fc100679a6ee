"""What a run's journal says: a pure fold of events into the state of every combo.

Used by the supervisor (to go on), by `status`, `attach` and `stop` (to look), and by tests (to check invariants).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from devops_bench.settings import ComboState

STATE_VERSION = 5
GAP_MOST = 180.0
"""Seconds between two events that still count as work: heartbeats come every minute, so a longer gap is a sleep."""


@dataclass(slots=True)
class ComboStatus:
    """Where one combo stands. `attempt` counts from 1, 0: never started; `worker` is a process identity.

    `heard`: how many lines of the attempt's own events were read when the last of them came into the journal.
    """

    state: ComboState = ComboState.PLANNED
    attempt: int = 0
    phase: str = ""
    directory: str = ""
    worker: dict[str, Any] | None = None
    started: str = ""
    ended: str = ""
    exit: int | None = None
    klass: str | None = None
    signature: str | None = None
    reason: str = ""
    score: float | None = None
    cost_usd: float | None = None
    transient: bool = False
    retries: int = 0
    retried_for: tuple[str, str] = ("", "")
    action: str = ""
    tokens: int | None = None
    seen: str = ""
    heard: int = 0

    def to_data(self) -> dict[str, Any]:
        """JSON form; `klass` becomes `class`."""
        data: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        data["class"] = data.pop("klass")
        return data

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> ComboStatus:
        """Inverse of `to_data`."""
        values = dict(data)
        values["klass"] = values.pop("class")
        values["state"] = ComboState(values["state"])
        values["retried_for"] = tuple(values["retried_for"])
        return cls(**values)


@dataclass(slots=True)
class RunState:
    """The whole run. `combos` holds every rid of the plan once `launched` is read.

    `halted` is why launching stopped, empty while it goes on. `spent_usd` and `spent_tokens` count every attempt,
    `worked` the seconds in which a supervisor worked on it. `limits` are the caps of providers that asked to slow down.
    """

    stamp: str = ""
    combos: dict[str, ComboStatus] = field(default_factory=dict)
    launched: bool = False
    stop_requested: str = ""
    summarised: bool = False
    done: bool = False
    seq: int = 0
    started: str = ""
    updated: str = ""
    halted: str = ""
    spent_usd: float = 0.0
    spent_tokens: int = 0
    worked: float = 0.0
    retries: int = 0
    limits: dict[str, int] = field(default_factory=dict)
    code_tree: str = ""
    building: tuple[int, int] | None = None
    residue: list[str] = field(default_factory=list)

    def apply(self, event: Mapping[str, Any]) -> None:
        """Fold one event. Unknown events are ignored: newer writers may add some."""
        self.seq = int(event["seq"])
        time = str(event.get("time", ""))
        if event["event"] not in {"launched", "resumed"}:
            self.worked += _gap(self.updated, time)
        self.updated = time
        handler = _HANDLERS.get(str(event["event"]))
        if handler is not None:
            handler(self, event)
        if "heard" in event:
            _combo(self, event).heard = int(event["heard"])

    def counts(self) -> dict[str, int]:
        """Combos by state, every state named."""
        counted = Counter(combo.state.value for combo in self.combos.values())
        return {state.value: counted.get(state.value, 0) for state in ComboState}

    @property
    def all_terminal(self) -> bool:
        """True when every combo is scored, failed or invalid (a stopped one is unfinished)."""
        return all(c.state in {ComboState.SCORED, ComboState.FAILED, ComboState.INVALID} for c in self.combos.values())

    def active(self) -> list[str]:
        """Rids with an attempt under way."""
        return [rid for rid, combo in self.combos.items() if combo.state is ComboState.RUNNING]

    def to_data(self) -> dict[str, Any]:
        """JSON form for the snapshot."""
        return {
            "version": STATE_VERSION,
            "stamp": self.stamp,
            "combos": {rid: combo.to_data() for rid, combo in self.combos.items()},
            "launched": self.launched,
            "stop_requested": self.stop_requested,
            "summarised": self.summarised,
            "done": self.done,
            "halted": self.halted,
            "spent_usd": self.spent_usd,
            "spent_tokens": self.spent_tokens,
            "worked": self.worked,
            "retries": self.retries,
            "limits": self.limits,
            "code_tree": self.code_tree,
            "seq": self.seq,
            "started": self.started,
            "updated": self.updated,
            "building": self.building,
            "residue": self.residue,
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> RunState:
        """Inverse of `to_data`; KeyError, TypeError or ValueError when damaged."""
        if data["version"] != STATE_VERSION:
            raise ValueError("another version")
        values = {key: value for key, value in data.items() if key != "version"}
        values["combos"] = {rid: ComboStatus.from_data(item) for rid, item in data["combos"].items()}
        values["building"] = tuple(data["building"]) if data["building"] else None
        return cls(**values)


def _gap(before: str, after: str) -> float:
    """Seconds from one event to the next; none when a clock jumped or the host slept in between."""
    length = seconds(before, after)
    return length if length is not None and length <= GAP_MOST else 0.0


def seconds(start: str, end: str) -> float | None:
    """Between two UTC times; None when one is missing or a clock was set back."""
    try:
        length = (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
    except ValueError:
        return None
    return length if length >= 0 else None


def fold(events: Iterable[Mapping[str, Any]], state: RunState | None = None) -> RunState:
    """Fold events into a new or given state."""
    state = RunState() if state is None else state
    for event in events:
        state.apply(event)
    return state


def _launched(state: RunState, event: Mapping[str, Any]) -> None:
    state.launched = True
    state.stamp = str(event["run"])
    state.started = str(event["time"])
    state.combos = {rid: ComboStatus() for rid in event["rids"]}


def _combo(state: RunState, event: Mapping[str, Any]) -> ComboStatus:
    return state.combos.setdefault(str(event["rid"]), ComboStatus())


def _waiting(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.state = ComboState.WAITING
    combo.reason = str(event.get("reason", ""))


def _intent(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.directory = str(event["directory"])
    combo.worker = None
    combo.phase = ""


def _started(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.state = ComboState.RUNNING
    combo.attempt = int(event["attempt"])
    combo.directory = str(event["directory"])
    combo.worker = event["worker"]
    combo.started = combo.seen = str(event["time"])
    combo.heard = 0
    combo.phase = ""
    combo.reason = ""


def _phase(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.phase = str(event["phase"])
    combo.seen = str(event["time"])


def _activity(state: RunState, event: Mapping[str, Any]) -> None:
    _combo(state, event).seen = str(event["time"])


def _finished(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.state = ComboState(event["state"])
    combo.attempt = max(combo.attempt, int(event.get("attempt", 0)))
    combo.ended = combo.seen = str(event["time"])
    combo.worker = None
    combo.exit = event.get("exit")
    combo.klass = event.get("class")
    combo.signature = event.get("signature")
    combo.transient = bool(event.get("transient"))
    combo.reason = str(event.get("reason") or "")
    combo.score = event.get("score")
    combo.cost_usd = event.get("cost_usd")
    combo.tokens = event.get("tokens")
    combo.action = ""
    state.spent_usd += combo.cost_usd or 0.0
    state.spent_tokens += combo.tokens or 0
    if event.get("phase"):
        combo.phase = str(event["phase"])


def _fixed(state: RunState, event: Mapping[str, Any]) -> None:
    state.spent_usd += event.get("cost_usd") or 0.0
    state.spent_tokens += event.get("tokens") or 0


def _classified(state: RunState, event: Mapping[str, Any]) -> None:
    _combo(state, event).action = str(event.get("action") or "")


def _retry(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.state = ComboState.PLANNED
    combo.retries += 1
    combo.retried_for = (str(event.get("signature") or ""), str(event.get("phase") or ""))
    state.retries += 1
    combo.exit = None


def _replanned(state: RunState, event: Mapping[str, Any]) -> None:
    combo = _combo(state, event)
    combo.state = ComboState.PLANNED
    combo.exit = None


def _stop(state: RunState, event: Mapping[str, Any]) -> None:
    state.stop_requested = str(event.get("how", "graceful"))


def _resumed(state: RunState, event: Mapping[str, Any]) -> None:
    state.stop_requested = state.halted = ""


def _halted(state: RunState, event: Mapping[str, Any]) -> None:
    state.halted = str(event.get("reason") or "launching stopped")


def _code(state: RunState, event: Mapping[str, Any]) -> None:
    state.code_tree = str(event["worktree"])


def _limit(state: RunState, event: Mapping[str, Any]) -> None:
    if event.get("cap") is None:
        state.limits.pop(str(event["provider"]), None)
    else:
        state.limits[str(event["provider"])] = int(event["cap"])


def _building(state: RunState, event: Mapping[str, Any]) -> None:
    state.building = (int(event["done"]), int(event["total"])) if event.get("total") else None


def _residue(state: RunState, event: Mapping[str, Any]) -> None:
    state.residue.extend(str(item) for item in event.get("residue", []))


def _summarised(state: RunState, event: Mapping[str, Any]) -> None:
    state.summarised = True


def _done(state: RunState, event: Mapping[str, Any]) -> None:
    state.done = True


_HANDLERS = {
    "launched": _launched,
    "combo_waiting": _waiting,
    "combo_intent": _intent,
    "combo_started": _started,
    "phase": _phase,
    "agent_activity": _activity,
    "adopted": _activity,
    "combo_finished": _finished,
    "classified": _classified,
    "launching_stopped": _halted,
    "limit_changed": _limit,
    "code_changed": _code,
    "fix_ended": _fixed,
    "combo_replanned": _replanned,
    "combo_residue": _residue,
    "retry_planned": _retry,
    "stop_requested": _stop,
    "resumed": _resumed,
    "control_plane_build": _building,
    "summarised": _summarised,
    "done": _done,
}

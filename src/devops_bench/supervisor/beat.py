"""The supervisor's look at the whole run, once a minute: journal, `heartbeat.json`. Never a signal of completion."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devops_bench import settings
from devops_bench.combo.events import now
from devops_bench.paths import atomic_write
from devops_bench.process import identity
from devops_bench.supervisor import forecast, locks
from devops_bench.supervisor.state import RunState

if TYPE_CHECKING:
    from devops_bench.supervisor.core import Supervisor

NAME = "heartbeat.json"
JOURNALLED = ("done", "total", "active", "retries", "spent_usd", "spent_tokens", "left_sec")


class Beat:
    """Beats while the supervisor works."""

    def __init__(self, supervisor: Supervisor, loop: asyncio.AbstractEventLoop) -> None:
        self._of = supervisor
        self._loop = loop
        self._every = settings.value("heartbeat", supervisor.env)
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Write the first heartbeat now; the journal hears of it from the second on."""
        write(self._of.run_dir, self.data())
        self._timer = self._loop.call_later(self._every, self._beat)

    def stop(self) -> None:
        """No more heartbeats but the last one (`end`)."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def end(self) -> dict[str, Any]:
        """Write what became of the run, and return it. Only once no event can change that any more."""
        self.stop()
        data = self.data(living=False)
        write(self._of.run_dir, data)
        return data

    def _beat(self) -> None:
        data = self.data()
        with contextlib.suppress(OSError):
            self._of.record("heartbeat", **{key: data[key] for key in JOURNALLED})
        write(self._of.run_dir, data)
        with contextlib.suppress(OSError):
            if locks.owner(self._of.run_dir) is None:  # somebody removed it: `stop` and `attach` look for it
                locks.sign(self._of.run_dir, "supervisor")
        if self._of.orders.hands_off:
            self._of.telling.heartbeat(data)
        self._timer = self._loop.call_later(self._every, self._beat)

    def data(self, living: bool = True) -> dict[str, Any]:
        """What `heartbeat.json` holds; not `living`: this supervisor is about to end."""
        core = self._of
        return facts(
            core.run_dir, core.state, core.plan.options.max_parallel, self._every, core.schedule.spend, living=living
        )


def facts(
    run_dir: Path, state: RunState, max_parallel: int, every: float, spend: tuple[float, int], *, living: bool
) -> dict[str, Any]:
    """A heartbeat. `spend`: USD and tokens; `active`: running combos by phase; `left_sec` is None when unknown."""
    cost, tokens = spend
    me = identity()
    return {
        "time": now(),
        "stamp": run_dir.name,
        "pid": me.pid if me is not None else None,
        "every_sec": every,
        "state": forecast.overall(state, living=living),
        "halted": state.halted,
        "done": forecast.done(state),
        "total": len(state.combos),
        "counts": state.counts(),
        "active": forecast.active_phases(state),
        "retries": state.retries,
        "spent_usd": round(cost, 6),
        "spent_tokens": tokens,
        "left_sec": forecast.left(state, max_parallel, now()),
    }


def write(run_dir: Path, data: Mapping[str, Any]) -> None:
    """Write `heartbeat.json`; a disk that takes nothing costs the beat, not the run."""
    with contextlib.suppress(OSError):
        atomic_write(run_dir / NAME, json.dumps(data, indent=1) + "\n", durable=False)

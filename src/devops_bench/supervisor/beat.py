"""The supervisor's look at the whole run, once a minute: journal, `heartbeat.json`. Never a signal of completion."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import TYPE_CHECKING, Any

from devops_bench import settings
from devops_bench.combo.events import now
from devops_bench.paths import atomic_write
from devops_bench.process import identity
from devops_bench.supervisor import forecast, locks

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
        self._write(self.data())
        self._timer = self._loop.call_later(self._every, self._beat)

    def stop(self) -> None:
        """No more heartbeats; the last one tells the end."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._write(self.data())

    def _beat(self) -> None:
        data = self.data()
        with contextlib.suppress(OSError):
            self._of.record("heartbeat", **{key: data[key] for key in JOURNALLED})
        self._write(data)
        with contextlib.suppress(OSError):
            if locks.owner(self._of.run_dir) is None:  # somebody removed it: `stop` and `attach` look for it
                locks.sign(self._of.run_dir, "supervisor")
        if self._of.orders.hands_off:
            self._of.telling.heartbeat(data)
        self._timer = self._loop.call_later(self._every, self._beat)

    def data(self) -> dict[str, Any]:
        """What `heartbeat.json` holds. `active` counts running combos by phase; `left_sec` is None when unknown."""
        core = self._of
        state = core.state
        cost, tokens = core.schedule.spend
        me = identity()
        return {
            "time": now(),
            "stamp": core.run_dir.name,
            "pid": me.pid if me is not None else None,
            "every_sec": self._every,
            "state": forecast.overall(state, living=True),
            "halted": state.halted,
            "done": forecast.done(state),
            "total": len(state.combos),
            "counts": state.counts(),
            "active": forecast.active_phases(state),
            "retries": state.retries,
            "spent_usd": round(cost, 6),
            "spent_tokens": tokens,
            "left_sec": forecast.left(state, core.plan.options.max_parallel, now()),
        }

    def _write(self, data: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):
            atomic_write(self._of.run_dir / NAME, json.dumps(data, indent=1) + "\n", durable=False)

"""Following a run from any terminal: read the journal as it grows, show it, end with the run's own exit code.

The follower changes nothing: Ctrl-C only detaches. When the supervisor is dead it gathers what running combos finish
(`collect`), starts nothing new, and says how to go on.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from devops_bench.errors import ExitCode, RefusedError
from devops_bench.settings import JUDGED, ComboState
from devops_bench.supervisor import collect, journal, locks, summary
from devops_bench.supervisor.inotify import IN_CREATE, IN_MODIFY, IN_MOVED_TO, Inotify
from devops_bench.supervisor.state import RunState, fold

REFRESH = 1.0  # seconds between redraws when nothing happens: elapsed times move


class View(Protocol):
    """What shows a run while it goes on."""

    def event(self, state: RunState, event: Mapping[str, Any]) -> None:
        """One event, already folded into `state`."""
        ...

    def tick(self, state: RunState) -> None:
        """Some time has passed."""
        ...

    def close(self) -> None:
        """The following ends."""
        ...


class Ending(StrEnum):
    """How following ended."""

    DONE = "done"
    STOPPED = "stopped"
    HALTED = "halted"
    DEAD = "dead"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class Followed:
    """The run's state when following ended, and why it did (one of Ending)."""

    state: RunState
    ending: Ending

    @property
    def exit_code(self) -> ExitCode:
        """The exit code by the table: 3 beats 1; 124 when the follower gave up."""
        if self.ending == Ending.TIMEOUT:
            return ExitCode.POLL_TIMEOUT
        return exit_code(self.state)


def exit_code(state: RunState) -> ExitCode:
    """0 all passed, 1 a task failed, 3 something is invalid or unfinished (which beats 1)."""
    states = {combo.state for combo in state.combos.values()}
    if states - JUDGED or not state.done:
        return ExitCode.INVALID
    return ExitCode.FAILED if ComboState.FAILED in states else ExitCode.OK


def follow(run_dir: Path, view: View, env: Mapping[str, str], timeout: float) -> Followed:
    """Show the run until it is done, stopped, dead, or `timeout` seconds have passed."""
    deadline = time.monotonic() + timeout if timeout > 0 else None
    state = RunState()
    offset = 0
    watcher = Inotify()
    watcher.watch(run_dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO)
    pidfd: int | None = None
    try:
        while True:
            offset = _read(run_dir, offset, state, view)
            if (run_dir / summary.DONE).exists() and state.done:
                return Followed(state, Ending.DONE)
            if pidfd is None:
                pidfd = _supervisor(run_dir)
                if pidfd is None:
                    # What it wrote last may have come between the two looks.
                    offset = _read(run_dir, offset, state, view)
                    ended = _without_supervisor(run_dir, state, view, env, deadline)
                    if ended is not None:
                        return ended
                    if locks.held(run_dir) and not locks.owner(run_dir):
                        # Somebody works on it, but the note that says who is gone until its next heartbeat.
                        if deadline is not None and time.monotonic() >= deadline:
                            return Followed(state, Ending.TIMEOUT)
                        select.select([watcher.fileno()], [], [], REFRESH)
                        list(watcher.read())
                    continue
            left = REFRESH if deadline is None else min(REFRESH, deadline - time.monotonic())
            if left <= 0:
                return Followed(state, Ending.TIMEOUT)
            ready, _, _ = select.select([watcher.fileno(), pidfd], [], [], left)
            if watcher.fileno() in ready:
                list(watcher.read())
            if pidfd in ready:
                os.close(pidfd)
                pidfd = None
            if not ready:
                view.tick(state)
    finally:
        watcher.close()
        if pidfd is not None:
            os.close(pidfd)
        view.close()


def _read(run_dir: Path, offset: int, state: RunState, view: View) -> int:
    events, offset = journal.read(run_dir, offset)
    for event in events:
        fold([event], state)
        view.event(state, event)
    if events:
        view.tick(state)
    return offset


def _supervisor(run_dir: Path) -> int | None:
    """A pidfd of the living supervisor (woken if it was stopped), or None."""
    who = locks.owner(run_dir)
    if who is None or not locks.held(run_dir):
        return None
    if who.state() == "T":
        collect.wake(who, signal.SIGCONT)
    return who.open_pidfd()


def _without_supervisor(
    run_dir: Path, state: RunState, view: View, env: Mapping[str, str], deadline: float | None
) -> Followed | None:
    """The supervisor is gone. Let running combos end, journal them, and say what is left.

    None when there is one again (somebody resumed the run, or it is just starting): follow on.
    """
    if (run_dir / summary.DONE).exists():
        return Followed(state, Ending.DONE)
    while workers := collect.living(state):
        if locks.held(run_dir):
            return None
        left = REFRESH if deadline is None else min(REFRESH, deadline - time.monotonic())
        if left <= 0:
            return Followed(state, Ending.TIMEOUT)
        for who in workers.values():
            if who.state() == "T":  # nobody else would let it go on, and it would never end
                collect.wake(who, signal.SIGCONT)
        collect.wait_for_any(workers, left)
        view.tick(state)
    try:
        state = collect.collect(run_dir, env)
    except RefusedError:
        return None
    if state.stop_requested:
        return Followed(state, Ending.STOPPED)
    return Followed(state, Ending.HALTED if state.halted else Ending.DEAD)

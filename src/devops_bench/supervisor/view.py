"""What follow mode shows: a live table on a terminal, one plain line per event elsewhere, JSON lines for machines."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import IO, Any

from devops_bench.combo.events import now
from devops_bench.plaintext import counted, one_line
from devops_bench.settings import ComboState
from devops_bench.supervisor import forecast
from devops_bench.supervisor.state import RunState

SYMBOLS = {
    ComboState.SCORED: "pass",
    ComboState.FAILED: "fail",
    ComboState.INVALID: "invalid",
    ComboState.STOPPED: "stopped",
}
COLORS = {"pass": "green", "fail": "red", "invalid": "yellow", "stopped": "dim"}


def progress(state: RunState) -> str:
    """`7/12 done: 5 passed, 1 failed, 1 invalid; 3 running, 2 waiting`."""
    counts = state.counts()
    done = counts["scored"] + counts["failed"] + counts["invalid"]
    parts = [f"{counts['scored']} passed", f"{counts['failed']} failed", f"{counts['invalid']} invalid"]
    rest = [f"{counts['running']} running", f"{counts['planned'] + counts['waiting']} to go"]
    if counts["stopped"]:
        rest.append(f"{counts['stopped']} stopped")
    if state.retries:
        rest.append(f"{state.retries} retried")
    if state.spent_usd:
        rest.append(f"{state.spent_usd:.2f} USD")
    return f"{done}/{len(state.combos)} done: {', '.join(parts)}; {', '.join(rest)}"


def time_left(state: RunState, at_once: int) -> str:
    """`, about 12 min left`, or nothing when nobody can say."""
    left = forecast.left(state, at_once, now())
    if not left:
        return ""
    return f", about {left:.0f} s left" if left < 90 else f", about {left / 60:.0f} min left"


def describe(state: RunState, event: Mapping[str, Any]) -> str | None:
    """One line for an event that a person wants to see, else None. What comes from agents is made harmless."""
    line = _describe(state, event)
    return None if line is None else one_line(line)


def _describe(state: RunState, event: Mapping[str, Any]) -> str | None:
    name, rid = event["event"], event.get("rid", "")
    if name == "launched":
        return f"launched: {counted(len(event['rids']), 'combo')}"
    if name == "combo_started":
        attempt = f" (attempt {event['attempt']})" if event["attempt"] > 1 else ""
        return f"started {rid}{attempt}"
    if name == "combo_finished":
        word = SYMBOLS[ComboState(event["state"])]
        score = f" score {event['score']:.2f}" if isinstance(event.get("score"), int | float) else ""
        why = f": {event['reason']}" if event.get("reason") and word != "pass" else ""
        klass = f" [{event['class']}]" if event.get("class") else ""
        return f"{word} {rid}{score}{klass}{why} ({progress(state)})"
    if name == "retry_planned":
        return f"retry {rid} in {event['delay']:g} s: {event['reason']}"
    if name == "launching_stopped":
        return f"nothing new is started: {event['reason']}"
    if name == "limit_changed":
        cap = "no limit" if event["cap"] is None else f"at most {event['cap']} at once"
        wait = f", nothing for {event['wait']:.0f} s" if event.get("wait") else ""
        return f"limit {event['provider']}: {cap}{wait} ({event['why']})"
    if name == "combo_waiting":
        return f"waiting {rid}: {event['reason']}"
    if name == "combo_residue":
        return f"residue {rid}: {'; '.join(event['residue'])}"
    if name == "control_plane_build":
        if event.get("path"):
            return "control plane: built"
        return f"control plane: building, {event['done']} of {event['total'] or '?'} packages"
    if name in {"adopted", "resumed", "stop_requested", "retry_exhausted"}:
        return f"{name.replace('_', ' ')} {rid}".rstrip()
    return None


class LineView:
    """Plain lines, for logs and pipes."""

    def __init__(self, out: IO[str] | None = None) -> None:
        self._out = out if out is not None else sys.stdout

    def event(self, state: RunState, event: Mapping[str, Any]) -> None:
        """Print one line, with the event's own time (UTC)."""
        line = describe(state, event)
        if line is not None:
            print(f"{str(event.get('time', ''))[11:19]} {line}", file=self._out, flush=True)

    def tick(self, state: RunState) -> None:
        """Nothing: logs are not animated."""

    def close(self) -> None:
        """Nothing to undo."""


class JsonView:
    """Every event as it stands in the journal, one JSON object a line."""

    def event(self, state: RunState, event: Mapping[str, Any]) -> None:
        """Print it."""
        print(json.dumps(event), flush=True)

    def tick(self, state: RunState) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing to undo."""


class LiveView:
    """A progress line and one row per active combo, redrawn in place; finished combos scroll by above."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console()
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()

    def event(self, state: RunState, event: Mapping[str, Any]) -> None:
        """Print endings above the table, which `tick` redraws after the batch."""
        from rich.text import Text

        if event["event"] in {"combo_finished", "retry_planned", "combo_residue", "adopted", "resumed"}:
            line = describe(state, event) or ""
            word = line.split(" ", 1)[0]
            self._console.print(Text(line, style=COLORS.get(word, "")), overflow="ellipsis", no_wrap=True)

    def tick(self, state: RunState) -> None:
        """Redraw with the times moved on."""
        from rich.console import Group
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        counts = state.counts()
        done = counts["scored"] + counts["failed"] + counts["invalid"]
        rows = Table.grid(padding=(0, 2))
        for rid in state.active():
            combo = state.combos[rid]
            seen = f"seen {age(combo.seen)} ago" if combo.seen else ""
            rows.add_row(
                Text(combo.phase or "start", style="cyan"), f"{age(combo.started):>6}", Text(rid, "bold"), seen
            )
        head = Table.grid(padding=(0, 1))
        text = progress(state) + time_left(state, counts["running"])
        head.add_row(ProgressBar(total=max(1, len(state.combos)), completed=done, width=24), text)
        parts: list[Any] = [head, rows]
        if state.building is not None:
            finished, total = state.building
            parts.append(Text(f"building the control plane: {finished} of {total} packages", style="magenta"))
        self._live.update(Group(*parts), refresh=True)

    def close(self) -> None:
        """Remove the live part."""
        self._live.stop()


def age(since: str) -> str:
    """`12s`, `3m05s` since an ISO time."""
    try:
        seconds = int((datetime.now(UTC) - datetime.fromisoformat(since)).total_seconds())
    except ValueError:
        return "?"
    return f"{seconds}s" if seconds < 60 else f"{seconds // 60}m{seconds % 60:02d}s"


def choose(as_json: bool) -> LineView | LiveView | JsonView:
    """The view for this terminal."""
    if as_json:
        return JsonView()
    return LiveView() if sys.stdout.isatty() else LineView()

"""`devops-bench events STAMP`: the journal of a run, as lines or JSON."""

from __future__ import annotations

import select
from pathlib import Path

import click

from devops_bench import paths


@click.command()
@click.argument("stamp", default="latest")
@click.option("--follow", "-f", is_flag=True, help="Go on until the run ends.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line, as in the journal.")
@click.option("--rid", help="Only events of this combo.")
def command(stamp: str, follow: bool, as_json: bool, rid: str | None) -> int:
    """Print the events of run STAMP. Names and fields are stable; new ones may be added."""
    from devops_bench.supervisor import journal, runs
    from devops_bench.supervisor.inotify import Inotify
    from devops_bench.supervisor.state import RunState
    from devops_bench.supervisor.view import JsonView, LineView

    run_dir = runs.find(stamp, paths.runs_root())
    view = JsonView() if as_json else LineView()
    state = RunState()
    offset = 0
    watcher = Inotify() if follow else None
    try:
        if watcher is not None:
            watcher.watch(run_dir)
        while True:
            over = watcher is None or ended(run_dir)
            events, offset = journal.read(run_dir, offset)
            for event in events:
                state.apply(event)
                if rid is None or event.get("rid") == rid:
                    view.event(state, event)
            if watcher is None or over:
                return 0
            select.select([watcher.fileno()], [], [], 1.0)
            list(watcher.read())
    finally:
        if watcher is not None:
            watcher.close()


def ended(run_dir: Path) -> bool:
    """True when no more events will come: the run is done, or nobody holds it."""
    from devops_bench.supervisor import locks, summary

    return (run_dir / summary.DONE).exists() or not locks.held(run_dir)

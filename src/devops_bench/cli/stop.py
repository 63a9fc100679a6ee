"""`devops-bench stop STAMP`: stop a run; it stays resumable."""

from __future__ import annotations

import os
import signal

import click

from devops_bench import paths, settings


@click.command()
@click.argument("stamp", default="latest")
@click.option("--now", is_flag=True, help="Kill running combos at once instead of letting them tear down.")
def command(stamp: str, now: bool) -> int:
    """Stop run STAMP: nothing new starts, running combos tear down (or are killed), the run can be resumed."""
    from devops_bench.process import wait_ended
    from devops_bench.supervisor import collect, runs, snapshot, summary
    from devops_bench.supervisor.locks import alive

    run_dir = runs.find(stamp, paths.runs_root())
    if (run_dir / summary.DONE).exists():
        click.echo(f"run {run_dir.name} is done already", err=True)
        return 0
    who, living = alive(run_dir)
    if living and who is not None and collect.wake(who, signal.SIGUSR1 if now else signal.SIGTERM):
        grace = settings.value("stop_grace") + settings.TABLE["kill_ladder"].value + 60
        fd = who.open_pidfd()
        if fd is not None:
            try:
                if not wait_ended(fd, grace):
                    click.echo(f"the supervisor (pid {who.pid}) is still busy; try `--now`", err=True)
                    return 3
            finally:
                os.close(fd)
    state, _offset = snapshot.load(run_dir)
    if not state.stop_requested and not state.done:
        # Dead, or dead before it could hear us: its combos may go on.
        collect.collect(run_dir, os.environ, stop="now" if now else "graceful", grace=settings.value("stop_grace"))
    click.echo(f"stopped; go on with `devops-bench resume {run_dir.name}`", err=True)
    return 0

"""`devops-bench attach STAMP`: follow a run that was launched earlier."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from devops_bench import paths, settings

if TYPE_CHECKING:
    from devops_bench.supervisor.follow import Ending


@click.command()
@click.argument("stamp", default="latest")
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON line.")
def command(stamp: str, as_json: bool) -> int:
    """Follow run STAMP (a stamp, its beginning, a path, or `latest`) to its end.

    If its supervisor is dead, running combos are waited for and collected, nothing new starts, and the exit code is 3.
    """
    from devops_bench.supervisor import runs

    return attach(runs.find(stamp, paths.runs_root()), as_json)


def attach(run_dir: Path, as_json: bool = False) -> int:
    """Follow `run_dir`; the exit code of the run, 124 or 130."""
    from devops_bench.supervisor import view
    from devops_bench.supervisor.follow import follow

    stamp = run_dir.name
    try:
        followed = follow(run_dir, view.choose(as_json), os.environ, settings.value("poll_timeout"))
    except KeyboardInterrupt:
        click.echo(
            f"\ndetached; the run goes on. Follow it with `devops-bench attach {stamp}`, end it with "
            f"`devops-bench stop {stamp}`",
            err=True,
        )
        return 130
    return conclude(run_dir, followed.ending, int(followed.exit_code), as_json, followed.state.halted)


def conclude(run_dir: Path, ending: Ending, exit_code: int, as_json: bool, halted: str = "") -> int:
    """Print the summary of a finished run, or how to go on with an unfinished one."""
    from devops_bench.supervisor.follow import Ending

    stamp = run_dir.name
    if ending == Ending.DONE:
        if not as_json:
            show_summary(run_dir)
        return exit_code
    said = {
        Ending.TIMEOUT: f"gave up waiting; the run goes on. Follow it with `devops-bench attach {stamp}`",
        Ending.STOPPED: f"stopped; go on with `devops-bench resume {stamp}`",
        Ending.HALTED: f"nothing more was started: {halted}. Go on with `devops-bench resume {stamp}`",
        Ending.DEAD: f"the supervisor is dead, nothing new was started; go on with `devops-bench resume {stamp}`",
    }
    click.echo(said[ending], err=True)
    return exit_code


def show_summary(run_dir: Path) -> None:
    """The table at the end of a run and where the report is."""
    from devops_bench.report import show

    show(run_dir)

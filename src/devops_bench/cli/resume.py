"""`devops-bench resume STAMP`: go on with a run that was stopped or whose supervisor died."""

from __future__ import annotations

import os

import click

from devops_bench import paths


@click.command()
@click.argument("stamp", default="latest")
@click.option("--detach", is_flag=True, help="Do not follow.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON line.")
def command(stamp: str, detach: bool, as_json: bool) -> int:
    """Start a new supervisor for run STAMP. Finished combos stay as they are; running ones are adopted."""
    from devops_bench.cli.attach import attach
    from devops_bench.cli.keys import supervisor_environment
    from devops_bench.matrix.plan import Plan
    from devops_bench.supervisor import launch, runs, snapshot, summary
    from devops_bench.supervisor.follow import exit_code

    run_dir = runs.find(stamp, paths.runs_root())
    if (run_dir / summary.DONE).exists():
        click.echo(f"run {run_dir.name} is done; nothing to resume (`devops-bench report` shows it)", err=True)
        return int(exit_code(snapshot.load(run_dir)[0]))
    plan = Plan.read(run_dir)
    launch.start(run_dir, supervisor_environment(plan.options, os.environ))
    if not as_json:
        click.echo(f"STAMP={run_dir.name}")
    return 0 if detach else attach(run_dir, as_json)

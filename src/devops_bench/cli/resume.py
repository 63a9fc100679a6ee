"""`devops-bench resume STAMP`: go on with a run that was stopped or whose supervisor died."""

from __future__ import annotations

import os

import click

from devops_bench import paths
from devops_bench.cli.launching import MAX_COST, MAX_DURATION, MAX_TOKENS, announce
from devops_bench.errors import RefusedError


@click.command()
@click.argument("stamp", default="latest")
@click.option("--detach", is_flag=True, help="Do not follow.")
@click.option("--keepalive", is_flag=True, help="For cron: only if the supervisor died; quiet, detached.")
@MAX_COST
@MAX_TOKENS
@MAX_DURATION
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON line.")
def command(
    stamp: str,
    detach: bool,
    keepalive: bool,
    max_cost: float | None,
    max_tokens: int | None,
    max_duration: float | None,
    as_json: bool,
) -> int:
    """Start a new supervisor for run STAMP. Finished combos stay as they are; running ones are adopted.

    A budget that is given here counts from now on instead of the run's own; what was spent before counts too.
    """
    from devops_bench.cli.attach import attach
    from devops_bench.cli.keys import supervisor_environment
    from devops_bench.matrix.plan import Plan
    from devops_bench.preflight import prices
    from devops_bench.supervisor import keepalive as watchdog
    from devops_bench.supervisor import launch, locks, runs, snapshot, summary
    from devops_bench.supervisor.follow import exit_code
    from devops_bench.supervisor.orders import Orders

    run_dir = runs.find(stamp, paths.runs_root())
    if keepalive and (watchdog.over(run_dir) or locks.held(run_dir)):
        return 0
    if (run_dir / summary.DONE).exists():
        click.echo(f"run {run_dir.name} is done; nothing to resume (`devops-bench report` shows it)", err=True)
        return int(exit_code(snapshot.load(run_dir)[0]))
    plan, orders = Plan.read(run_dir), Orders.read(run_dir)
    if locks.held(run_dir):
        fix = f"follow it with `devops-bench attach {run_dir.name}`"
        raise RefusedError(f"run {run_dir.name} is already active", fix=fix)
    if any(limit is not None for limit in (max_cost, max_tokens, max_duration)):
        orders = orders.with_budget(max_cost, max_tokens, max_duration)
        orders.write(run_dir)
    env = supervisor_environment(plan.options, os.environ)
    if max_cost is not None and (doubt := prices.warning(plan, env, orders.budget.cost, orders.budget.tokens)):
        click.echo(f"warning: {doubt}", err=True)
    launch.start(run_dir, env)
    if orders.hands_off:
        watchdog.start(run_dir, env)
    if keepalive:
        return 0
    announce(run_dir, as_json, detach)
    return 0 if detach else attach(run_dir, as_json)

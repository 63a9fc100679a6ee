"""`devops-bench run`: launch a matrix and follow it. Nothing exists on disk until everything has been checked."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devops_bench import paths
from devops_bench.cli.launching import MAX_COST, MAX_DURATION, MAX_TOKENS, launch
from devops_bench.errors import ConfigError

if TYPE_CHECKING:
    from devops_bench.supervisor.orders import Orders


@click.command()
@click.option("--matrix", "file", type=click.Path(path_type=Path), help="A matrix file (matrix.yaml).")
@click.option(
    "--tasks",
    help="Task folders, task.yaml paths, patterns or catalogue keys, split like a shell; or ALL.  [MATRIX_TASKS]",
)
@click.option("--models", help="Model ids.  [MATRIX_MODELS]")
@click.option("--configs", help="Agent configurations, as `gcli+mcp+skills`.  [MATRIX_AGENT_CONFIGS]")
@click.option("--repeats", help="Runs of each combo.  [MATRIX_REPEATS]")
@click.option("--max-parallel", help="Combos at once.  [MAX_PARALLEL]")
@click.option("--agent-timeout-sec", help="Seconds of one agent run.  [AGENT_TIMEOUT_SEC]")
@click.option("--agent-max-turns", help="Turns of one agent run.  [AGENT_MAX_TURNS]")
@click.option("--agent-provider", help="Provider of the models.  [AGENT_PROVIDER]")
@click.option("--scenarios-dir", help="Scenario files for `scripted:` models.  [BENCH_SCENARIOS_DIR]")
@click.option("--sandbox", help="bwrap (default) or off.  [BENCH_AGENT_SANDBOX]")
@click.option("--provider", help="Cluster provider instead of the tasks' own.  [INFRA_PROVIDER]")
@click.option("--results-dir", help="Copy results there at the end.  [RESULTS_DIR]")
@click.option("--dry-run", is_flag=True, default=None, help="Show the expanded matrix and create nothing.  [DRY_RUN]")
@click.option("--detach", is_flag=True, help="Return as soon as the run is launched.")
@click.option("--no-wait", is_flag=True, help="Refuse (exit 4) when a combo is active in another run on this host.")
@click.option(
    "--smoke", type=click.Choice(["scripted", "real", "off"]), help="What the smoke gate asks.  [BENCH_SMOKE]"
)
@click.option("--no-smoke", is_flag=True, help="The same as --smoke off; the report says so.")
@MAX_COST
@MAX_TOKENS
@MAX_DURATION
@click.option("--hands-off", is_flag=True, help="Restart a dead supervisor; send heartbeats (BENCH_NOTIFY_*).")
@click.option(
    "--unlimited",
    is_flag=True,
    help="Let --fixer repair faults of the program on the way, within the run's budget (else 25 USD, 24 h).",
)
@click.option("--fixer", metavar="CMD", help="What --unlimited hands a fault to, split like a shell.  [BENCH_FIXER]")
@click.option("--yes", is_flag=True, help="Do not ask before clusters that cost money are made.")
@click.option("--json", "as_json", is_flag=True, help="Events (or the dry run) as JSON.")
def command(
    file: Path | None,
    detach: bool,
    no_wait: bool,
    yes: bool,
    as_json: bool,
    smoke: str | None,
    no_smoke: bool,
    max_cost: float | None,
    max_tokens: int | None,
    max_duration: float | None,
    hands_off: bool,
    unlimited: bool,
    fixer: str | None,
    **flags: Any,
) -> int:
    """Run task x model x configuration. Flags win over environment, environment over --matrix, that over defaults.

    The variable that each flag stands for is in brackets.
    """
    from devops_bench.cli.keys import with_secrets
    from devops_bench.matrix.axes import read_axes

    env = with_secrets(os.environ)
    spec = read_axes(os.environ, flags, file)
    if spec.resume_stamp is not None:
        from devops_bench.cli.attach import attach
        from devops_bench.supervisor import runs

        return attach(runs.find(spec.resume_stamp, paths.runs_root()), as_json)
    from devops_bench.matrix.expand import expand

    orders = read_orders(smoke, no_smoke, unlimited, fixer)
    plan = expand(spec)
    if spec.dry_run:
        return dry_run(plan, env, as_json)
    from dataclasses import replace

    orders = replace(orders.with_budget(max_cost, max_tokens, max_duration), hands_off=hands_off or unlimited)
    if unlimited and not orders.budget.limited:
        orders = bounded(orders)
    return launch(plan, env, orders, detach=detach, no_wait=no_wait, yes=yes, as_json=as_json)


def read_orders(smoke: str | None, no_smoke: bool, unlimited: bool, fixer: str | None) -> Orders:
    """How the run is to be supervised, without its budget. Raises ConfigError."""
    from devops_bench.supervisor.orders import Orders

    word = "off" if no_smoke else smoke or os.environ.get("BENCH_SMOKE", "").strip().lower() or "scripted"
    if no_smoke and smoke not in {None, "off"}:
        raise ConfigError(f"--no-smoke and --smoke {smoke} contradict each other", fix="leave one out")
    if word not in {"scripted", "real", "off"}:
        raise ConfigError(f"BENCH_SMOKE={word!r} is not known", fix="use scripted, real or off")
    try:
        argv = tuple(shlex.split(fixer or os.environ.get("BENCH_FIXER", "")))
    except ValueError as error:
        raise ConfigError(f"--fixer cannot be split: {error}", fix="quote it like a shell command") from None
    if unlimited and not argv:
        raise ConfigError("--unlimited needs a fixer", fix='give --fixer "CMD", a headless coding agent or a script')
    if unlimited:
        from devops_bench.supervisor.healing.worktree import checkout

        checkout()
    return Orders(smoke=word, unlimited=unlimited, fixer=argv if unlimited else ())


def bounded(orders: Orders) -> Orders:
    """The budget of an unlimited run that was given none, and a line that says so."""
    from dataclasses import replace

    from devops_bench.supervisor.healing.caps import DEFAULT_BUDGET as budget

    click.echo(
        f"note: --unlimited without a budget ends at {budget.cost:g} USD or {(budget.duration or 0) / 3600:g} h; "
        "--max-cost, --max-tokens or --max-duration set another",
        err=True,
    )
    return replace(orders, budget=budget)


def dry_run(plan: Any, env: dict[str, str], as_json: bool) -> int:
    """Print what would run. Creates nothing."""
    from devops_bench.matrix import dryrun
    from devops_bench.preflight import check

    findings = check(plan, env, dry_run=True)
    click.echo(dryrun.to_json(plan, env, findings) if as_json else dryrun.render(plan, env, findings), nl=False)
    return 0

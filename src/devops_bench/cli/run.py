"""`devops-bench run`: launch a matrix and follow it. Nothing exists on disk until everything has been checked."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from devops_bench import paths
from devops_bench.errors import ConfigError, RefusedError


@click.command()
@click.option("--matrix", "file", type=click.Path(path_type=Path), help="A matrix file (matrix.yaml).")
@click.option("--tasks", help="Task folders or task.yaml paths, split like a shell; or ALL.  [MATRIX_TASKS]")
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
@click.option("--yes", is_flag=True, help="Do not ask before clusters that cost money are made.")
@click.option("--json", "as_json", is_flag=True, help="Events (or the dry run) as JSON.")
def command(file: Path | None, detach: bool, no_wait: bool, yes: bool, as_json: bool, **flags: Any) -> int:
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

    plan = expand(spec)
    if spec.dry_run:
        return dry_run(plan, env, as_json)
    return launch(plan, env, detach=detach, no_wait=no_wait, yes=yes, as_json=as_json)


def dry_run(plan: Any, env: dict[str, str], as_json: bool) -> int:
    """Print what would run. Creates nothing."""
    from devops_bench.matrix import dryrun
    from devops_bench.preflight import check

    findings = check(plan, env, dry_run=True)
    click.echo(dryrun.to_json(plan, env, findings) if as_json else dryrun.render(plan, env, findings), nl=False)
    return 0


def launch(plan: Any, env: dict[str, str], *, detach: bool, no_wait: bool, yes: bool, as_json: bool) -> int:
    """Check, write the plan, start the supervisor, follow. Exit 2 leaves nothing behind."""
    from devops_bench.cli.attach import attach
    from devops_bench.cli.keys import supervisor_environment
    from devops_bench.matrix import ids
    from devops_bench.supervisor import launch as launcher

    preflight(plan, env)
    confirm(plan, yes)
    if no_wait:
        refuse_active(plan, env)
    if not as_json:
        for note in plan.notes:
            click.echo(f"note: {note}", err=True)
    run_dir = ids.reserve_run_dir(paths.runs_root())
    try:
        replace(plan, stamp=run_dir.name).write(run_dir)
        launcher.start(run_dir, supervisor_environment(plan.options, env))
    except BaseException:
        if not (run_dir / "journal.jsonl").exists() or (run_dir / "journal.jsonl").stat().st_size == 0:
            shutil.rmtree(run_dir, ignore_errors=True)
        raise
    if not as_json:
        click.echo(f"STAMP={run_dir.name}")
    if detach:
        if as_json:
            click.echo(f'{{"stamp": "{run_dir.name}"}}')
        return 0
    return attach(run_dir, as_json)


def preflight(plan: Any, env: dict[str, str]) -> None:
    """Print warnings; raise ConfigError for the first error, saying how many more there are."""
    from devops_bench.preflight import check

    findings = check(plan, env, dry_run=False)
    errors = [finding for finding in findings if finding.is_error]
    for finding in findings:
        if finding not in errors[:1]:
            click.echo(f"{'error' if finding.is_error else 'warning'}: {finding.line()}", err=True)
    if errors:
        first = errors[0]
        raise ConfigError(first.what, where=first.where, fix=first.fix)


def confirm(plan: Any, yes: bool) -> None:
    """Ask before clusters that cost time or money are made."""
    paid = [combo for combo in plan.combos if combo.provider in {"kind", "gke"}]
    if not paid or yes:
        return
    import sys

    if not sys.stdin.isatty():
        raise ConfigError(f"{len(paid)} combos make clusters on kind or gke", fix="confirm with --yes")
    click.confirm(f"{len(paid)} combos make clusters on kind or gke. Go on?", abort=True)


def refuse_active(plan: Any, env: dict[str, str]) -> None:
    """With --no-wait: RefusedError when another run on this host holds one of the combos."""
    from devops_bench.combo.token import take_token

    root = paths.state_root(env)
    for combo in plan.combos:
        fd = take_token(combo.token, root)
        if fd is None:
            raise RefusedError(f"combo {combo.rid} is active in another run", fix="wait for it, or leave --no-wait out")
        os.close(fd)

"""`devops-bench demo`: the starter matrix with scripted models. No keys, no tokens, no network."""

from __future__ import annotations

import os

import click


@click.command()
@click.option("--detach", is_flag=True, help="Do not follow.")
@click.option("--dry-run", is_flag=True, help="Show the matrix and create nothing.")
def command(detach: bool, dry_run: bool) -> int:
    """Run 3 tasks x 2 scripted models x 2 configurations on the embedded control plane, and show the report.

    One model solves its tasks, the other makes a plausible mistake in each. On a fresh machine the control plane is
    built first (minutes); the tasks that need no cluster run meanwhile.
    """
    from devops_bench import demo
    from devops_bench.cli.launching import launch
    from devops_bench.cli.run import dry_run as show
    from devops_bench.matrix.axes import read_axes
    from devops_bench.matrix.expand import expand
    from devops_bench.supervisor.orders import Orders
    from devops_bench.tasks.catalogue import catalogue_root

    root = catalogue_root()
    # The demo is the same everywhere: axes that happen to be set in this shell are not its own.
    env = {name: text for name, text in os.environ.items() if not name.startswith(("MATRIX_", "AGENT_", "JUDGE_"))}
    tasks = tuple(str(root / name) for name in demo.TASKS)
    plan = expand(read_axes(env, {"tasks": tasks}, demo.MATRIX))
    if dry_run:
        return show(plan, env, False)
    code = launch(plan, env, Orders(), detach=detach, no_wait=False, yes=True, as_json=False)
    click.echo(NEXT)
    # The hasty model fails its tasks on purpose: that a task failed is the demo's success.
    return 0 if code == 1 else code


NEXT = """
The two models were scripted. With a real one:
  GEMINI_API_KEY=... devops-bench run --tasks common/opa-remediation --models gemini-2.5-pro --configs api
  ANTHROPIC_API_KEY=... devops-bench run --tasks ALL --models claude-sonnet-4-5 --configs api \\
    --repeats 3"""

"""`python -m devops_bench SOURCE` (= `devops-bench combo`): run one task, or a folder of them, in the foreground."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click


@click.command()
@click.argument("source", type=click.Path(path_type=Path))
@click.option("--project", help="Cloud project.  [PROJECT_ID]")
@click.option("--cluster", help="Base name of the clusters.  [CLUSTER_NAME]")
@click.option("--limit", help="At most so many tasks of a folder.  [EVAL_LIMIT]")
@click.option("--results-root", type=click.Path(path_type=Path), help="Where results go.  [RESULTS_ROOT]")
@click.option("--agent-type", help="openclaw, gemini, claude, codex, api, noop, scripted ...  [BENCH_AGENT_TYPE]")
@click.option("--judge-provider", help="Provider of the judge (no model judges yet).  [JUDGE_PROVIDER]")
@click.option("--judge-model", help="Model of the judge: recorded, not asked yet.  [JUDGE_MODEL]")
@click.option("--infra/--no-infra", default=None, help="Make a cluster where the task needs one.  [BENCH_NO_INFRA]")
@click.option("--teardown/--no-teardown", default=None, help="Take the cluster away.  [BENCH_NO_TEARDOWN]")
@click.option("--parallel", is_flag=True, default=None, help="Run the tasks of a folder at once.  [BENCH_PARALLEL]")
@click.option("--run-id", help="Name of the run.  [RUN_ID]")
def command(source: Path, **flags: Any) -> int:
    """Run the task(s) at SOURCE with one agent and print where the results are.

    Exit 0: no task failed; 1: at least one failed (or could not be judged); 2: configuration error.
    """
    from devops_bench.cli.keys import with_secrets
    from devops_bench.cli.launching import preflight
    from devops_bench.combo import standalone

    env = with_secrets(os.environ)
    job = standalone.read(source, flags, env)
    preflight(job.plan, env)
    return standalone.run(job)

"""Can the clusters of the plan be had here: is `existing` named explicitly, is the control plane already built?

And is there a kubectl, where checks of tasks without a cluster run one? Without it they would blame the agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from devops_bench.errors import BenchError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan
from devops_bench.tasks.checks import CommandCheck

_KUBECTL = re.compile(r"\bkubectl\b")


def check(plan: Plan, env: Mapping[str, str], *, dry_run: bool = False) -> list[Finding]:
    """Errors for providers that are not configured; a warning when the first kwok combo has to wait for a build."""
    providers = {combo.provider for combo in plan.combos}
    found = []
    if "existing" in providers:
        found += _existing(env)
    if "kwok" in providers:
        found += _control_plane(env)
        if plan.options.no_teardown:
            what = "an embedded control plane ends with its combo: it cannot be kept (BENCH_NO_TEARDOWN, --no-teardown)"
            found.append(Finding(Level.ERROR, what, "leave it out, or use a cluster of your own (--provider existing)"))
    if "none" in providers:
        found += _kubectl(plan, env, dry_run)
    return found


def _existing(env: Mapping[str, str]) -> list[Finding]:
    from devops_bench import clusters

    try:
        clusters.get("existing", env)
    except BenchError as error:
        return [Finding.of(error)]
    return []


def _control_plane(env: Mapping[str, str]) -> list[Finding]:
    """`clusters.get("kwok")` would build it, so only the search is asked."""
    from devops_bench.clusters import binary

    try:
        there = binary.find(env)
    except BenchError as error:
        return [Finding.of(error)]
    if there is not None:
        return []
    what = "the control plane is not built yet: combos on kwok wait for it, minutes on a slow host"
    return [Finding(Level.WARNING, what, "build it ahead with `devops-bench clusters install`")]


def _kubectl(plan: Plan, env: Mapping[str, str], dry_run: bool) -> list[Finding]:
    from devops_bench.clusters import binary

    try:
        if binary.own_kubectl(env):
            return []
    except BenchError as error:
        return [Finding.of(error)]
    tasks = {combo.task_file: combo.task_key for combo in plan.combos if combo.provider == "none"}
    wanting = [key for file, key in tasks.items() if _runs_kubectl(Path(file), key)]
    if not wanting:
        return []
    what = f"checks of {', '.join(wanting)} run kubectl, and there is none on PATH"
    return [Finding(Level.WARNING if dry_run else Level.ERROR, what, "`devops-bench clusters install` builds one")]


def _runs_kubectl(file: Path, key: str) -> bool:
    from devops_bench.tasks import load_task
    from devops_bench.verification.snapshot import checks_of

    try:
        checks = checks_of(load_task(file, key=key).verification_spec)
    except BenchError:
        return False  # the launch reads all tasks, and tells it then
    return any(isinstance(check, CommandCheck) and _KUBECTL.search(" ".join(check.command)) for check in checks)

"""Can the clusters of the plan be had here: is `existing` named explicitly, is the control plane already built?

And is there a kubectl for tasks without a cluster that render with one? Their checks would blame the agent else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from devops_bench.errors import BenchError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan

_KUBECTL = re.compile(rb"\bkubectl\b")


def check(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
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
        found += _kubectl(plan, env)
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


def _kubectl(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    from devops_bench.clusters import binary

    try:
        if binary.own_kubectl(env):
            return []
    except BenchError as error:
        return [Finding.of(error)]
    tasks = {combo.task_file: combo.task_key for combo in plan.combos if combo.provider == "none"}
    wanting = [key for file, key in tasks.items() if _names_kubectl(Path(file))]
    if not wanting:
        return []
    what = f"{', '.join(wanting)} needs kubectl, and there is none on PATH"
    return [Finding(Level.ERROR, what, "`devops-bench clusters install` builds one")]


def _names_kubectl(file: Path) -> bool:
    try:
        return _KUBECTL.search(file.read_bytes()) is not None
    except OSError:
        return False  # said elsewhere

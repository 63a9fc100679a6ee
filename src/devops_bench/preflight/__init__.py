"""What must hold before a launch: agents, keys, grants, clusters, host. Told as findings, one line each.

`run` stops at the first error; a dry run shows them all and treats what can still be installed as a warning. Nothing
here changes anything on the host.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan

__all__ = ["Finding", "Level", "check"]


def check(plan: Plan, env: Mapping[str, str], *, dry_run: bool = False) -> list[Finding]:
    """All findings for `plan` under `env` (the launch's environment with the secrets file's keys), errors first."""
    from devops_bench.preflight import agents, clusters, grants, host, models, shared

    groups: Sequence[Sequence[Finding]] = (
        agents.check(plan, env, dry_run=dry_run),
        models.check(plan, env, dry_run=dry_run),
        grants.check(plan, env, dry_run=dry_run),
        clusters.check(plan, env, dry_run=dry_run),
        host.check(plan, env),
        shared.check(plan),
    )
    found = dict.fromkeys(finding for group in groups for finding in group)
    return sorted(found, key=lambda finding: not finding.is_error)

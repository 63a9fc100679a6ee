"""What a host cannot run, told before launch: tasks whose checks or provider it lacks, and pairs that make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devops_bench.matrix.plan import AgentConfig, PlanOptions
from devops_bench.tasks.spec import Check, Group, TaskSpec

NO_CLUSTER = "none"
# Providers of this version, and what each cluster can answer: the API, real containers, the cloud.
ANSWERS: dict[str, frozenset[str]] = {
    "none": frozenset(),
    "kwok": frozenset({"api"}),
    "existing": frozenset({"api", "containers"}),
}
_NOT_YET = {"kind": "clusters of real containers (kind)", "gke": "cloud clusters (gke)"}
_NEEDS: dict[str, str] = {
    "resource_property": "api",
    "pod_healthy": "api",
    "scaling_complete": "api",
    "identity_preserved": "api",
    "audit": "api",
    "dry_run": "api",
    "http_probe": "containers",
    "pod_exec": "containers",
    "cloud_resource_property": "cloud",
}
_NEED_TEXT = {"api": "a cluster", "containers": "real containers", "cloud": "a cloud project"}

Unserved = Callable[[TaskSpec, str, PlanOptions], str | None]


def effective_provider(task: TaskSpec, override: str | None) -> str:
    """The cluster provider after an override; a task that needs no cluster never gets one."""
    return task.provider if override is None or task.provider == NO_CLUSTER else override


def why_unserved(task: TaskSpec, provider: str, options: PlanOptions) -> str | None:
    """One clause on why this version on this host cannot run `task`, or None. Pure."""
    if provider in _NOT_YET:
        return f"{_NOT_YET[provider]} are not available yet"
    if provider not in ANSWERS:
        return f"provider {provider!r} is not known"
    for kind in sorted({check.type for check in _checks(task)}):
        need = _NEEDS.get(kind)
        if need is not None and need not in ANSWERS[provider]:
            return f"check {kind} needs {_NEED_TEXT[need]}, which provider {provider} does not have"
    if task.chaos_spec:
        return "chaos_spec is not available yet"
    if not task.agent_quota_writes:
        return "agent_quota_writes: false cannot be enforced yet"
    if task.requires_unsandboxed and options.sandbox:
        return "requires_unsandboxed: true needs BENCH_AGENT_SANDBOX=0"
    return None


def why_senseless(config: AgentConfig, provider: str, options: PlanOptions) -> str | None:
    """One clause on why this configuration says nothing on a cluster of `provider`, or None. Pure."""
    if config.mcp and provider == NO_CLUSTER and not options.mcp_server:
        return "+mcp without a cluster and without MCP_SERVER_BIN grants nothing"
    return None


def _checks(task: TaskSpec) -> Iterator[Check]:
    todo: list[Check] = [entry.check for entry in task.verification_spec]
    while todo:
        check = todo.pop()
        if isinstance(check, Group):
            todo.extend(check.checks)
        yield check

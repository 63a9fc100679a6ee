"""What a host cannot run, told before launch: tasks whose checks or provider it lacks, and pairs that make no sense."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from devops_bench.matrix.plan import AgentConfig, PlanOptions

if TYPE_CHECKING:
    from devops_bench.tasks.spec import TaskSpec

NO_CLUSTER = "none"
# The providers that this version makes or uses.
PROVIDERS: tuple[str, ...] = ("none", "kwok", "existing")
# Named by tasks and flags, and known; what they stand for, in words.
NOT_YET = {"kind": "clusters of real containers (kind)", "gke": "cloud clusters (gke)"}

Unserved: TypeAlias = "Callable[[TaskSpec, str, PlanOptions], str | None]"


def effective_provider(task: TaskSpec, override: str | None) -> str:
    """The cluster provider after an override; a task that needs no cluster never gets one."""
    return task.provider if override is None or task.provider == NO_CLUSTER else override


def why_unserved(task: TaskSpec, provider: str, options: PlanOptions) -> str | None:
    """One clause on why this version on this host cannot run `task`, or None. Pure."""
    if provider in NOT_YET:
        return f"{NOT_YET[provider]} are not available yet"
    if provider not in PROVIDERS:
        return f"provider {provider!r} is not known"
    if task.chaos_spec:
        return "chaos_spec is not available yet"
    if not task.agent_quota_writes:
        return "agent_quota_writes: false cannot be enforced yet"
    if task.requires_unsandboxed and options.sandbox:
        return "requires_unsandboxed: true needs BENCH_AGENT_SANDBOX=0"
    if provider == "existing" and task.cluster.need_own_plane:
        return "it needs nodes, stages or faults of its own, which provider existing cannot give"
    return next(_unserved_checks(task, provider), None)


def why_senseless(config: AgentConfig, provider: str, options: PlanOptions) -> str | None:
    """One clause on why this configuration says nothing on a cluster of `provider`, or None. Pure."""
    if config.mcp and provider == NO_CLUSTER and not options.mcp_server:
        return "+mcp without a cluster and without MCP_SERVER_BIN grants nothing"
    return None


def _unserved_checks(task: TaskSpec, provider: str) -> Iterator[str]:
    """Without the entries' names, so that tasks with the same lack are told in one line."""
    from devops_bench.verification.support import unsupported

    for entry in task.verification_spec:
        for line in unsupported([entry], provider):
            yield line.removeprefix(f"{entry.name}: ")

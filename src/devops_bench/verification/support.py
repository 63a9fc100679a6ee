"""Which checks a cluster provider can serve, so that a combo is refused before it costs anything."""

from __future__ import annotations

from collections.abc import Sequence

from devops_bench.tasks.spec import Entry
from devops_bench.verification.evaluate import CHECKS
from devops_bench.verification.snapshot import checks_of

_ANYWHERE = frozenset({"file", "command", "git_repo_sync", "answer"})
_API = frozenset({"resource_property", "pod_healthy", "scaling_complete", "identity_preserved", "dry_run", "access"})
_SERVES: dict[str, frozenset[str]] = {
    "none": _ANYWHERE,
    "existing": _ANYWHERE | _API,
    "kwok": _ANYWHERE | _API | {"audit", "reachable", "script"},
    "kind": _ANYWHERE | _API | {"reachable", "http_probe", "pod_exec"},
    "gke": _ANYWHERE | _API | {"reachable", "http_probe", "pod_exec", "cloud_resource_property"},
}
_WHY = {
    "http_probe": "it needs a pod network",
    "pod_exec": "it needs real containers",
    "cloud_resource_property": "it needs a cloud project",
    "reachable": "it reads policies of all namespaces",
    "script": "it needs a cluster of its own",
    "audit": "it needs our API server's audit log",
}


def unsupported(entries: Sequence[Entry], provider: str) -> list[str]:
    """One line for each check of the entries that `provider` cannot serve; empty when all is well."""
    served = _SERVES.get(provider, frozenset())
    lines = []
    for entry in entries:
        for kind in sorted({check.type for check in checks_of([entry])}):
            if kind not in served:
                why = _WHY.get(kind, "it needs a cluster")
                lines.append(f"{entry.name}: check {kind} cannot be served by provider {provider}: {why}")
            elif kind not in CHECKS:
                lines.append(f"{entry.name}: check {kind} is not built for provider {provider} yet")
    return lines

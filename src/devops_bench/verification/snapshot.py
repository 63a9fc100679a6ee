"""The cluster as one evaluation pass sees it: one list per kind, shared by all entries of the pass.

The first check that needs a kind lists it, the others wait for that answer until their own deadline. So the load does
not grow with the number of entries, all entries of a pass judge the same state, and their order means nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from devops_bench.kube import Deadline, KubeClient, KubeUnavailable, Resource
from devops_bench.tasks.checks import (
    Check,
    DryRun,
    Group,
    IdentityPreserved,
    PodHealthy,
    Reachable,
    ResourceProperty,
    ScalingComplete,
)
from devops_bench.tasks.spec import Entry
from devops_bench.verification.sharing import Shared

ALL_NAMESPACES = "*"
REACHABILITY = (
    "pods",
    "namespaces",
    "networkpolicies.networking.k8s.io",
    "services",
    "endpointslices.discovery.k8s.io",
)


class Snapshot:
    """One pass. Thread-safe; throw it away after the pass."""

    def __init__(self, kube: KubeClient, call_timeout: float, wide: frozenset[str] = frozenset()) -> None:
        self._kube = kube
        self._call_timeout = call_timeout
        self._wide = wide
        self._lists: Shared[tuple[str, str | None], list[dict[str, Any]]] = Shared(keep_errors=True)

    def resource(self, kind: str, deadline: Deadline) -> Resource:
        """The served kind. Raises KubeUnknownKind, KubeUnavailable."""
        return self._kube.resource(kind, deadline=deadline.within(self._call_timeout))

    def objects(self, kind: str, namespace: str, deadline: Deadline) -> list[dict[str, Any]]:
        """All objects of `kind` in `namespace` (`*`: everywhere; ignored for cluster-scoped kinds).

        Raises the classes of `kube.errors`; KubeUnavailable when the answer does not come before the deadline.
        """
        resource = self.resource(kind, deadline)
        wanted = namespace if resource.namespaced and namespace != ALL_NAMESPACES else None
        scope = None if wanted is None or kind.lower() in self._wide else wanted

        def read() -> list[dict[str, Any]]:
            return self._kube.list(kind, scope, deadline=Deadline.after(self._call_timeout))

        try:
            items = self._lists.get((resource.path(), scope), read, deadline.remaining())
        except TimeoutError:
            raise KubeUnavailable(f"list of {kind}: no answer in time") from None
        if scope is None and wanted is not None:
            return [item for item in items if item["metadata"].get("namespace") == wanted]
        return items


def checks_of(entries: Iterable[Entry]) -> list[Check]:
    """All checks of all entries, groups taken apart."""
    found: list[Check] = []

    def walk(check: Check) -> None:
        if isinstance(check, Group):
            for child in check.checks:
                walk(child)
        else:
            found.append(check)

    for entry in entries:
        walk(entry.check)
    return found


def kinds_read(entries: Iterable[Entry], default_namespace: str) -> dict[str, set[str]]:
    """Kind (as written, lower case) -> namespaces in which the entries read it."""
    found: dict[str, set[str]] = {}
    for check in checks_of(entries):
        if isinstance(check, ResourceProperty | IdentityPreserved):
            kind = check.kind
        elif isinstance(check, PodHealthy):
            kind = "pods"
        elif isinstance(check, ScalingComplete):
            kind = "deployments.apps"
        elif isinstance(check, DryRun) and check.template_of is not None:
            kind = check.template_of.kind
        elif isinstance(check, Reachable):
            for kind in REACHABILITY:
                found.setdefault(kind, set()).add(ALL_NAMESPACES)
            continue
        else:
            continue
        found.setdefault(kind.lower(), set()).add(check.namespace or default_namespace)
    return found


def wide_kinds(entries: Sequence[Entry], default_namespace: str) -> frozenset[str]:
    """Kinds read in more than one namespace: one cluster-wide list serves them all."""
    return frozenset(
        kind
        for kind, namespaces in kinds_read(entries, default_namespace).items()
        if len(namespaces) > 1 or ALL_NAMESPACES in namespaces
    )

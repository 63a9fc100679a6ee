"""Which kinds the API server serves, found once and looked up by any of their names.

A kind may be written `Deployment`, `deployment`, `deployments`, `deploy`, `deployments.apps`, `Deployment.apps` or
`deployments.v1.apps`. Where several groups serve one name, built-in groups win over added ones: an agent that installs
a custom kind called Deployment must not redirect our checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"


@dataclass(frozen=True, slots=True)
class Resource:
    """One served kind in its preferred version. `plural` is the word in URLs."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    singular: str = ""
    short: tuple[str, ...] = ()
    verbs: frozenset[str] = field(default_factory=frozenset)

    @property
    def api_version(self) -> str:
        """As in manifests: `apps/v1`, `v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def path(self, namespace: str | None = None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of the collection, or of one object. Parts must already be safe for a URL."""
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [base]
        if self.namespaced and namespace:
            parts.append(f"namespaces/{namespace}")
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part]
        return "/".join(parts)


@dataclass(frozen=True, slots=True)
class Kinds:
    """All served kinds. `stale` names groups that could not be asked (a dead aggregated API)."""

    resources: tuple[Resource, ...]
    stale: tuple[str, ...] = ()
    index: Mapping[str, Resource] = field(default_factory=dict)

    @classmethod
    def of(cls, resources: Iterable[Resource], stale: Iterable[str] = ()) -> Kinds:
        """Index by every name, best candidate first."""
        ranked = tuple(sorted(resources, key=_rank))
        index: dict[str, Resource] = {}
        # Exact kinds and plurals of any group come before another kind's short name.
        for names in (_long_names, _short_names):
            for resource in ranked:
                for name in names(resource):
                    index.setdefault(name, resource)
        return cls(ranked, tuple(stale), index)

    def find(self, name: str) -> Resource | None:
        """The resource for a written kind, or None."""
        return self.index.get(name.strip().lower())

    def of_manifest(self, api_version: str, kind: str) -> Resource | None:
        """The resource of exactly this apiVersion's group and kind, in that version."""
        group, _, version = api_version.rpartition("/")
        for resource in self.resources:
            if resource.group == group and resource.kind == kind:
                if resource.version == version:
                    return resource
                return Resource(
                    group,
                    version,
                    kind,
                    resource.plural,
                    resource.namespaced,
                    resource.singular,
                    resource.short,
                    resource.verbs,
                )
        return None


def _rank(resource: Resource) -> tuple[int, str, str]:
    builtin = "." not in resource.group or resource.group.endswith(".k8s.io")
    # `events.k8s.io` repeats the core Event, `metrics.k8s.io` repeats Pod and Node under other meanings.
    order = 0 if resource.group == "" else 1 if "." not in resource.group else 2 if builtin else 3
    return (order, resource.group, resource.kind)


def _long_names(resource: Resource) -> Iterable[str]:
    for name in {resource.kind, resource.plural, resource.singular}:
        if name:
            low = name.lower()
            yield low
            yield f"{low}.{resource.group}" if resource.group else f"{low}.core"
            yield f"{low}.{resource.version}.{resource.group}" if resource.group else f"{low}.{resource.version}"


def _short_names(resource: Resource) -> Iterable[str]:
    for name in resource.short:
        yield name.lower()


def from_aggregated(reply: Mapping[str, Any]) -> tuple[list[Resource], list[str]]:
    """Resources and stale groups of an APIGroupDiscoveryList (apidiscovery.k8s.io/v2); preferred version first."""
    found: dict[tuple[str, str], Resource] = {}
    stale: list[str] = []
    for group in reply.get("items") or []:
        name = str((group.get("metadata") or {}).get("name") or "")
        for version in group.get("versions") or []:
            if version.get("freshness") == "Stale":
                stale.append(f"{name}/{version.get('version')}")
                continue
            for item in version.get("resources") or []:
                key = (name, str(item["resource"]))
                if key in found or not item.get("responseKind"):
                    continue
                found[key] = Resource(
                    group=name,
                    version=str(version["version"]),
                    kind=str(item["responseKind"]["kind"]),
                    plural=str(item["resource"]),
                    namespaced=item.get("scope") == "Namespaced",
                    singular=str(item.get("singularResource") or ""),
                    short=tuple(item.get("shortNames") or ()),
                    verbs=frozenset(item.get("verbs") or ()),
                )
    return list(found.values()), stale


def from_resource_list(reply: Mapping[str, Any]) -> list[Resource]:
    """Resources of one APIResourceList (servers without aggregated discovery); subresources are left out."""
    group, _, version = str(reply.get("groupVersion") or "v1").rpartition("/")
    return [
        Resource(
            group=group,
            version=version,
            kind=str(item["kind"]),
            plural=str(item["name"]),
            namespaced=bool(item.get("namespaced")),
            singular=str(item.get("singularName") or ""),
            short=tuple(item.get("shortNames") or ()),
            verbs=frozenset(item.get("verbs") or ()),
        )
        for item in reply.get("resources") or []
        if "/" not in item["name"]
    ]

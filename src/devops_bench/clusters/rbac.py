"""What the agent may do, as RBAC objects: a pure function of the task's `agent_role` and of what the cluster serves.

Default: `read` (everything but Secrets, cluster-wide) and `edit` (the built-in role, and all custom resources) in every
namespace but kube-*. A task that gives `agent_role` replaces the default by its own list, whose items are RBAC rules,
cluster-wide or in `namespaces`, or one of the presets `read`, `view` (the built-in role), `edit`, `default`. Names are
those of a usual on-call team: nothing in the cluster says what it is for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from devops_bench.errors import TaskError
from devops_bench.kube import Resource

TEAM = "platform-oncall"
LABELS = {"app.kubernetes.io/managed-by": "platform-team", "app.kubernetes.io/part-of": TEAM}
SELECTOR = ",".join(f"{name}={content}" for name, content in LABELS.items())
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
GROUP = "rbac.authorization.k8s.io"
READ = ["get", "list", "watch"]
WRITE = [*READ, "create", "update", "patch", "delete", "deletecollection"]
SYSTEM_PREFIX = "kube-"


class AgentRule(BaseModel):
    """One item of `agent_role`: an RBAC rule or a preset, cluster-wide unless `namespaces` are given."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    apiGroups: list[str] = []
    resources: list[str] = []
    verbs: list[str] = []
    resourceNames: list[str] = []
    nonResourceURLs: list[str] = []
    namespaces: list[str] | None = None
    preset: Literal["read", "view", "edit", "default"] | None = None

    def rule(self) -> dict[str, Any]:
        """The PolicyRule."""
        return {name: content for name, content in self.model_dump(exclude={"namespaces", "preset"}).items() if content}


@dataclass(frozen=True, slots=True)
class Grant:
    """RBAC objects to apply, and for each binding one access review that tells when it has taken effect."""

    objects: tuple[Mapping[str, Any], ...]
    reviews: tuple[Mapping[str, str], ...]


def parse(items: Sequence[Mapping[str, Any]] | None) -> list[AgentRule]:
    """Read `agent_role`; None is the default. Raises TaskError for an item that is neither a rule nor a preset."""
    if items is None:
        return [AgentRule(preset="default")]
    rules = []
    for number, item in enumerate(items, 1):
        try:
            rule = AgentRule.model_validate(dict(item))
        except (ValidationError, TypeError, ValueError) as error:
            first = error.errors()[0] if isinstance(error, ValidationError) else {"loc": (), "msg": str(error)}
            raise TaskError(
                f"agent_role item {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}",
                fix="write an RBAC rule (apiGroups, resources, verbs, namespaces) or {preset: read|view|edit|default}",
            ) from None
        if (rule.preset is None) != bool(rule.verbs) or (rule.preset is None and not rule.rule().keys() & TARGETS):
            raise TaskError(
                f"agent_role item {number} is neither a whole rule nor a preset",
                fix="give `verbs` with `resources` (and `apiGroups`) or `nonResourceURLs`, or `preset` alone",
            )
        rules.append(rule)
    return rules


TARGETS = {"resources", "nonResourceURLs"}


def open_namespaces(names: Iterable[str]) -> list[str]:
    """The namespaces that the default lets the agent edit."""
    return sorted(name for name in names if not name.startswith(SYSTEM_PREFIX))


def grant(
    rules: Sequence[AgentRule],
    served: Sequence[Resource],
    namespaces: Sequence[str],
    subjects: Sequence[Mapping[str, str]],
    custom: Iterable[tuple[str, str]] = (),
) -> Grant:
    """The objects for `rules`. `served` are all resources of the cluster, `namespaces` those that exist.

    `custom` are (group, plural) of the namespaced custom kinds. Raises TaskError when a rule names a namespace that
    does not exist.
    """
    build = _Builder(served, list(subjects), custom_rules(custom))
    for rule in rules:
        for name in rule.namespaces or ():
            if name not in namespaces:
                raise TaskError(
                    f"agent_role names namespace {name!r}, which does not exist", fix="create it in setup, or drop it"
                )
        if rule.preset in {"read", "default"}:
            build.read(rule.namespaces)
        if rule.preset == "view":
            build.view(rule.namespaces)
        if rule.preset in {"edit", "default"}:
            build.edit(open_namespaces(namespaces) if rule.namespaces is None else rule.namespaces)
        if rule.preset is None:
            build.own(rule.rule(), rule.namespaces)
    return build.done()


class _Builder:
    """Collects roles and bindings; one object per name and namespace, however many rules feed it."""

    def __init__(
        self, served: Sequence[Resource], subjects: list[Mapping[str, str]], custom: list[dict[str, Any]]
    ) -> None:
        self.served = served
        self.subjects = subjects
        self.custom = custom
        self.roles: dict[tuple[str | None, str], list[dict[str, Any]]] = defaultdict(list)
        self.bindings: dict[tuple[str | None, str], tuple[str, str]] = {}
        self.reviews: dict[tuple[str | None, str], dict[str, str]] = {}

    def read(self, namespaces: Sequence[str] | None) -> None:
        self.roles[None, f"{TEAM}-read"] = read_rules(self.served)
        for namespace in namespaces if namespaces is not None else [None]:
            self._bind(namespace, f"{TEAM}-read", "ClusterRole", {"group": "", "resource": "pods", "verb": "list"})

    def view(self, namespaces: Sequence[str] | None) -> None:
        for namespace in namespaces if namespaces is not None else [None]:
            probe = {"group": "", "resource": "pods", "verb": "list"}
            self._bind(namespace, f"{TEAM}-view", "ClusterRole", probe, role="view")

    def edit(self, namespaces: Sequence[str]) -> None:
        if self.custom:
            self.roles[None, f"{TEAM}-custom"] = self.custom
        for namespace in namespaces:
            probe = {"group": "", "resource": "configmaps", "verb": "create"}
            self._bind(namespace, f"{TEAM}-edit", "ClusterRole", probe, role="edit")
            if self.custom:
                self._bind(namespace, f"{TEAM}-custom", "ClusterRole", _probe(self.custom[-1]))

    def own(self, rule: dict[str, Any], namespaces: Sequence[str] | None) -> None:
        for namespace in namespaces if namespaces is not None else [None]:
            self.roles[namespace, f"{TEAM}-task"].append(rule)
            self._bind(namespace, f"{TEAM}-task", "Role" if namespace else "ClusterRole", _probe(rule))

    def _bind(self, namespace: str | None, name: str, kind: str, probe: dict[str, str], role: str = "") -> None:
        self.bindings[namespace, name] = (kind, role or name)
        if probe:
            self.reviews[namespace, name] = probe | ({"namespace": namespace} if namespace else {})

    def done(self) -> Grant:
        objects: list[dict[str, Any]] = []
        for (namespace, name), rules in self.roles.items():
            objects.append(_object("Role" if namespace else "ClusterRole", name, namespace) | {"rules": rules})
        for (namespace, name), (kind, role) in self.bindings.items():
            binding = _object("RoleBinding" if namespace else "ClusterRoleBinding", name, namespace)
            ref = {"apiGroup": GROUP, "kind": kind, "name": role}
            objects.append(binding | {"roleRef": ref, "subjects": self.subjects})
        return Grant(tuple(objects), tuple(self.reviews.values()))


def read_rules(served: Sequence[Resource]) -> list[dict[str, Any]]:
    """Rules to read everything that is served but Secrets, by API group, logs and status included."""
    groups: dict[str, set[str]] = defaultdict(set)
    for resource in served:
        if resource.verbs & set(READ) and (resource.group, resource.plural) != ("", "secrets"):
            groups[resource.group] |= {resource.plural, f"{resource.plural}/status", f"{resource.plural}/scale"}
    groups[""].add("pods/log")
    return [_rule(group, groups[group], READ) for group in sorted(groups)]


def custom_rules(custom: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    """Rules to edit custom resources, given as (group, plural): the built-in role `edit` does not know them."""
    groups: dict[str, set[str]] = defaultdict(set)
    for group, plural in custom:
        groups[group] |= {plural, f"{plural}/scale", f"{plural}/status"}
    return [_rule(group, groups[group], WRITE) for group in sorted(groups)]


def _rule(group: str, resources: Iterable[str], verbs: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": sorted(resources), "verbs": verbs}


def _probe(rule: Mapping[str, Any]) -> dict[str, str]:
    """One request that `rule` allows; empty when it cannot be told from resources."""
    if not rule.get("resources"):
        return {}
    resource, _, subresource = str(rule["resources"][0]).partition("/")
    probe = {"group": str((rule.get("apiGroups") or [""])[0]), "resource": resource, "verb": str(rule["verbs"][0])}
    probe |= {"subresource": subresource} if subresource else {}
    return probe | ({"name": str(rule["resourceNames"][0])} if rule.get("resourceNames") else {})


def _object(kind: str, name: str, namespace: str | None) -> dict[str, Any]:
    metadata = {"name": name, "labels": dict(LABELS)} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata}

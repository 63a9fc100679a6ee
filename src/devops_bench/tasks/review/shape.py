"""Rules about task.yaml itself: readable, complete, and with checks that can tell something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from devops_bench.tasks.checks import (
    Access,
    Across,
    AuditCheck,
    CheckBase,
    CloudResourceProperty,
    CommandCheck,
    DryRun,
    FileCheck,
    GitRepoSync,
    Group,
    HttpProbe,
    IdentityPreserved,
    Op,
    PodExec,
    PodHealthy,
    Reachable,
    ResourceProperty,
    ScalingComplete,
    ScriptCheck,
)
from devops_bench.tasks.review.subject import Hit, Subject
from devops_bench.tasks.spec import Mode, Role
from devops_bench.tasks.suggest import did_you_mean

PROVIDERS = ("none", "kwok", "kind", "gke", "existing")
_NEEDS_CLUSTER = (
    ResourceProperty,
    PodHealthy,
    ScalingComplete,
    IdentityPreserved,
    DryRun,
    Reachable,
    Access,
    ScriptCheck,
)
_NEEDS_CONTAINERS = (HttpProbe, PodExec)
_SHARE = 0.8  # of all objectives' weight
CLUSTER_SCOPED = {
    "node", "namespace", "persistentvolume", "clusterrole", "clusterrolebinding", "customresourcedefinition",
    "storageclass", "priorityclass", "ingressclass", "runtimeclass", "apiservice", "csidriver", "csinode",
    "validatingadmissionpolicy", "validatingadmissionpolicybinding", "validatingwebhookconfiguration",
    "mutatingwebhookconfiguration", "mutatingadmissionpolicy", "mutatingadmissionpolicybinding", "flowschema",
    "prioritylevelconfiguration", "certificatesigningrequest", "volumeattachment", "deviceclass",
}  # fmt: skip
_DURATION = re.compile(r"(\d+(\.\d+)?(ms|s|m|h))+\Z|\d+(\.\d+)?\Z")
_MATCHES_ALL = {"", ".*", "^.*$", "^", "$", ".+", "^.+$", "(?s).*"}
_ALWAYS_SET = {"$.metadata.name", "$.metadata.uid", "$.metadata.namespace", "$.kind", "$.apiVersion", "$"}


def unreadable(subject: Subject) -> Iterator[Hit]:
    """The loader's own error."""
    if subject.error is not None:
        where = subject.error.where
        path = Path(where) if where else None
        yield Hit(subject.error.line or 1, subject.error.what, subject.error.fix, path)


def entry_unreadable(subject: Subject) -> Iterator[Hit]:
    """Entries that the loader kept as failures."""
    for failure in subject.spec.parse_failures if subject.spec else ():
        yield Hit(failure.line or 1, f"{failure.name}: {failure.reason}")


def no_objective(subject: Subject) -> Iterator[Hit]:
    """A task that is judged by nothing, unless it is judged by a checklist in prose."""
    if subject.spec is None or subject.spec.parse_failures or subject.spec.expected_output:
        return
    if not any(entry.role is Role.OBJECTIVE for entry in subject.spec.verification_spec):
        yield Hit(subject.line("verification_spec"), "no objective", "say what must be true at the end")


def no_safeguard(subject: Subject) -> Iterator[Hit]:
    """Without one, deleting everything is as good as repairing it."""
    spec = subject.spec
    if spec and spec.verification_spec and all(entry.role is Role.OBJECTIVE for entry in spec.verification_spec):
        yield Hit(subject.line("verification_spec"), "no safeguard", "add what a careless solution would harm")


def group_unknown(subject: Subject) -> Iterator[Hit]:
    """Groups are shown by title; an unknown one has none."""
    for entry, loc in subject.entries():
        groups = subject.spec.check_groups if subject.spec else {}
        if entry.group is not None and entry.group not in groups:
            hint = did_you_mean(entry.group, groups) or "add it to check_groups"
            yield Hit(subject.line(*loc, "group"), f"{entry.name}: no group {entry.group!r}", hint)


def weight_extreme(subject: Subject) -> Iterator[Hit]:
    """One objective with more than four fifths of the weight makes the others decoration."""
    objectives = [(entry, loc) for entry, loc in subject.entries() if entry.role is Role.OBJECTIVE]
    total = sum(entry.weight for entry, _ in objectives)
    for entry, loc in objectives:
        if len(objectives) > 1 and entry.weight > _SHARE * total:
            what = f"{entry.name} has {entry.weight / total:.0%} of the weight of all objectives"
            yield Hit(subject.line(*loc, "weight"), what, "lower it, or drop the others")


def duration(subject: Subject) -> Iterator[Hit]:
    """Durations are text like 90s, 5m or 1h30m, or seconds."""
    for index, entry in enumerate(subject.spec.chaos_spec if subject.spec else ()):
        text = str(entry["action"]["target"]["duration"])
        if not _DURATION.match(text):
            line = subject.line("chaos_spec", index, "action", "target", "duration")
            yield Hit(line, f"duration {text!r} cannot be read", "write 90s, 5m or 1h30m")
    for name, value in (subject.spec.infrastructure.variables if subject.spec else {}).items():
        timed = name.endswith(("_timeout", "_duration", "_interval")) or name in {"timeout", "duration"}
        if timed and not _DURATION.match(str(value)):
            line = subject.line("infrastructure", "variables", name)
            yield Hit(line, f"{name} {value!r} cannot be read", "write 90s, 5m or 1h30m")


def provider_unknown(subject: Subject) -> Iterator[Hit]:
    """`infrastructure.provider` is one of a few words."""
    if subject.spec and subject.spec.provider not in PROVIDERS:
        hint = did_you_mean(subject.spec.provider, PROVIDERS)
        yield Hit(subject.line("infrastructure", "provider"), f"no provider {subject.spec.provider!r}", hint)


def check_unserved(subject: Subject) -> Iterator[Hit]:
    """Checks that need containers, a cloud or a cluster where there is none."""
    for entry, check, line in subject.checks():
        provider = subject.spec.provider if subject.spec else ""
        kind = str(getattr(check, "type", ""))
        if provider == "none" and isinstance(check, (*_NEEDS_CLUSTER, *_NEEDS_CONTAINERS, AuditCheck)):
            yield Hit(line, f"{entry.name}: {kind} needs a cluster", "use file, command or git_repo_sync")
        elif provider == "kwok" and isinstance(check, _NEEDS_CONTAINERS):
            yield Hit(line, f"{entry.name}: {kind} needs running containers", "use provider kind, or check the API")
        elif isinstance(check, CloudResourceProperty) and provider != "gke":
            yield Hit(line, f"{entry.name}: {kind} needs provider gke")


def no_namespace(subject: Subject) -> Iterator[Hit]:
    """Without one the check reads `default`, which is hardly ever meant."""
    for entry, check, line in subject.checks():
        if isinstance(check, (ResourceProperty, IdentityPreserved)):
            bare = check.kind.split(".")[0].lower().removesuffix("s")
            if (
                bare in CLUSTER_SCOPED
                or bare.removesuffix("ie") + "y" in CLUSTER_SCOPED
                or bare + "s" in CLUSTER_SCOPED
            ):
                continue
        elif not isinstance(check, (PodHealthy, ScalingComplete, DryRun)):
            continue
        if isinstance(check, DryRun) and "namespace:" in (check.manifest or ""):
            continue
        if check.namespace is None:
            yield Hit(line, f"{entry.name}: no namespace", "name it, so that the check reads what is meant")


def tautology(subject: Subject) -> Iterator[Hit]:
    """Checks that pass whatever the agent does."""
    for entry, loc in subject.entries():
        reason = always_true(entry.check)
        if reason and not (entry.role is Role.SAFEGUARD and entry.effective_mode is Mode.HOLD and not reason):
            yield Hit(subject.line(*loc, "check"), f"{entry.name} always passes: {reason}", "check what must change")


def always_true(check: CheckBase) -> str:
    """Why a check cannot fail, or an empty string."""
    if isinstance(check, Group):
        reasons = [always_true(child) for child in check.checks]
        if check.type == "any":
            return next((reason for reason in reasons if reason), "") or _complementary(check)
        return "; ".join(reasons) if check.type != "none" and all(reasons) else ""
    if isinstance(check, CommandCheck):
        if check.op is not None:
            return _always_true_property(check.op, check.value, check.path, check)
        return "the command is always true" if check.command[0] in {"true", ":"} and check.expect_exit == 0 else ""
    if isinstance(check, ScalingComplete):
        return "no replicas are enough" if check.min_replicas == 0 and check.max_replicas is None else ""
    if isinstance(check, (ResourceProperty, GitRepoSync, FileCheck, CloudResourceProperty, PodExec)):
        return _always_true_property(check.op, check.value, getattr(check, "path", None), check)
    return ""


def _always_true_property(op: Op, value: Any, path: str | None, check: CheckBase) -> str:
    if op is Op.MATCHES and value in _MATCHES_ALL:
        return f"every text matches {value!r}"
    if op is Op.CONTAINS and value == "":
        return "every text contains nothing"
    if op is Op.GTE and isinstance(value, (int, float)) and value <= 0 and path and "replicas" in path.lower():
        return "a count is never negative"
    everything = isinstance(check, ResourceProperty) and not check.resource_name and not check.selector
    if (
        op is Op.EXISTS
        and path in _ALWAYS_SET
        and everything
        and getattr(check, "across_matches", None) is Across.EVERY
    ):
        return f"every object has {path}"
    return ""


def _complementary(check: Group) -> str:
    seen: set[tuple[str, str]] = set()
    opposite = {"eq": "ne", "ne": "eq", "exists": "absent", "absent": "exists"}
    for child in check.checks:
        if not isinstance(child, (ResourceProperty, FileCheck, GitRepoSync)):
            continue
        rest = child.model_dump_json(exclude={"op", "name"})
        if (opposite.get(child.op.value, ""), rest) in seen:
            return "one of its checks is the opposite of another"
        seen.add((child.op.value, rest))
    return ""

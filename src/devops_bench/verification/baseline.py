"""What setup left behind, recorded before the agent starts: later checks compare with facts, not with labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from devops_bench.kube import Deadline, KubeUnknownKind
from devops_bench.tasks.checks import GitRepoSync, IdentityPreserved
from devops_bench.tasks.spec import Entry
from devops_bench.verification.checks import git
from devops_bench.verification.checks.resources import select
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.snapshot import Snapshot, checks_of, kinds_read, wide_kinds

TIMEOUT = 60.0  # seconds for the whole baseline


@dataclass(frozen=True, slots=True)
class Identity:
    """What tells an object from one made anew under its name."""

    uid: str
    created: str


@dataclass(frozen=True, slots=True)
class Baseline:
    """Frozen and JSON-able. `commits` maps `repo@ref` to a commit id, None where there was no commit yet."""

    identities: Mapping[str, Identity] = field(default_factory=dict)
    commits: Mapping[str, str | None] = field(default_factory=dict)
    kinds: frozenset[str] = frozenset()

    def identity(self, kind: str, namespace: str, name: str) -> Identity | None:
        """The object's identity after setup, None if it was not there."""
        return self.identities.get(_key(kind, namespace, name))

    def knew_kind(self, kind: str) -> bool:
        """Whether the API server served `kind` after setup."""
        return kind.lower() in self.kinds

    def knows_repo(self, repo: str, ref: str) -> bool:
        """Whether that ref was looked at after setup."""
        return f"{repo}@{ref}" in self.commits

    def commit(self, repo: str, ref: str) -> str | None:
        """Its commit after setup, None if there was none."""
        return self.commits.get(f"{repo}@{ref}")

    def as_data(self) -> dict[str, Any]:
        """Plain JSON types, for the attempt's folder."""
        return {**asdict(self), "kinds": sorted(self.kinds)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Baseline:
        """The inverse of `as_data`."""
        return cls(
            {key: Identity(**value) for key, value in data["identities"].items()},
            dict(data["commits"]),
            frozenset(data["kinds"]),
        )


def take_baseline(entries: Sequence[Entry], context: VerifyContext) -> Baseline:
    """Record what the entries will compare with. Call it after setup, before the agent.

    Raises the classes of `kube.errors` when the cluster cannot be read: an attempt without its baseline must not start.
    An object that is not there is recorded as such; its check will be an error, seen by the negative check.
    """
    deadline = Deadline.after(TIMEOUT)
    identities: dict[str, Identity] = {}
    commits: dict[str, str | None] = {}
    kinds: set[str] = set()
    if context.kube is not None:
        snapshot = Snapshot(context.kube, context.limits.call, wide_kinds(entries, context.namespace))
        for kind in kinds_read(entries, context.namespace):
            try:
                snapshot.resource(kind, deadline)
                kinds.add(kind)
            except KubeUnknownKind:
                continue
        for check in checks_of(entries):
            if isinstance(check, IdentityPreserved) and check.kind.lower() in kinds:
                namespace = check.namespace or context.namespace
                found = select(snapshot.objects(check.kind, namespace, deadline), check.resource_name, None)
                if found:
                    metadata = found[0]["metadata"]
                    identities[_key(check.kind, namespace, check.resource_name)] = Identity(
                        str(metadata["uid"]), str(metadata["creationTimestamp"])
                    )
    for check in checks_of(entries):
        if isinstance(check, GitRepoSync) and check.require_new_commit:
            commits[f"{check.repo_path}@{check.ref}"] = _commit(check, context, deadline)
    return Baseline(identities, commits, frozenset(kinds))


def _commit(check: GitRepoSync, context: VerifyContext, deadline: Deadline) -> str | None:
    try:
        return git.head(git.locate(context, check.repo_path), check.ref, deadline)
    except git.BadRepository:
        return None


def _key(kind: str, namespace: str, name: str) -> str:
    return f"{kind.lower()}|{namespace}|{name}"

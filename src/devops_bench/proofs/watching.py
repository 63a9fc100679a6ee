"""Did anything move while we only looked? Versions of all objects but Leases and Events, digests of the workspace."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.kube import Deadline, KubeClient
from devops_bench.proofs.objects import every_kind
from devops_bench.verification.quiescence import LOOK_EVERY, RestWatcher

REST = 1.0  # seconds without a write, after which what a script set off has come to its end
_PATIENCE = 30.0  # seconds; a cluster that never rests shows up as a finding
_RESTLESS = {"leases", "events", "componentstatuses"}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Object or file -> version."""

    versions: Mapping[str, str]

    def difference(self, later: Fingerprint) -> list[str]:
        """Names that appeared, vanished or changed until `later`, at most ten."""
        names = self.versions.keys() | later.versions.keys()
        return sorted(name for name in names if self.versions.get(name) != later.versions.get(name))[:10]


def at_rest(kube: KubeClient) -> None:
    """Block until nothing but Leases has changed for a second, at most half a minute."""
    deadline = Deadline.after(_PATIENCE)
    rest = RestWatcher(kube)
    rest.look(deadline)
    while rest.quiet_for < REST and not deadline.passed:
        time.sleep(LOOK_EVERY)  # the store's revision has no watch; each look is one small request
        rest.look(deadline)


def fingerprint(kube: KubeClient | None, workspace: Path) -> Fingerprint:
    """What cluster and workspace hold now. Raises KubeError."""
    found = {}
    for path in sorted(workspace.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found[f"file {path.relative_to(workspace)}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if kube is not None:
        for kind, items in every_kind(kube, besides=_RESTLESS, metadata_only=True):
            found.update(_versions(kind, items))
    return Fingerprint(found)


def _versions(kind: str, items: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    for item in items:
        metadata = item["metadata"]
        place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        yield f"{kind} {place}{metadata['name']}", f"{metadata.get('uid')}@{metadata.get('resourceVersion')}"

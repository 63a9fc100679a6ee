"""Did anything move while we only looked? Versions of all objects but Leases and Events, digests of the workspace."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from devops_bench.kube import KubeClient, KubeError

_RESTLESS = {"leases", "events", "componentstatuses"}


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Object or file -> version."""

    versions: Mapping[str, str]

    def difference(self, later: Fingerprint) -> list[str]:
        """Names that appeared, vanished or changed until `later`, at most ten."""
        names = self.versions.keys() | later.versions.keys()
        return sorted(name for name in names if self.versions.get(name) != later.versions.get(name))[:10]


def fingerprint(kube: KubeClient | None, workspace: Path) -> Fingerprint:
    """What cluster and workspace hold now. Raises KubeError."""
    found = {}
    for path in sorted(workspace.rglob("*")):
        if path.is_file() and not path.is_symlink():
            found[f"file {path.relative_to(workspace)}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    if kube is not None:
        listable = [kind for kind in kube.kinds().resources if "list" in kind.verbs and kind.plural not in _RESTLESS]
        kinds = {f"{kind.plural}.{kind.group}" if kind.group else kind.plural for kind in listable}
        with ThreadPoolExecutor(8) as pool:
            for part in pool.map(lambda kind: _versions(kube, kind), sorted(kinds)):
                found.update(part)
    return Fingerprint(found)


def _versions(kube: KubeClient, kind: str) -> dict[str, str]:
    try:
        items = kube.list_with_version(kind, metadata_only=True).items
    except KubeError as error:
        if error.status in {404, 405}:
            return {}
        raise
    out = {}
    for item in items:
        metadata = item["metadata"]
        place = f"{metadata['namespace']}/" if metadata.get("namespace") else ""
        out[f"{kind} {place}{metadata['name']}"] = f"{metadata.get('uid')}@{metadata.get('resourceVersion')}"
    return out

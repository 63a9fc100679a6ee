"""Namespaces that we made in the user's cluster: noted durably before use, deleted only when provably ours.

A note (`<state root>/namespaces/<name>.json`) says which kubeconfig and context was named, the UID that the namespace
got, and who uses it. It outlives the combo, so that a sweep can remove what a killed one left.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from devops_bench.clusters import rbac
from devops_bench.errors import TransientError
from devops_bench.kube import Deadline, KubeClient, KubeNotFound
from devops_bench.paths import atomic_write, private_dir
from devops_bench.process import ProcessIdentity

FOLDER = "namespaces"
GONE_TIMEOUT = 120.0  # seconds for a namespace to go; what hangs longer is residue
GONE_INTERVAL = 0.1  # seconds; the namespace controller works in the background in steps of about this


@dataclass(frozen=True, slots=True)
class Note:
    """One namespace of ours. `owner` is the combo's process, `kubectl` an argv prefix for logins that need it."""

    name: str
    uid: str
    kubeconfig: Path
    context: str
    owner: ProcessIdentity
    kubectl: tuple[str, ...] = ()

    def client(self) -> KubeClient:
        """An admin client as the user named it."""
        return KubeClient.from_kubeconfig(self.kubeconfig, self.kubectl, context=self.context)

    def write(self, state_root: Path) -> None:
        """Make the note durable."""
        private_dir(state_root / FOLDER)
        atomic_write(_path(state_root, self.name), json.dumps(asdict(self), default=str) + "\n")

    def delete(self, state_root: Path) -> None:
        """Delete the namespace, wait until it is gone, then forget it; one that is not ours by now is left alone.

        Raises TransientError when it hangs, KubeError when the cluster cannot be asked.
        """
        with self.client() as kube:
            if self._ours(kube):
                kube.delete("Namespace", self.name)
            deadline = Deadline.after(GONE_TIMEOUT)
            while self._ours(kube):
                if deadline.passed:
                    raise TransientError(
                        f"namespace {self.name} is still there {GONE_TIMEOUT:g} s after it was deleted",
                        fix=f"see what holds it: kubectl --context {self.context} get namespace {self.name} -o yaml",
                    )
                time.sleep(GONE_INTERVAL)
        _path(state_root, self.name).unlink(missing_ok=True)

    def _ours(self, kube: KubeClient) -> bool:
        try:
            metadata = kube.get("Namespace", self.name)["metadata"]
        except KubeNotFound:
            return False
        return bool(metadata["uid"] == self.uid and rbac.LABELS.items() <= (metadata.get("labels") or {}).items())


def read(state_root: Path, name: str) -> Note | None:
    """The note of namespace `name`; None when there is none or it is damaged."""
    try:
        data = json.loads(_path(state_root, name).read_bytes())
        if (owner := ProcessIdentity.from_data(data["owner"])) is None:
            return None
        return Note(
            name=str(data["name"]),
            uid=str(data["uid"]),
            kubeconfig=Path(data["kubeconfig"]),
            context=str(data["context"]),
            owner=owner,
            kubectl=tuple(map(str, data["kubectl"])),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def noted(state_root: Path) -> Iterator[Note]:
    """All notes below a state root."""
    for path in sorted((state_root / FOLDER).glob("*.json")):
        if (note := read(state_root, path.stem)) is not None:
            yield note


def remove(state_root: Path, name: str) -> bool:
    """Delete the namespace `name` if it is noted as ours; True when there was a note. For sweeps of dead combos."""
    note = read(state_root, name)
    if note is None:
        return False
    note.delete(state_root)
    return True


def _path(state_root: Path, name: str) -> Path:
    return state_root / FOLDER / f"{name}.json"

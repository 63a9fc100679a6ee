"""A task's setup on a fresh cluster, with the admin identity: the files of `setup/` in the order of their names.

`*.yaml` is applied object by object, `*wait.yaml` is a list of checks to wait for, an executable `*.sh` is run. So a
task tells a history: the good state, wait, the change that broke it, wait. Afterwards the agent gets its rights.
Nothing in the cluster says that a harness was here: the field manager is kubectl's, and objects carry the annotation
that `kubectl apply` leaves, so that an agent's own `kubectl apply` behaves as it would anywhere.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.clusters.base import Cluster
from devops_bench.clusters.grants import grant_agent
from devops_bench.combo.host_scripts import run_as_admin
from devops_bench.combo.settle import wait_for, wait_observed, workload
from devops_bench.errors import TaskError, TransientError
from devops_bench.kube import Deadline, KubeClient, KubeConflict, KubeError, KubeNotFound, KubeUnavailable
from devops_bench.tasks.placeholders import substitute
from devops_bench.tasks.spec import TaskSpec
from devops_bench.tasks.yaml_source import parse_all, read_text

FIELD_MANAGER = "kubectl"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
MANIFEST_LIMIT = 8 << 20
_RETRY_EVERY = 0.05  # seconds, while a kind or namespace that was just made is not served yet
_NOT_YET = 5.0  # seconds that a missing kind or a conflict may last before it is an error of the task


@dataclass(frozen=True, slots=True)
class Manifest:
    """One object of a setup file."""

    file: Path
    line: int
    data: dict[str, Any]

    @property
    def label(self) -> str:
        """Kind and name, for messages."""
        return f"{self.data['kind']} {self.data['metadata'].get('name', '?')}"


def apply_setup(task: TaskSpec, cluster: Cluster, kube: KubeClient, workspace: Path, timeout: float) -> None:
    """Run the whole setup of `task` within `timeout` seconds, then grant the agent its rights.

    Raises TaskError (file:line) when the API server refuses an object or a wait is not met, TransientError when the
    cluster fails.
    """
    deadline = Deadline.after(timeout)
    folder = task.folder / "setup"
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    applied: list[Manifest] = []
    waited = False
    for file in files:
        if file.name.endswith("wait.yaml"):
            wait_for(file, kube, task, deadline)
            waited = True
        elif file.suffix in {".yaml", ".yml"}:
            applied += _apply_file(file, kube, cluster, deadline)
            waited = False
        elif file.suffix == ".sh":
            _run_script(file, cluster, workspace, deadline)
    if not waited:
        found = (workload(item.data, item.file, item.line) for item in applied)
        wait_observed([item for item in found if item is not None], kube, deadline)
    grant_agent(cluster, task.cluster, kube)


def manifests(file: Path, text: str) -> Iterator[Manifest]:
    """Objects of a manifest file, Lists opened. TaskError for what is no object."""
    for doc in parse_all(text, file):
        if doc.data is None:
            continue
        line = doc.line(())
        items = doc.data["items"] if isinstance(doc.data, dict) and doc.data.get("kind") == "List" else [doc.data]
        for item in items if isinstance(items, list) else [items]:
            if not isinstance(item, dict) or not isinstance(item.get("metadata"), dict) or not item.get("kind"):
                raise TaskError(
                    "is not a Kubernetes object", where=file, line=line, fix="apiVersion, kind and metadata"
                )
            yield Manifest(file, line, item)


def _apply_file(file: Path, kube: KubeClient, cluster: Cluster, deadline: Deadline) -> list[Manifest]:
    text = substitute(read_text(file, limit=MANIFEST_LIMIT), cluster.facts)
    done = []
    for manifest in manifests(file, text):
        _apply(manifest, kube, deadline)
        done.append(manifest)
    return done


def _apply(manifest: Manifest, kube: KubeClient, deadline: Deadline) -> None:
    data = _annotated(manifest.data)
    patience = Deadline.after(min(_NOT_YET, deadline.remaining()))
    while True:
        try:
            kube.apply(data, field_manager=FIELD_MANAGER, deadline=deadline)
            return
        except (KubeNotFound, KubeConflict) as error:
            # A namespace or custom kind made a moment ago, or a controller that was faster.
            if patience.passed:
                raise _refused(manifest, error) from error
        except KubeUnavailable as error:
            if patience.passed:
                raise TransientError(f"{manifest.label}: {error.what}", where=manifest.file) from error
        except KubeError as error:
            raise _refused(manifest, error) from error
        time.sleep(_RETRY_EVERY)


def _refused(manifest: Manifest, error: KubeError) -> TaskError:
    return TaskError(f"setup: {manifest.label}: {error.text or error.what}", where=manifest.file, line=manifest.line)


def _annotated(data: dict[str, Any]) -> dict[str, Any]:
    """`data` with the annotation that `kubectl apply` would leave: its own text, without that annotation."""
    metadata = dict(data["metadata"])
    annotations = {key: text for key, text in (metadata.get("annotations") or {}).items() if key != LAST_APPLIED}
    plain = {**data, "metadata": {**metadata, "annotations": annotations}}
    text = json.dumps(plain, separators=(",", ":"), sort_keys=True) + "\n"
    return {**data, "metadata": {**metadata, "annotations": {**annotations, LAST_APPLIED: text}}}


def _run_script(file: Path, cluster: Cluster, workspace: Path, deadline: Deadline) -> None:
    """Run a setup script with the admin identity; `kubectl` on PATH is the cluster's own."""
    if not os.access(file, os.X_OK):
        raise TaskError("setup script is not executable", where=file, fix=f"chmod +x {file.name}")
    try:
        code, said = run_as_admin(file, cluster, workspace, max(0.1, deadline.remaining()))
    except TimeoutError:
        raise TaskError("setup script did not end in time", where=file) from None
    except OSError as error:
        raise TaskError(f"setup script cannot be run ({error.strerror})", where=file) from None
    if code != 0:
        raise TaskError(f"setup script failed with {code}: {said}", where=file)

"""What a task needs of its control plane, in the forms that the control-plane binary and the pool use.

Pure but for reading the task's stage files. `nodes_yaml` and `stage_files` feed `kube up`; `needs_key` says which
planes are interchangeable. The agent's rights are granted after boot and are no part of the key.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from devops_bench.errors import TaskError
from devops_bench.tasks.faults import stages_of
from devops_bench.tasks.spec import ClusterNeeds, NodeGroup
from devops_bench.tasks.yaml_source import parse_all, read_text


def absolute(needs: ClusterNeeds, folder: Path) -> ClusterNeeds:
    """`needs` of the task in `folder` with absolute stage files, those of its `stages/` folder included.

    Raises TaskError for a named file that is missing or lies outside the folder.
    """
    home = folder.resolve()
    found = {path.resolve() for path in sorted((home / "stages").glob("*.y*ml"))}
    for name in needs.stages:
        path = (home / name).resolve()
        if not path.is_relative_to(home):
            raise TaskError(f"stage file {name!r} is outside the task's folder", where=folder / "cluster.yaml")
        if not path.is_file():
            raise TaskError(f"stage file {name!r} does not exist", where=folder / "cluster.yaml", fix="name a file")
        found.add(path)
    return needs.model_copy(update={"stages": sorted(map(str, found))})


def stage_files(needs: ClusterNeeds) -> list[Path]:
    """The stage files, which must be absolute by now (`absolute`); TaskError when one cannot be read."""
    paths = [Path(name) for name in needs.stages]
    for path in paths:
        if not path.is_absolute() or not path.is_file():
            raise TaskError("stage file is missing or not an absolute path", where=path)
    return paths


def stage_documents(needs: ClusterNeeds) -> list[dict[str, Any]]:
    """All Stages of a plane: those of the (absolute) files and those of the faults. Raises TaskError."""
    files = [doc.data for path in stage_files(needs) for doc in parse_all(read_text(path), path)]
    return [doc for doc in files if isinstance(doc, dict)] + stages_of(needs.faults)


def nodes_yaml(needs: ClusterNeeds) -> str | None:
    """The nodes file of `kube up` (JSON, which is YAML), or None for its default of three plain nodes."""
    if not needs.nodes:
        return None
    return json.dumps([_node(group) for group in needs.nodes], indent=1) + "\n"


def faults_yaml(needs: ClusterNeeds) -> str | None:
    """One more stages file of `kube up`: the faults that the task takes from the library; None without any."""
    stages = stages_of(needs.faults)
    return "---\n".join(json.dumps(stage) + "\n" for stage in stages) if stages else None


def _node(group: NodeGroup) -> dict[str, Any]:
    data = {name: content for name, content in group.model_dump().items() if content}
    if group.count == 1:
        del data["count"]  # one node has exactly the group's name; several get -0, -1 ...
    return data


def needs_key(needs: ClusterNeeds) -> str:
    """12 hex digits; equal exactly for needs that one booted plane can serve."""
    digest = hashlib.sha256(f"{nodes_yaml(needs) or ''}\0{faults_yaml(needs) or ''}".encode())
    for path in sorted(stage_files(needs)):
        content = path.read_bytes()
        digest.update(f"\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:12]

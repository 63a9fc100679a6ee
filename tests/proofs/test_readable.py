"""What an agent could read of the answer, or of us, is found in the live objects and in the sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devops_bench.kube import KubeClient
from devops_bench.proofs.readable import leaks
from devops_bench.sandbox import Sandbox
from devops_bench.tasks import load_task
from devops_bench.tasks.scaffold import scaffold
from devops_bench.tasks.spec import TaskSpec

SENTENCE = "the selector names a label that no pod of the shop has"


@pytest.fixture
def task(tmp_path: Path) -> TaskSpec:
    scaffold(tmp_path / "web", "none")
    (tmp_path / "web" / "README.md").write_text(f"# Why\n\nBecause {SENTENCE}.\n")
    return load_task(tmp_path / "web")


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("where", "text", "found"),
    [
        ("workspace", "any notes", []),
        ("workspace", f"{SENTENCE.upper()}\n", ["the agent can read a sentence of README.md in the sandbox: "]),
        ("home", "see devops-bench\n", ["the agent can read 'devops-bench' in the sandbox"]),
    ],
)
def test_the_sandbox_is_searched(task: TaskSpec, box: Sandbox, where: str, text: str, found: list[str]) -> None:
    folder: Path = getattr(box.spec, where)
    (folder / "notes.md").write_text(text)
    assert [line[: len(want)] for line, want in zip(leaks(task, None, box), found, strict=True)] == found


@pytest.mark.kwok
@pytest.mark.parametrize(
    ("kind", "content", "found"),
    [
        ("ConfigMap", {"data": {"note": SENTENCE}}, "the agent can read a sentence of README.md in configmaps: "),
        ("Secret", {"stringData": {"note": SENTENCE}}, "the agent can read a sentence of README.md in secrets: "),
        ("Secret", {"metadata": {"annotations": {"by": "kwok"}}}, "the agent can read 'kwok' in secrets"),
    ],
)
def test_objects_are_searched(
    task: TaskSpec, box: Sandbox, kube: KubeClient, namespace: str, kind: str, content: dict[str, Any], found: str
) -> None:
    assert not [line for line in leaks(task, kube, box) if line.startswith(found)]
    metadata = {"name": "notes", "namespace": namespace, **content.get("metadata", {})}
    kube.create({"apiVersion": "v1", "kind": kind, **content, "metadata": metadata})
    assert [line for line in leaks(task, kube, box) if line.startswith(found)]

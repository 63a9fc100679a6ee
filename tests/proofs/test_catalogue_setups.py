"""What setups of the catalogue write in the controllers' stead is what the controllers write."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

import pytest

from devops_bench.kube import Deadline
from devops_bench.proofs.ground import Ground
from devops_bench.sandbox import detect
from devops_bench.tasks import load_task
from devops_bench.verification.changes import Changes

TASKS = Path(__file__).resolve().parents[2] / "tasks"
PREVIEWS = ("preview-398", "preview-405", "preview-412")


def told(namespace: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        tuple(one[key] for key in ("type", "status", "reason", "message"))
        for one in namespace["status"].get("conditions", [])
    ]


@pytest.mark.kwok
@pytest.mark.sandbox
def test_the_namespace_controller_says_of_hanging_previews_what_the_setup_says(kube_binary: Path) -> None:
    task = load_task(TASKS / "kwok" / "preview-leftovers" / "task.yaml", strict=True)
    env = {**os.environ, "DEVOPS_BENCH_KUBE": str(kube_binary)}
    with Ground(task, detect(env), env) as ground, ground.case() as here:
        kube, deadline, changed = here.kube, Deadline.after(120), threading.Event()
        assert kube is not None

        def conditions(name: str) -> list[tuple[str, ...]]:
            assert kube is not None
            return told(kube.get("namespaces", name, deadline=deadline))

        written = {name: conditions(name) for name in PREVIEWS}
        assert {len(found) for found in written.values()} == {5}
        with Changes(kube, ["namespaces"], deadline, changed) as changes:
            changes.ready(deadline)
            for name in PREVIEWS:
                kube.patch("namespaces", name, {"status": {"conditions": None}}, subresource="status")
            # It comes five seconds after the last change of a namespace.
            while not all(conditions(name) for name in PREVIEWS) and not deadline.passed:
                changed.wait(deadline.remaining())
                changed.clear()
        assert {name: conditions(name) for name in PREVIEWS} == written

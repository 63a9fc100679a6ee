"""A script's waits on a real control plane: ended when nothing can come any more, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kube.plane import Plane, binary

from devops_bench.kube import KubeClient
from devops_bench.proofs.waits import WaitEnder
from devops_bench.verification import quiescence

pytestmark = pytest.mark.kwok

DEADLINE = 60.0  # seconds; a tenth of what the scripts would wait


@contextmanager
def script(plane: Plane, folder: Path, lines: str) -> Iterator[subprocess.Popen[str]]:
    """A running script whose `kubectl` is the plane's."""
    (folder / "kubectl").symlink_to(binary())
    env = {"PATH": f"{folder}:/usr/bin:/bin", "KUBECONFIG": str(plane.kubeconfigs["admin"]), "HOME": str(folder)}
    with subprocess.Popen(
        ["bash", "-c", lines], env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)


def test_a_wait_for_what_does_not_come_ends_as_at_its_timeout(
    plane: Plane, kube: KubeClient, namespace: str, tmp_path: Path
) -> None:
    wait = f"kubectl -n {namespace} wait configmap/none --for=create --timeout=600s"
    ender = WaitEnder(kube, [], quiescence=1.0, call=10.0)
    with script(plane, tmp_path, f"{wait} || {wait} || echo on") as running:
        ender.begin(running.pid)
        assert running.communicate(timeout=DEADLINE)[0] == "on\n"
    rest = ender.end()
    assert rest is not None
    assert rest.quiet_for >= 1.0


def test_a_wait_goes_on_while_something_may_still_come(
    plane: Plane, kube: KubeClient, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ReplicaSet that is refused its pods is tried again, in growing intervals: rest proves nothing."""
    asked = threading.Event()
    read = quiescence.read_timers

    def timers(*arguments: Any) -> float:
        found = read(*arguments)
        asked.set()
        return found

    monkeypatch.setattr(quiescence, "read_timers", timers)
    refused = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": namespace}}
    kube.create({**refused, "spec": {"hard": {"pods": "0"}}})
    pods = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    kube.create(
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {"name": "a", "namespace": namespace},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "a"}}, "template": pods},
        }
    )
    ender = WaitEnder(kube, [], quiescence=1.0, call=10.0)
    with script(plane, tmp_path, f"kubectl -n {namespace} wait pod/a --for=create --timeout=600s; echo on") as running:
        ender.begin(running.pid)
        assert asked.wait(DEADLINE)
        assert ender.end() is not None
        assert running.poll() is None

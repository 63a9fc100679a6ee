"""A script's waits on a real control plane: ended when nothing can come any more, and only then."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.kube.plane import Plane, binary

from devops_bench.kube import KubeClient
from devops_bench.proofs import waits
from devops_bench.proofs.waits import WaitEnder
from devops_bench.verification import Limits, VerifyContext, quiescence

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


CONTEXT = VerifyContext(limits=Limits(converge=120.0, total=120.0, quiescence=1.0, hold_interval=1.0))


def workload(kind: str, namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1" if kind == "CronJob" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "a", "namespace": namespace},
        "spec": spec,
    }


PODS = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}


def refused(kube: KubeClient, namespace: str) -> None:
    """A ReplicaSet that is refused its pods: it is tried again, in growing intervals."""
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": namespace}}
    kube.create({**quota, "spec": {"hard": {"pods": "0"}}})
    kube.create(workload("ReplicaSet", namespace, replicas=1, selector={"matchLabels": {"app": "a"}}, template=PODS))


@pytest.mark.parametrize("prepare", [lambda _kube, _namespace: None, refused], ids=["nothing", "refused"])
def test_a_wait_for_what_does_not_come_ends_as_at_its_timeout(
    plane: Plane,
    kube: KubeClient,
    namespace: str,
    tmp_path: Path,
    prepare: Callable[[KubeClient, str], None],
) -> None:
    prepare(kube, namespace)
    wait = f"kubectl -n {namespace} wait pod -l app=a --for=create --timeout=600s"
    ender = WaitEnder(kube, CONTEXT, [], 120.0)
    with script(plane, tmp_path, f"{wait} || {wait} || echo on") as running:
        ender.begin(running.pid)
        assert running.communicate(timeout=DEADLINE)[0] == "on\n"
    rest = ender.end()
    assert rest is not None
    assert rest.quiet_for >= 1.0


def test_a_wait_goes_on_while_something_may_still_come(
    plane: Plane, kube: KubeClient, namespace: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A CronJob is due within a minute, so rest proves nothing."""
    asked = threading.Event()
    read = quiescence.read_timers

    def timers(*arguments: Any, **options: Any) -> Any:
        found = read(*arguments, **options)
        asked.set()
        return found

    monkeypatch.setattr(quiescence, "read_timers", timers)
    ended: list[int] = []
    monkeypatch.setattr(waits.os, "kill", lambda process, _signal: ended.append(process))
    job = {"spec": {"template": {"spec": {**PODS["spec"], "restartPolicy": "Never"}}}}
    kube.create(workload("CronJob", namespace, schedule="* * * * *", jobTemplate=job))
    ender = WaitEnder(kube, CONTEXT, ["pods"], 120.0)
    with script(plane, tmp_path, f"kubectl -n {namespace} wait pod/a --for=create --timeout=600s; echo on") as running:
        ender.begin(running.pid)
        assert asked.wait(DEADLINE)
        assert ender.end() is not None
        assert ended == []

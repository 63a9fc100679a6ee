"""A plane that is taken back, as the proofs use it; what the plane itself promises is in tests/controlplane."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from devops_bench.clusters import kwok
from devops_bench.clusters.rewinding import mark, rewind
from devops_bench.errors import HarnessError, TransientError
from devops_bench.kube import KubeClient
from devops_bench.tasks.spec import ClusterNeeds

pytestmark = pytest.mark.kwok


def test_an_object_made_after_the_mark_is_gone_and_a_dead_plane_is_transient(kube: Path, root: Path) -> None:
    plane = kwok.boot(kube, root, ClusterNeeds(), obeys=True)
    try:
        assert plane.ready is not None
        assert not rewind(plane)  # nothing was marked
        mark(plane)
        with KubeClient.from_kubeconfig(plane.ready.admin) as client:
            note = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "note", "namespace": "default"}}
            client.apply(note, field_manager="test")
            assert rewind(plane)
            assert [item["metadata"]["name"] for item in client.list("configmaps", namespace="default")] == [
                "kube-root-ca.crt"
            ]
        os.kill(plane.pid, signal.SIGKILL)
        with pytest.raises(TransientError, match="control plane ended at 'rewind'"):
            rewind(plane)
    finally:
        plane.end(grace=0)


def test_a_plane_that_was_not_told_to_obey_takes_no_commands(kube: Path, root: Path) -> None:
    plane = kwok.boot(kube, root, ClusterNeeds())
    try:
        with pytest.raises(HarnessError, match="takes no commands"):
            mark(plane)
    finally:
        plane.end(grace=0)

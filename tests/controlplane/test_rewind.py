"""A control plane that is taken back to a marked state, and goes on from there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.controlplane.planes import DEADLINE, Plane, deployment, tell, until

pytestmark = pytest.mark.kwok


def state(plane: Plane) -> dict[str, Any]:
    """What the mark must bring back: everything but versions, by kind and name."""
    kinds = "deployments,replicasets,pods,services,endpointslices,configmaps,serviceaccounts,persistentvolumeclaims"
    items = plane.get(f"{kinds},namespaces,nodes,persistentvolumes,clusterroles", "--all-namespaces")["items"]
    for item in items:
        del item["metadata"]["resourceVersion"]
        for condition in item.get("status", {}).get("conditions", []):
            condition.pop("lastHeartbeatTime", None)
    return {f"{item['kind']} {item['metadata'].get('namespace')}/{item['metadata']['name']}": item for item in items}


def ready(plane: Plane, name: str, replicas: int) -> None:
    found = until(
        lambda: plane.get("deployment", name),
        lambda item: item["status"].get("availableReplicas") == item["status"].get("updatedReplicas") == replicas,
    )
    assert found["spec"]["replicas"] == replicas


def test_goes_back_again_and_again_and_its_controllers_work_on(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "disk"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    mounted = deployment("db", "postgres")
    mounted["spec"]["template"]["spec"]["volumes"] = [{"name": "d", "persistentVolumeClaim": {"claimName": "disk"}}]
    plane.apply(deployment("web", "nginx", replicas=3), mounted, claim)
    plane.kubectl("expose", "deployment", "web", "--port=80")
    plane.kubectl("create", "namespace", "side")
    plane.kubectl("create", "clusterrolebinding", "agent", "--clusterrole=cluster-admin", "--user=agent")
    ready(plane, "web", 3)
    ready(plane, "db", 1)
    before = state(plane)
    assert tell(plane, "mark")["ok"]
    for round in range(3):
        plane.kubectl("delete", "deployment,service", "web", user="agent")
        plane.kubectl("delete", "deployment/db", "pvc/disk", user="agent")
        plane.kubectl("delete", "namespace", "side", user="agent")
        plane.kubectl("label", "node", "node-1", f"round={round}", user="agent")
        plane.apply(deployment("new", "redis", replicas=2))
        ready(plane, "new", 2)
        assert any(event["verb"] == "delete" for event in plane.audit())
        assert tell(plane, "rewind")["ok"]
        assert plane.audit() == []
        after = state(plane)
        assert after.keys() == before.keys()
        assert after == before
    plane.kubectl("scale", "deployment", "web", "--replicas=5")
    plane.kubectl("set", "image", "deployment/web", "app=nginx:2")
    ready(plane, "web", 5)
    endpoints = until(lambda: plane.get("endpoints", "web"), lambda item: len(item["subsets"][0]["addresses"]) == 5)
    assert endpoints["metadata"]["name"] == "web"
    assert plane.end() == 0


def test_an_aggregated_api_that_is_down_is_no_hindrance(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    nobody = {"service": {"name": "metrics", "namespace": "default"}, "group": "metrics.example.com", "version": "v1"}
    plane.apply(
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1.metrics.example.com"},
            "spec": {**nobody, "groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": True},
        }
    )
    broken = "--for=condition=Available=false"
    plane.kubectl("wait", broken, "apiservice/v1.metrics.example.com", "--timeout=30s")
    assert tell(plane, "mark")["ok"]
    plane.kubectl("create", "configmap", "note")
    assert tell(plane, "rewind")["ok"]
    assert "not found" in plane.kubectl("get", "configmap", "note", check=False)


def test_an_unknown_command_ends_it_with_one_line(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    assert plane.process.stdin is not None
    assert plane.process.stderr is not None
    plane.process.stdin.write("forget\n")
    plane.process.stdin.flush()
    assert plane.process.wait(DEADLINE) == 1
    assert plane.process.stderr.read() == (
        'kube up: unknown command "forget" on standard input; mark and rewind are known\n'
    )
    assert not plane.dir.exists()

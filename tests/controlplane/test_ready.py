"""What the ready line promises, and what a fresh cluster looks like."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.controlplane.planes import Plane, listening, until

pytestmark = pytest.mark.kwok


def test_ready_line_says_where_everything_is(plane: Plane) -> None:
    ready = plane.ready
    assert ready["server"].startswith("https://127.0.0.1:")
    assert ready["pid"] == plane.process.pid
    assert ready["dir"] == str(plane.dir)
    assert set(ready["kubeconfigs"]) == {"admin", "agent", "agent-mcp"}
    assert Path(ready["audit_log"]).parent == plane.dir
    assert ready["nodes"] == 3
    assert 0 < ready["seconds"] < 120


def test_versions_are_those_of_the_running_server(plane: Plane) -> None:
    pins = json.loads(subprocess.run([plane.kube, "versions"], capture_output=True, check=True).stdout)
    assert set(pins) == {"kubernetes", "etcd", "kwok", "go"}
    server = json.loads(plane.kubectl("version", "-o", "json"))
    assert server["serverVersion"]["gitVersion"] == server["clientVersion"]["gitVersion"] == pins["kubernetes"]
    assert plane.ready["kubernetes"] == pins["kubernetes"]


def test_nodes_are_as_the_file_says_and_look_like_machines(plane: Plane) -> None:
    nodes = {node["metadata"]["name"]: node for node in plane.get("nodes")["items"]}
    assert set(nodes) == {"worker-0", "worker-1", "gpu-0"}
    assert nodes["worker-0"]["metadata"]["labels"]["topology.kubernetes.io/zone"] == "europe-west1-b"
    assert nodes["worker-0"]["metadata"]["labels"]["topology.kubernetes.io/region"] == "europe-west1"
    assert nodes["worker-0"]["status"]["capacity"]["cpu"] == "8"
    gpu = nodes["gpu-0"]
    assert gpu["status"]["capacity"]["nvidia.com/gpu"] == "2"
    assert gpu["status"]["allocatable"]["cpu"] == "15800m"
    assert [taint["key"] for taint in gpu["spec"]["taints"]] == ["nvidia.com/gpu"]
    text = json.dumps(list(nodes.values())).lower()
    assert not [word for word in ("kwok", "fake", "simulat", "devops-bench", "benchmark") if word in text]


def test_nothing_but_the_api_listens(plane: Plane) -> None:
    port = int(plane.ready["server"].rsplit(":", 1)[1])
    assert listening(plane.ready["pid"]) == [f"tcp 0100007F:{port:04X}"]
    assert Path(f"/proc/{plane.ready['pid']}/task/{plane.ready['pid']}/children").read_text() == ""


def test_directory_and_credentials_are_private(plane: Plane) -> None:
    assert stat.S_IMODE(plane.dir.stat().st_mode) == 0o700
    loose = [
        path
        for path in plane.dir.rglob("*")
        if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077 and "etcd" not in path.parts
    ]
    assert loose == []


def test_kubeconfigs_are_self_contained_and_neutral(plane: Plane) -> None:
    for user in ("admin", "agent", "agent-mcp"):
        text = Path(plane.ready["kubeconfigs"][user]).read_text()
        assert "certificate-authority-data" in text
        assert "client-key-data" in text
        assert str(plane.dir) not in text
        whoami = json.loads(plane.kubectl("auth", "whoami", "-o", "json", user=user))["status"]["userInfo"]
        assert whoami["username"] == user
        assert set(whoami["groups"]) == {"system:authenticated"} | ({"system:masters"} if user == "admin" else set())


def test_agents_may_do_nothing_until_somebody_lets_them(plane: Plane) -> None:
    for user in ("agent", "agent-mcp"):
        assert "no" in plane.kubectl("auth", "can-i", "get", "pods", user=user, check=False)
        assert "Forbidden" in plane.kubectl("get", "nodes", user=user, check=False)


def test_edit_role_is_complete_when_ready(plane: Plane) -> None:
    rules = plane.get("clusterrole", "edit")["rules"]
    assert any("deployments" in rule.get("resources", []) for rule in rules)


def test_default_namespace_has_account_and_certificate_bundle(plane: Plane) -> None:
    assert plane.get("serviceaccount", "default")["metadata"]["name"] == "default"
    until(lambda: plane.kubectl("get", "configmap", "-o", "name"), lambda names: "kube-root-ca.crt" in names)


def test_a_reader_without_a_certificate_is_turned_away(plane: Plane) -> None:
    import ssl
    import urllib.error
    import urllib.request

    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(plane.ready["server"] + "/readyz", context=context, timeout=30)
    assert refused.value.code == 401
    refused.value.close()


def test_heartbeats_name_the_node(plane: Plane) -> None:
    until(
        lambda: {lease["spec"]["holderIdentity"] for lease in plane.get("leases", "-n", "kube-node-lease")["items"]},
        lambda holders: holders == {"worker-0", "worker-1", "gpu-0"},
    )


def test_process_group_is_not_changed(plane: Plane) -> None:
    assert os.getpgid(plane.ready["pid"]) == os.getpgid(0)

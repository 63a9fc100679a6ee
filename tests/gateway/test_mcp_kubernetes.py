"""The default server, as installed, on a real API server: its work, its identity, and what it must not give away."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from devops_bench.agents import install
from devops_bench.clusters.base import Cluster
from devops_bench.gateway.mcp import McpGateway, default_server
from devops_bench.sandbox import SandboxMode
from tests.boxes import MakeBox, cluster, make_box, mode
from tests.gateway.mcp_parts import RelayPeer, SocketPeer

__all__ = ["cluster", "make_box", "mode"]
pytestmark = [pytest.mark.sandbox, pytest.mark.kwok]
MANIFEST = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: made, namespace: default}\ndata: {by: a tool}\n"


def gateway(mode: SandboxMode, cluster: Cluster, tmp_path: Path, argv: tuple[str, ...] | None = None) -> McpGateway:
    install.install("kubernetes-mcp-server", os.environ)
    argv = argv or default_server("kwok", os.environ)
    assert argv is not None
    return McpGateway(
        argv,
        mode=mode,
        folder=tmp_path / "state/mcp",
        kubeconfig=cluster.mcp_kubeconfig,
        record=tmp_path / "mcp.jsonl",
    )


def test_it_works_on_the_cluster_under_its_own_name(
    mode: SandboxMode, cluster: Cluster, make_box: MakeBox, tmp_path: Path
) -> None:
    assert cluster.audit_log is not None
    with gateway(mode, cluster, tmp_path) as made:
        box = make_box(mode, reach=(made.endpoint,), kubeconfig=cluster.agent_kubeconfig, kubectl=cluster.kubectl)
        grant = made.grant(box)
        assert {"pods_list", "resources_get", "resources_create_or_update", "events_list"} <= set(grant.tools)
        assert "configuration_view" not in grant.tools, "it prints the server's private key"
        with RelayPeer(box, grant) as client:
            client.hello()
            assert "created or updated" in client.text("resources_create_or_update", resource=MANIFEST)
            got = client.text("resources_get", apiVersion="v1", kind="ConfigMap", name="made", namespace="default")
            assert "by: a tool" in got
            denied = client.call("resources_list", apiVersion="v1", kind="Secret", namespace="kube-system")["result"]
            assert denied["isError"] is True and "forbidden" in denied["content"][0]["text"]
        shell = box.run(["kubectl", "get", "configmap", "made", "-n", "default", "-o", "name"], timeout=60)
        assert shell.text() == "configmap/made\n"
    assert [(call.tool, call.status.value) for call in made.calls()] == [
        ("resources_create_or_update", "ok"),
        ("resources_get", "ok"),
        ("resources_list", "error"),
    ]
    assert made.problem is None
    assert made.info()["sandbox"]["network"] == "closed"
    requests = [json.loads(line) for line in cluster.audit_log.read_text().splitlines()]
    by_user = {
        (one["user"]["username"], one["verb"], one["objectRef"]["name"])
        for one in requests
        if one.get("objectRef", {}).get("name") == "made"
    }
    assert ("agent-mcp", "patch", "made") in by_user
    assert ("agent", "get", "made") in by_user
    assert {user for user, verb, _name in by_user if verb in {"patch", "create", "update"}} == {"agent-mcp"}


def test_a_server_that_prints_its_key_is_not_heard(mode: SandboxMode, cluster: Cluster, tmp_path: Path) -> None:
    install.install("kubernetes-mcp-server", os.environ)
    default = default_server("kwok", os.environ) or ()
    argv = tuple("core,config" if word == "core" else word for word in default)
    with gateway(mode, cluster, tmp_path, argv) as made, SocketPeer(made.grant()) as client:
        client.hello()
        result = client.call("configuration_view", minified=False)["result"]
    assert result["isError"] is True
    assert "withheld" in result["content"][0]["text"]
    assert [call.status.value for call in made.calls()] == ["blocked"]

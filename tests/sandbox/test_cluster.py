"""An agent in the sandbox and a real API server: its requests arrive under its name, and nothing else of the plane is
there.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents import get
from devops_bench.clusters.base import Cluster
from devops_bench.sandbox import Sandbox, SandboxMode, SandboxSpec
from tests.boxes import task_for

pytestmark = [pytest.mark.sandbox, pytest.mark.kwok]


def test_an_agent_works_on_its_cluster_and_reaches_nothing_else_of_it(
    mode: SandboxMode, cluster: Cluster, tmp_path: Path
) -> None:
    assert cluster.directory is not None and cluster.admin_kubeconfig is not None and cluster.audit_log is not None
    script = tmp_path / "work.yaml"
    look = (
        f"cat {cluster.admin_kubeconfig} {cluster.audit_log}; ls {cluster.directory}; cat /proc/net/unix | tail -n +2"
    )
    calls = [
        {"tool": "kubectl", "args": {"args": "create configmap probe --from-literal=a=b -n default"}},
        {"tool": "bash", "args": {"command": "kubectl get configmap probe -n default -o jsonpath={.data.a}"}},
        {"tool": "bash", "args": {"command": "kubectl config set-context --current --namespace=kube-system"}},
        {"tool": "kubectl", "args": {"args": "create configmap other"}},
        {"tool": "bash", "args": {"command": look}},
    ]
    script.write_text(json.dumps(calls))
    spec = SandboxSpec(
        home=tmp_path / "attempt/home",
        workspace=tmp_path / "attempt/workspace",
        kubeconfig=cluster.agent_kubeconfig,
        kubectl=cluster.kubectl,
    )
    with Sandbox(mode, spec) as box:
        run = get("scripted").run(task_for(box, script=script))
        assert box.info()["network"] == "closed"
    made, read, moved, refused, seen = run.tool_calls
    assert made.result == "configmap/probe created\n"
    assert read.result == "b"
    assert moved.status.value == "ok"
    assert "forbidden" in refused.result.lower()
    assert "certificate-authority" not in seen.result and "etcd" not in seen.result.replace(str(cluster.directory), "")
    assert seen.result.count("No such file or directory") == 3

    requests = [json.loads(line) for line in cluster.audit_log.read_text().splitlines()]
    asked = [(one["verb"], one["objectRef"]["resource"]) for one in requests if "objectRef" in one]
    assert ("create", "configmaps") in asked and ("get", "configmaps") in asked
    assert {one["user"]["username"] for one in requests} == {"agent"}

"""MCP tools: whatever a server calls them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.guard import Rule, judge_tool
from tests.guard.commands import OWN

ALLOWED: list[tuple[str, dict[str, Any]]] = [
    ("pods_list", {"context": "other"}),
    ("pods_list_in_namespace", {"namespace": "shop"}),
    ("pods_log", {"name": "web", "context": "other"}),
    ("resources_get", {"apiVersion": "v1", "kind": "Pod", "name": "x"}),
    ("configuration_view", {"minified": True}),
    ("nodes_top", {}),
    ("pods_delete", {"name": "web", "namespace": "shop"}),
    ("pods_exec", {"name": "web", "command": ["ls", "/"]}),
    ("resources_create_or_update", {"resource": "kind: ConfigMap", "context": "agent"}),
    ("resources_scale", {"kind": "Deployment", "name": "own", "scale": 3}),
    ("resources_delete", {"name": "cluster-config", "kind": "ConfigMap"}),
    ("helm_install", {"chart": "x", "context": "agent"}),
    ("list_clusters", {"project_id": "other"}),
    ("get_cluster", {"name": "foreign"}),
    ("update_cluster", {"name": "projects/p/locations/l/clusters/own"}),
    ("update_node_pool", {"name": "projects/p/locations/l/clusters/own/nodePools/default"}),
    ("create_node_pool", {"parent": "projects/p/locations/l/clusters/own", "nodePool": {"name": "foreign"}}),
    ("apply_k8s_manifest", {"parent": "projects/p/locations/l/clusters/own", "yamlManifest": "kind: Pod"}),
    ("create_cluster_role_binding", {"name": "x"}),
    ("kubectl", {"args": "get pods --context other"}),
    ("run_kubectl", {"command": ["kubectl", "delete", "pod", "x"]}),
    ("execute_command", {"command": "ls -l; echo kubectl"}),
]
BLOCKED: list[tuple[Rule, str, dict[str, Any]]] = [
    (Rule.FOREIGN_TARGET, "pods_delete", {"name": "web", "context": "other"}),
    (Rule.FOREIGN_TARGET, "resources_delete", {"name": "x", "kubeContext": "other"}),
    (Rule.FOREIGN_TARGET, "helm_uninstall", {"name": "x", "kubeconfig": "/tmp/other.yaml"}),
    (Rule.FOREIGN_TARGET, "helm_install", {"chart": "x", "options": {"kube_context": "other"}}),
    (Rule.FOREIGN_TARGET, "resources_create_or_update", {"resource": "x", "server": "https://10.0.0.1"}),
    (Rule.FOREIGN_TARGET, "resources_scale", {"name": "x", "cluster": "foreign"}),
    (Rule.FOREIGN_TARGET, "apply_k8s_manifest", {"parent": "projects/p/locations/l/clusters/foreign"}),
    (Rule.FOREIGN_CLUSTER, "delete_cluster", {"name": "projects/p/locations/l/clusters/foreign"}),
    (Rule.FOREIGN_CLUSTER, "deleteCluster", {"clusterName": "foreign"}),
    (Rule.FOREIGN_CLUSTER, "clusters_upgrade", {"cluster_name": "foreign"}),
    (Rule.FOREIGN_CLUSTER, "update_cluster", {}),
    (Rule.FOREIGN_CLUSTER, "update_node_pool", {"name": "projects/p/locations/l/clusters/foreign/nodePools/own"}),
    (Rule.FOREIGN_CLUSTER, "create_node_pool", {"parent": "projects/p/locations/l/clusters/foreign"}),
    (Rule.NEW_CLUSTER, "create_cluster", {"name": "own"}),
    (Rule.NEW_CLUSTER, "createCluster", {"cluster": {"name": "own"}}),
    (Rule.FOREIGN_TARGET, "kubectl", {"args": "delete pod x --context other"}),
    (Rule.FOREIGN_TARGET, "kubectl_run", {"args": ["delete", "pod", "x", "--context=other"]}),
    (Rule.FOREIGN_CLUSTER, "run_gcloud_command", {"args": ["container", "clusters", "delete", "foreign"]}),
    (Rule.FOREIGN_CLUSTER, "execute_command", {"command": "cd /tmp && kind delete cluster --name foreign"}),
]


@pytest.mark.parametrize(("tool", "args"), ALLOWED)
def test_allowed(tool: str, args: dict[str, Any]) -> None:
    assert judge_tool("k8s", tool, args, OWN) is None


@pytest.mark.parametrize(("rule", "tool", "args"), BLOCKED)
def test_blocked(rule: Rule, tool: str, args: dict[str, Any]) -> None:
    found = judge_tool("k8s", tool, args, OWN)
    assert found is not None and found.rule is rule
    assert found.tool == f"k8s/{tool}"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)


@given(st.text(max_size=20), st.dictionaries(st.sampled_from(["context", "name", "args", "command"]), json_values))
def test_no_call_breaks_it(tool: str, args: dict[str, Any]) -> None:
    judge_tool("k8s", tool, args, OWN)

"""What the agent may and may not do in its cluster, asked of a real API server under the agent's own identity."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devops_bench.clusters import kwok, rbac
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.grants import grant_agent
from devops_bench.errors import TaskError
from devops_bench.kube import KubeClient, KubeForbidden
from devops_bench.tasks.spec import ClusterNeeds
from tests.kinds import custom_kind


def config_map(namespace: str, name: str = "note") -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


def namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


WIDGETS = custom_kind("Widget")


@pytest.fixture(scope="module")
def cluster(kube: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    root = tmp_path_factory.mktemp("state")
    provider = kwok.Kwok(kube, {**os.environ, "BENCH_RUN_STATE_ROOT": str(root)})
    cluster = provider.create("c00000aa-eval", ClusterNeeds(), root / "rid")
    yield cluster
    provider.destroy(cluster)


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[KubeClient]:
    assert cluster.admin_kubeconfig
    with KubeClient.from_kubeconfig(cluster.admin_kubeconfig) as client:
        yield client


@pytest.fixture(params=["agent", "agent-mcp"])
def agent(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[KubeClient]:
    path = cluster.agent_kubeconfig if request.param == "agent" else cluster.mcp_kubeconfig
    assert path
    with KubeClient.from_kubeconfig(path) as client:
        yield client


@pytest.mark.kwok
def test_by_default_the_agent_edits_its_namespaces_and_reads_the_rest(
    cluster: Cluster, admin: KubeClient, agent: KubeClient
) -> None:
    admin.apply(namespace("shop"))
    grant_agent(cluster, ClusterNeeds(), admin)
    for place in ("default", "shop"):
        agent.create(config_map(place), dry_run=True)
        assert isinstance(agent.list("Secret", place), list)
    for place in ("kube-system", "kube-public"):
        with pytest.raises(KubeForbidden):
            agent.create(config_map(place), dry_run=True)
        with pytest.raises(KubeForbidden):
            agent.list("Secret", place)
    for kind in ("Node", "PersistentVolume", "StorageClass", "PriorityClass", "CustomResourceDefinition", "APIService"):
        assert isinstance(agent.list(kind), list)
    for kind in ("ValidatingAdmissionPolicy", "ClusterRole", "Pod", "Event"):
        assert isinstance(agent.list(kind), list)
    with pytest.raises(KubeForbidden):
        agent.create(namespace("mine"), dry_run=True)
    with pytest.raises(KubeForbidden):
        agent.patch("Node", "node-0", {"spec": {"unschedulable": True}})
    with pytest.raises(KubeForbidden):
        agent.list("Secret")


@pytest.mark.kwok
def test_custom_kinds_and_namespaces_that_setup_made_are_covered_by_the_next_grant(
    cluster: Cluster, admin: KubeClient, agent: KubeClient
) -> None:
    grant_agent(cluster, ClusterNeeds(), admin)
    admin.apply(namespace("factory"))
    admin.apply(WIDGETS)
    for event, item in admin.watch("CustomResourceDefinition", deadline=deadline()):
        conditions = {c["type"]: c["status"] for c in (item.get("status") or {}).get("conditions") or []}
        if event != "BOOKMARK" and conditions.get("Established") == "True":
            break
    grant_agent(cluster, ClusterNeeds(), admin)
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "factory"}}
    agent.create(widget, dry_run=True)
    assert agent.list("Widget") == []


@pytest.mark.kwok
def test_a_tasks_role_replaces_the_default_and_the_next_one_replaces_it(
    cluster: Cluster, admin: KubeClient, agent: KubeClient
) -> None:
    grant_agent(cluster, ClusterNeeds(), admin)
    own = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch"]},
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"], "namespaces": ["kube-system"]},
        {"preset": "read", "namespaces": ["default"]},
    ]
    grant_agent(cluster, ClusterNeeds(agent_role=own), admin)
    agent.patch("Node", "node-0", {"metadata": {"labels": {"seen": "yes"}}})
    agent.create(config_map("kube-system"), dry_run=True)
    assert isinstance(agent.list("Pod", "default"), list)
    with pytest.raises(KubeForbidden):
        agent.list("Pod", "kube-system")
    with pytest.raises(KubeForbidden):
        agent.create(config_map("default"), dry_run=True)
    grant_agent(cluster, ClusterNeeds(agent_role=[{"preset": "edit", "namespaces": ["default"]}]), admin)
    agent.create(config_map("default"), dry_run=True)
    with pytest.raises(KubeForbidden):
        agent.patch("Node", "node-0", {"metadata": {"labels": {"seen": "no"}}})


@pytest.mark.kwok
def test_a_role_for_a_namespace_that_is_not_there_is_the_tasks_fault(cluster: Cluster, admin: KubeClient) -> None:
    role = [{"preset": "edit", "namespaces": ["nowhere"]}]
    with pytest.raises(TaskError, match="'nowhere', which does not exist"):
        grant_agent(cluster, ClusterNeeds(agent_role=role), admin)


@pytest.mark.kwok
def test_nothing_in_the_cluster_says_what_it_is_for(cluster: Cluster, admin: KubeClient) -> None:
    grant_agent(cluster, ClusterNeeds(), admin)
    for kind in (
        "Namespace",
        "Node",
        "ServiceAccount",
        *(f"{kind}.{rbac.GROUP}" for kind in ("Role", "ClusterRole", *rbac.BINDINGS)),
    ):
        for item in admin.list(kind):
            text = str(item).lower()
            assert not [word for word in ("bench", "eval", "kwok", "agent under") if word in text], item


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"verbs": ["get"]}, "neither a whole rule nor a preset"),
        ({"apiGroups": [""], "resources": ["pods"]}, "neither a whole rule nor a preset"),
        ({"preset": "root"}, "preset"),
        ({"preset": "read", "verbs": ["get"]}, "neither"),
        ({"apigroups": [""], "resources": ["pods"], "verbs": ["get"]}, "apigroups"),
        ({"apiGroups": "", "resources": ["pods"], "verbs": ["get"]}, "apiGroups"),
    ],
)
def test_a_wrong_role_is_one_line(item: dict[str, Any], message: str) -> None:
    with pytest.raises(TaskError, match=f"agent_role item 2.*{message}"):
        rbac.parse([{"preset": "default"}, item])


def deadline() -> Any:
    from devops_bench.kube import Deadline

    return Deadline.after(60)

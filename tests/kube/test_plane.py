"""The client against a real API server."""

from __future__ import annotations

import json
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.kube import (
    Deadline,
    KubeClient,
    KubeConflict,
    KubeDenied,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
    KubeUnknownKind,
)
from devops_bench.kube.session import StreamHandle
from tests.kinds import custom_kind

from .plane import Plane

pytestmark = pytest.mark.kwok
PATIENCE = 60.0  # seconds


@pytest.fixture
def kube(plane: Plane) -> Iterator[KubeClient]:
    with plane.client() as client:
        yield client


@pytest.fixture
def namespace(kube: KubeClient) -> Iterator[str]:
    name = f"t-{uuid.uuid4().hex[:8]}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kube.delete("namespace", name)


def config_map(name: str, **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"set": "x"}}, "data": data}


def test_objects_are_created_read_applied_patched_and_deleted(kube: KubeClient, namespace: str) -> None:
    made = kube.create(config_map("a", k="1"), namespace)
    assert made["metadata"]["uid"]
    with pytest.raises(KubeConflict):
        kube.create(config_map("a"), namespace)
    assert kube.apply(config_map("a", k="2"), namespace)["data"] == {"k": "2"}
    assert kube.patch("cm", "a", {"data": {"k": "3"}}, namespace)["data"] == {"k": "3"}
    assert kube.patch("cm", "a", [{"op": "remove", "path": "/data/k"}], namespace).get("data") is None
    assert kube.get("configmaps", "a", namespace)["metadata"]["uid"] == made["metadata"]["uid"]
    kube.delete("configmap", "a", namespace)
    with pytest.raises(KubeNotFound):
        kube.get("configmap", "a", namespace)
    kube.delete("configmap", "a", namespace)
    with pytest.raises(KubeNotFound):
        kube.delete("configmap", "a", namespace, missing_ok=False)


def test_a_list_takes_all_pages_and_names_each_objects_kind(
    kube: KubeClient, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devops_bench.kube import client

    monkeypatch.setattr(client, "PAGE", 3)
    for number in range(10):
        kube.create(config_map(f"c{number}"), namespace)
    found = kube.list("ConfigMap", namespace, "set=x")
    assert sorted(item["metadata"]["name"] for item in found) == [f"c{n}" for n in range(10)]
    assert {(item["apiVersion"], item["kind"]) for item in found} == {("v1", "ConfigMap")}
    assert len(kube.list_with_version("cm", namespace, limit=3).items) == 3


def test_a_name_cannot_change_the_path_of_a_request(kube: KubeClient, namespace: str) -> None:
    for name in ("../../pods", "a/b", "a?x=1", "a%2fb"):
        with pytest.raises((KubeNotFound, KubeInvalid)) as caught:
            kube.get("configmap", name, namespace)
        assert caught.value.status in {400, 404}


def test_an_unknown_kind_is_not_there_and_a_new_one_is_found_without_a_new_client(kube: KubeClient) -> None:
    with pytest.raises(KubeUnknownKind):
        kube.list("gizmos.example.com")
    group = f"g{uuid.uuid4().hex[:6]}.example.com"
    kube.create(custom_kind("Gizmo", group=group, scope="Cluster", shortNames=["gz"]))
    deadline = Deadline.after(PATIENCE)
    for event, crd in kube.watch("crd", deadline=deadline):
        conditions = (crd.get("status") or {}).get("conditions") or []
        if (
            event != "BOOKMARK"
            and crd["metadata"]["name"] == f"gizmos.{group}"
            and any(c["type"] == "Established" and c["status"] == "True" for c in conditions)
        ):
            break
    while True:
        try:
            assert kube.list(f"gizmo.{group}") == []
            break
        except KubeUnknownKind:
            assert not deadline.passed
    kube.delete("crd", f"gizmos.{group}")


def test_a_dry_run_stores_nothing_and_impersonation_asks_for_another(kube: KubeClient, namespace: str) -> None:
    assert kube.create(config_map("dry"), namespace, dry_run=True)["metadata"]["name"] == "dry"
    with pytest.raises(KubeNotFound):
        kube.get("configmap", "dry", namespace)
    with pytest.raises(KubeForbidden, match="cannot create"):
        kube.create(config_map("dry"), namespace, dry_run=True, as_user="nobody-known")
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q"},
        "spec": {"hard": {"count/secrets": "0"}},
    }
    kube.create(quota, namespace)
    for _, item in kube.watch("resourcequota", namespace, deadline=Deadline.after(PATIENCE)):
        if (item.get("status") or {}).get("hard"):
            break
    with pytest.raises(KubeDenied, match="exceeded quota"):
        kube.create({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}, namespace, dry_run=True)


def test_another_identity_is_forbidden(plane: Plane, namespace: str) -> None:
    with plane.client("agent") as agent, pytest.raises(KubeForbidden):
        agent.create(config_map("x"), namespace)


def test_a_watch_sees_a_change_and_can_be_closed_from_another_thread(kube: KubeClient, namespace: str) -> None:
    here = kube.list_with_version("cm", namespace, metadata_only=True, limit=1)
    kube.create(config_map("seen"), namespace)
    handle = StreamHandle()
    watch = kube.watch(
        "cm",
        namespace,
        resource_version=here.resource_version,
        metadata_only=True,
        deadline=Deadline.after(PATIENCE),
        opened=handle,
    )
    names = []
    for event, item in watch:
        if event == "ADDED":
            names.append(item["metadata"]["name"])
        if "seen" in names:
            break
    closer = threading.Timer(0.05, handle.close)
    closer.start()
    assert [kind for kind, _ in watch if kind != "BOOKMARK"] in ([], ["ADDED"])
    closer.join()


def test_a_frozen_api_server_is_unavailable_in_time_and_answers_again_after(plane: Plane) -> None:
    with plane.client(timeout=1.0) as kube:
        kube.list("pods")
        with plane.frozen():
            started = time.monotonic()
            with pytest.raises(KubeUnavailable):
                kube.list("pods")
            with pytest.raises(KubeUnavailable):
                kube.list("nodes", deadline=Deadline.after(0.5))
            with pytest.raises(KubeUnavailable):
                kube.resource("no-such-kind", deadline=Deadline.after(0.5))
            assert time.monotonic() - started < PATIENCE
        assert kube.list("nodes", deadline=Deadline.after(PATIENCE))


def test_a_login_plugin_is_served_through_kubectl(plane: Plane, tmp_path: Path) -> None:
    """The plugin hands out a service account's token; only kubectl runs it."""
    from devops_bench.kube.kubeconfig import _read

    admin = _read(plane.kubeconfigs["admin"])
    with plane.client() as kube:
        kube.apply(
            {
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding",
                "metadata": {"name": "plugin"},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
                "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "default"}],
            }
        )
        path = "/api/v1/namespaces/default/serviceaccounts/default/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = kube._http.json("POST", path, Deadline.after(PATIENCE), body=body)["status"]["token"]
    credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": {"token": token}}
    (tmp_path / "credential").write_text(json.dumps(credential))
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "cat",
        "args": [str(tmp_path / "credential")],
        "interactiveMode": "Never",
    }
    admin["users"] = [{"name": admin["users"][0]["name"], "user": {"exec": plugin}}]
    config = tmp_path / "config"
    config.write_text(json.dumps(admin))
    from .plane import binary

    client = KubeClient.from_kubeconfig(config, (str(binary()), "kubectl"), timeout=PATIENCE)
    socket = Path(client._proxy.socket)  # type: ignore[union-attr]
    with client:
        assert client.list("namespaces")
        assert socket.exists()
        assert socket.parent.stat().st_mode & 0o077 == 0
        with pytest.raises(KubeForbidden):
            client.create(config_map("x"))
    assert not socket.parent.exists()

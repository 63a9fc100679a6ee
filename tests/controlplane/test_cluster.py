"""What a task author may count on: the controllers, the admission plugins and the simulated faults."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.controlplane.planes import Plane, deployment, reasons, until
from tests.kinds import custom_kind

pytestmark = pytest.mark.kwok


@pytest.fixture
def space(plane: Plane) -> Iterator[str]:
    """A namespace of the test's own."""
    name = f"t-{uuid4().hex[:8]}"
    plane.kubectl("create", "namespace", name)
    until(lambda: plane.kubectl("-n", name, "get", "sa", "-o", "name"), lambda names: "default" in names)
    yield name
    plane.kubectl("delete", "namespace", name, "--wait=false")


def put(plane: Plane, space: str, *documents: dict[str, Any]) -> None:
    for document in documents:
        document.setdefault("metadata", {}).setdefault("namespace", space)
    plane.apply(*documents)


def pods(plane: Plane, space: str) -> list[dict[str, Any]]:
    return [pod for pod in plane.get("pods", "-n", space)["items"] if "deletionTimestamp" not in pod["metadata"]]


def ready(pod: dict[str, Any]) -> bool:
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", []))


def test_pods_run_on_nodes_with_addresses_of_their_own(plane: Plane, space: str) -> None:
    put(plane, space, deployment("web", "nginx:1.27", 4))
    plane.kubectl("-n", space, "rollout", "status", "deployment/web")
    found = pods(plane, space)
    assert len({pod["status"]["podIP"] for pod in found}) == 4
    assert {pod["spec"]["nodeName"] for pod in found} <= {"worker-0", "worker-1"}
    status = found[0]["status"]["containerStatuses"][0]
    assert status["imageID"].startswith("nginx@sha256:")
    assert status["containerID"].startswith("containerd://")


def test_image_pull_failure_lasts_until_the_image_is_another(plane: Plane, space: str) -> None:
    put(plane, space, deployment("web", "registry.example/web:missing", 2))
    until(lambda: reasons(pods(plane, space)), lambda found: found == {"ImagePullBackOff"})
    assert not any(ready(pod) for pod in pods(plane, space))
    time.sleep(1.5)  # long enough for the built-in stages to have taken the pods
    assert reasons(pods(plane, space)) == {"ImagePullBackOff"}
    sources = [(e["reason"], e["source"].get("component")) for e in plane.get("events", "-n", space)["items"]]
    assert ("Failed", "kubelet") in sources
    plane.kubectl("-n", space, "set", "image", "deployment/web", "app=registry.example/web:1.0")
    plane.kubectl("-n", space, "rollout", "status", "deployment/web")


def test_image_pull_failure_heals_in_place(plane: Plane, space: str) -> None:
    plane.kubectl("-n", space, "run", "solo", "--image=web:missing")
    until(lambda: reasons(pods(plane, space)), lambda found: found == {"ImagePullBackOff"})
    plane.kubectl("-n", space, "set", "image", "pod/solo", "solo=web:1.0")
    until(lambda: pods(plane, space), lambda found: ready(found[0]))
    assert reasons(pods(plane, space)) == {""}


def test_a_pod_that_fails_can_be_deleted(plane: Plane, space: str) -> None:
    plane.kubectl("-n", space, "run", "solo", "--image=web:missing")
    until(lambda: reasons(pods(plane, space)), lambda found: found == {"ImagePullBackOff"})
    plane.kubectl("-n", space, "delete", "pod", "solo", "--timeout=30s")


def test_a_failing_readiness_probe_keeps_pods_out_of_the_service(plane: Plane, space: str) -> None:
    probe = {"httpGet": {"port": 9999}}
    service: dict[str, Any] = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}}
    service["spec"] = {"selector": {"app": "web"}, "ports": [{"port": 80}]}
    put(plane, space, deployment("web", "nginx", 1, readinessProbe=probe), service)

    def endpoints() -> list[bool]:
        slices = plane.get("endpointslices", "-n", space)["items"]
        return [endpoint["conditions"]["ready"] for part in slices for endpoint in part.get("endpoints") or []]

    until(lambda: [pod["status"]["phase"] for pod in pods(plane, space)], lambda phases: phases == ["Running"])
    time.sleep(1.5)  # long enough for the built-in stages to have taken the pod
    assert not ready(pods(plane, space)[0])
    assert True not in endpoints()
    put(plane, space, deployment("web", "nginx", 1, readinessProbe={"httpGet": {"port": 80}}))
    plane.kubectl("-n", space, "rollout", "status", "deployment/web")
    until(endpoints, lambda found: True in found)


def test_a_node_that_is_down_stays_down_and_comes_back(plane: Plane) -> None:
    def conditions() -> dict[str, str]:
        return {c["type"]: c["status"] for c in plane.get("node", "gpu-0")["status"]["conditions"]}

    plane.kubectl("label", "node", "gpu-0", "power=off")
    until(conditions, lambda found: found["Ready"] == "False")
    time.sleep(1.0)  # long enough for the built-in stage to have healed it
    assert conditions()["Ready"] == "False"
    until(
        lambda: plane.kubectl("get", "node", "gpu-0", "-o", "yaml"), lambda text: "node.kubernetes.io/not-ready" in text
    )
    plane.kubectl("label", "node", "gpu-0", "power-")
    until(conditions, lambda found: found["Ready"] == "True")


def test_jobs_complete_and_cron_jobs_make_them(plane: Plane, space: str) -> None:
    plane.kubectl("-n", space, "create", "job", "once", "--image=busybox")
    plane.kubectl("-n", space, "wait", "--for=condition=complete", "job/once", "--timeout=30s")
    plane.kubectl("-n", space, "create", "cronjob", "often", "--image=busybox", "--schedule=* * * * *")
    plane.kubectl("-n", space, "create", "job", "now", "--from=cronjob/often")
    plane.kubectl("-n", space, "wait", "--for=condition=complete", "job/now", "--timeout=30s")


def test_stateful_and_daemon_sets_roll_out(plane: Plane, space: str) -> None:
    stateful, daemons = deployment("db", "postgres", 2), deployment("agent", "agent")
    stateful["kind"], daemons["kind"] = "StatefulSet", "DaemonSet"
    stateful["spec"]["serviceName"] = "db"
    del daemons["spec"]["replicas"]
    put(plane, space, stateful, daemons)
    plane.kubectl("-n", space, "rollout", "status", "statefulset/db")
    plane.kubectl("-n", space, "rollout", "status", "daemonset/agent")
    assert {"db-0", "db-1"} <= {pod["metadata"]["name"] for pod in pods(plane, space)}


def claim(name: str, storage_class: str | None = None) -> dict[str, Any]:
    spec: dict[str, Any] = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage_class is not None:
        spec["storageClassName"] = storage_class
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def test_volumes_appear_for_the_first_pod_grow_and_go(plane: Plane, space: str) -> None:
    mount = {"volumeMounts": [{"name": "data", "mountPath": "/data"}]}
    stateful = deployment("db", "postgres", 1, **mount)
    stateful["kind"] = "StatefulSet"
    stateful["spec"]["volumeClaimTemplates"] = [{**claim("data"), "metadata": {"name": "data"}}]
    put(plane, space, stateful, claim("idle"), claim("strange", "no-such-class"))
    plane.kubectl("-n", space, "rollout", "status", "statefulset/db")

    def phases() -> dict[str, str]:
        return {each["metadata"]["name"]: each["status"]["phase"] for each in plane.get("pvc", "-n", space)["items"]}

    until(phases, lambda found: found == {"data-db-0": "Bound", "idle": "Pending", "strange": "Pending"})
    volume = plane.get("pvc", "data-db-0", "-n", space)["spec"]["volumeName"]
    bigger = '{"spec":{"resources":{"requests":{"storage":"5Gi"}}}}'
    plane.kubectl("-n", space, "patch", "pvc", "data-db-0", "-p", bigger)
    until(
        lambda: plane.get("pvc", "data-db-0", "-n", space)["status"]["capacity"]["storage"],
        lambda size: size == "5Gi",
    )
    assert plane.get("pv", volume)["spec"]["capacity"]["storage"] == "5Gi"
    plane.kubectl("-n", space, "delete", "statefulset/db", "pvc/data-db-0")
    until(lambda: plane.kubectl("get", "pv", "-o", "name"), lambda names: volume not in names)


def test_owned_objects_go_with_their_owner(plane: Plane, space: str) -> None:
    put(plane, space, deployment("web", "nginx", 2))
    plane.kubectl("-n", space, "rollout", "status", "deployment/web")
    plane.kubectl("-n", space, "delete", "deployment", "web", "--cascade=foreground")
    until(lambda: plane.kubectl("-n", space, "get", "rs,pods", "-o", "name"), lambda names: names == "")


def test_quota_is_enforced_and_counted(plane: Plane, space: str) -> None:
    plane.kubectl("-n", space, "create", "quota", "small", "--hard=pods=1")
    until(
        lambda: plane.get("quota", "small", "-n", space).get("status", {}).get("used"),
        lambda used: used == {"pods": "0"},
    )
    plane.kubectl("-n", space, "run", "one", "--image=nginx")
    assert "exceeded quota" in plane.kubectl("-n", space, "run", "two", "--image=nginx", check=False)
    until(lambda: plane.get("quota", "small", "-n", space)["status"]["used"]["pods"], lambda used: used == "1")


def test_limit_ranges_pod_security_and_admission_policies_hold(plane: Plane, space: str) -> None:
    limits = {"limits": [{"type": "Container", "default": {"memory": "64Mi"}}]}
    put(plane, space, {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "l"}, "spec": limits})
    plane.kubectl("-n", space, "run", "one", "--image=nginx")
    assert pods(plane, space)[0]["spec"]["containers"][0]["resources"]["limits"] == {"memory": "64Mi"}
    plane.kubectl("label", "namespace", space, "pod-security.kubernetes.io/enforce=restricted")
    assert "violates PodSecurity" in plane.kubectl("-n", space, "run", "two", "--image=nginx", check=False)

    admission = "admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    where = {"matchLabels": {"kubernetes.io/metadata.name": space}}
    plane.apply(
        {"apiVersion": admission, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": space},
         "spec": {"matchConstraints": {"resourceRules": rules},
                  "validations": [{"expression": "object.metadata.name != 'bad'"}]}},
        {"apiVersion": admission, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": space},
         "spec": {"policyName": space, "validationActions": ["Deny"], "matchResources": {"namespaceSelector": where}}},
    )  # fmt: skip
    until(
        lambda: plane.kubectl("-n", space, "create", "configmap", "bad", "--dry-run=server", check=False),
        lambda said: "failed expression" in said,
    )
    until(lambda: plane.get("validatingadmissionpolicy", space)["status"], lambda status: "typeChecking" in status)
    plane.kubectl("delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", space)


def test_disruption_budgets_stop_evictions(plane: Plane, space: str) -> None:
    put(plane, space, deployment("web", "nginx", 1))
    plane.kubectl("-n", space, "rollout", "status", "deployment/web")
    plane.kubectl("-n", space, "create", "pdb", "web", "--selector=app=web", "--min-available=1")
    until(lambda: plane.get("pdb", "web", "-n", space)["status"].get("currentHealthy"), lambda healthy: healthy == 1)
    name = pods(plane, space)[0]["metadata"]["name"]
    eviction = f'{{"apiVersion":"policy/v1","kind":"Eviction","metadata":{{"name":"{name}","namespace":"{space}"}}}}'
    path = f"/api/v1/namespaces/{space}/pods/{name}/eviction"
    assert "disruption budget" in plane.kubectl("create", "--raw", path, "-f", "-", stdin=eviction, check=False)


def test_custom_resources_can_be_defined_and_used(plane: Plane, space: str) -> None:
    plane.apply(custom_kind("Widget"))
    plane.kubectl("wait", "--for=condition=established", "crd/widgets.example.com", "--timeout=30s")
    put(
        plane, space, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 3}}
    )
    assert plane.get("widgets", "w", "-n", space)["spec"] == {"size": 3}
    plane.kubectl("delete", "crd", "widgets.example.com")


def test_the_api_server_reaches_no_network(plane: Plane, space: str) -> None:
    """A user of the cluster must not reach this host's network through proxies, logs or webhooks."""
    plane.kubectl("-n", space, "run", "solo", "--image=nginx")
    until(lambda: pods(plane, space), lambda found: ready(found[0]))
    assert "no route to host" in plane.kubectl("-n", space, "logs", "solo", check=False)
    assert "no route to host" in plane.kubectl(
        "get", "--raw", f"/api/v1/namespaces/{space}/pods/solo:8080/proxy/", check=False
    )
    config = {"url": "https://192.0.2.1/hook"}
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    hook = {
        "name": "hook.example.com",
        "clientConfig": config,
        "rules": rules,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": space}},
    }
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    plane.apply({**kind, "metadata": {"name": space}, "webhooks": [hook]})
    said = until(
        lambda: plane.kubectl("-n", space, "create", "configmap", "x", "--dry-run=server", check=False),
        lambda text: "created" not in text,
    )
    assert "no route to host" in said
    plane.kubectl("delete", "validatingwebhookconfiguration", space)


def test_namespaces_can_be_deleted(plane: Plane) -> None:
    plane.kubectl("create", "namespace", "gone")
    put(plane, "gone", deployment("web", "nginx", 2))
    plane.kubectl("delete", "namespace", "gone", "--timeout=50s")


def test_certificates_are_signed_for_those_who_are_approved(plane: Plane) -> None:
    from base64 import b64encode

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "carol")])
    request = (
        x509.CertificateSigningRequestBuilder()
        .subject_name(name)
        .sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    )
    encoded = b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()
    spec = {"request": encoded, "signerName": "kubernetes.io/kube-apiserver-client", "usages": ["client auth"]}
    plane.apply(
        {
            "apiVersion": "certificates.k8s.io/v1",
            "kind": "CertificateSigningRequest",
            "metadata": {"name": "carol"},
            "spec": spec,
        }
    )
    plane.kubectl("certificate", "approve", "carol")
    until(lambda: plane.get("csr", "carol")["status"].get("certificate"), bool)

"""Checks on behaviour against a real API server: connections, rights, and whether a workload's next pod is admitted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from devops_bench.kube import KubeClient
from devops_bench.verification import Status, VerifyContext, assert_once, take_baseline

from .builders import entry
from .test_cluster_checks import PATIENT, deployment, statuses

pytestmark = pytest.mark.kwok
PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR


def seen(kube: KubeClient, namespace: str, *wanted: Any) -> None:
    """Wait for what the controllers make of the objects."""
    from devops_bench.verification import verify

    found = verify(list(wanted), [], VerifyContext(kube=kube, namespace=namespace, limits=PATIENT))
    assert [item.status for item in found] == [PASS] * len(wanted), [item.verdict.reason for item in found]


@pytest.fixture
def web(kube: KubeClient, namespace: str) -> Iterator[VerifyContext]:
    """web and api, a Service for api on port 80, default deny, api open to web on its port."""
    for name in ("web", "api"):
        item = deployment(name, 2)
        item["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"name": "http", "containerPort": 8080}]
        kube.create(item, namespace)
    service = {"selector": {"app": "api"}, "ports": [{"name": "main", "port": 80, "targetPort": "http"}]}
    kube.create({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "api"}, "spec": service}, namespace)
    for name, spec in {
        "deny": {"podSelector": {}, "policyTypes": ["Ingress"]},
        "api": {
            "podSelector": {"matchLabels": {"app": "api"}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": {"app": "web"}}}], "ports": [{"port": "http"}]}],
        },
    }.items():
        kube.create(
            {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec},
            namespace,
        )
    seen(
        kube, namespace,
        entry("web", "scaling_complete", deployment="web"),
        entry("slices", "resource_property", kind="EndpointSlice", selector="kubernetes.io/service-name=api",
              path="endpoints[1].conditions.ready", op="eq", value=True),
    )  # fmt: skip
    yield VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)


def test_connections_between_pods_services_imagined_pods_and_addresses(web: VerifyContext) -> None:
    ns = web.namespace
    source = {"namespace": ns, "selector": "app=web"}
    table = [
        ({"source": source, "target": {"namespace": ns, "selector": "app=api"}, "port": 8080}, PASS),
        ({"source": source, "target": {"namespace": ns, "selector": "app=api"}, "port": "http"}, PASS),
        ({"source": source, "target": {"namespace": ns, "service": "api"}, "port": 80}, PASS),
        ({"source": source, "target": {"namespace": ns, "service": "api"}, "port": "main"}, PASS),
        ({"source": source, "target": {"namespace": ns, "service": "api"}, "port": 80, "allowed": False}, FAIL),
        ({"source": source, "target": {"namespace": ns, "selector": "app=api"}, "port": 9090, "allowed": False}, PASS),
        ({"source": source, "target": {"namespace": ns, "selector": "app=web"}, "port": 8080}, FAIL),
        ({"source": {"namespace": ns, "labels": {"app": "new"}}, "target": {"namespace": ns, "service": "api"},
          "port": 80, "allowed": False}, PASS),
        ({"source": {"namespace": ns, "labels": {"app": "web"}}, "target": {"namespace": ns, "service": "api"},
          "port": 80}, PASS),
        ({"source": {"namespace": "default", "labels": {"app": "web"}}, "target": {"namespace": ns, "service": "api"},
          "port": 80, "allowed": False}, PASS),
        ({"source": {"address": "203.0.113.7"}, "target": {"namespace": ns, "service": "api"}, "port": 80,
          "allowed": False}, PASS),
        ({"source": source, "target": {"address": "203.0.113.7"}, "port": 443}, PASS),
        # nothing there is never well isolated
        ({"source": {"namespace": ns, "selector": "app=gone"}, "target": {"namespace": ns, "service": "api"},
          "port": 80, "allowed": False}, FAIL),
        ({"source": source, "target": {"namespace": ns, "service": "gone"}, "port": 80, "allowed": False}, FAIL),
        ({"source": source, "target": {"namespace": ns, "service": "api"}, "port": 81, "allowed": False}, FAIL),
        ({"source": source, "target": {"namespace": ns, "selector": "app=api"}, "port": "grpc"}, FAIL),
        ({"source": {"namespace": "gone", "labels": {}}, "target": {"namespace": ns, "service": "api"}, "port": 80},
         FAIL),
    ]  # fmt: skip
    entries = [entry(f"row {number}", "reachable", **fields) for number, (fields, _) in enumerate(table)]
    found = assert_once(entries, web)
    assert [(item.name, item.status) for item in found] == [
        (f"row {number}", status) for number, (_, status) in enumerate(table)
    ], [item.verdict.reason for item in found]


def test_a_service_without_ready_endpoints_is_not_reached(kube: KubeClient, web: VerifyContext) -> None:
    reach = entry("reach", "reachable", source={"namespace": web.namespace, "selector": "app=web"},
                  target={"namespace": web.namespace, "service": "api"}, port=80)  # fmt: skip
    assert statuses(web, reach) == [PASS]
    kube.patch("services", "api", {"spec": {"selector": {"app": "nobody"}}}, web.namespace)
    seen(
        kube, web.namespace,
        entry("gone", "resource_property", kind="EndpointSlice", selector="kubernetes.io/service-name=api",
              path="endpoints[0]", op="absent"),
    )  # fmt: skip
    assert statuses(web, reach) == [FAIL]


def role(kube: KubeClient, namespace: str, name: str, rules: list[dict[str, Any]], subject: dict[str, Any]) -> None:
    api = "rbac.authorization.k8s.io/v1"
    kube.create({"apiVersion": api, "kind": "Role", "metadata": {"name": name}, "rules": rules}, namespace)
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    kube.create(
        {"apiVersion": api, "kind": "RoleBinding", "metadata": {"name": name}, "subjects": [subject], "roleRef": ref},
        namespace,
    )


def test_rights_are_asked_of_the_authorizer_request_by_request(kube: KubeClient, namespace: str) -> None:
    rules = [
        {"apiGroups": ["apps"], "resources": ["deployments", "deployments/scale"], "verbs": ["get", "patch"]},
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["own"], "verbs": ["get"]},
    ]
    role(kube, namespace, "runner", rules, {"kind": "ServiceAccount", "name": "runner", "namespace": namespace})
    group = {"kind": "Group", "apiGroup": "rbac.authorization.k8s.io", "name": f"system:serviceaccounts:{namespace}"}
    role(kube, namespace, "all", [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}], group)
    user = f"system:serviceaccount:{namespace}:runner"

    def ask(**fields: Any) -> dict[str, Any]:
        return {"verbs": ["get"], "resources": ["deployments.apps"], "namespace": namespace, **fields}

    table: list[tuple[dict[str, Any], Status]] = [
        ({"can": [ask(verbs=["get", "patch"], resources=["deployments.apps", "deployments.apps/scale"])]}, PASS),
        ({"can": [ask(verbs=["get", "delete"])]}, FAIL),
        ({"can": [ask(resources=["deployments"])]}, FAIL),
        ({"can": [ask(namespace="default")]}, FAIL),
        ({"can": [ask()], "cannot": [ask(namespace="default"), ask(verbs=["delete"])]}, PASS),
        ({"cannot": [{"verbs": ["get"], "resources": ["deployments.apps"]}]}, PASS),
        ({"cannot": [ask()]}, FAIL),
        ({"can": [ask(resources=["secrets"], names=["own"])], "cannot": [ask(resources=["secrets"])]}, PASS),
        ({"cannot": [ask(resources=["secrets"], names=["own", "other"])]}, FAIL),
        ({"can": [ask(verbs=["list"], resources=["pods"])]}, PASS),  # by its group
        ({"cannot": [ask(verbs=["*"], resources=["*"])]}, PASS),
        ({"can": [ask(names=[str(n) for n in range(500)])]}, ERROR),
    ]
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    entries = [entry(f"row {n}", "access", user=user, **fields) for n, (fields, _) in enumerate(table)]
    found = assert_once(entries, context)
    assert [item.status for item in found] == [status for _, status in table], [i.verdict.reason for i in found]
    admin = entry("admin", "access", user="root", groups=["system:masters"], cannot=[ask(verbs=["*"], resources=["*"])])
    assert statuses(context, admin) == [FAIL]


def test_the_next_pod_of_a_workload_is_asked_about_without_making_it(kube: KubeClient, namespace: str) -> None:
    kube.create(deployment("web"), namespace)
    job = {"spec": {"template": {"spec": {**deployment("x")["spec"]["template"]["spec"], "restartPolicy": "Never"}}}}
    kube.create(
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly"},
         "spec": {"schedule": "0 3 * * *", "jobTemplate": job}}, namespace,
    )  # fmt: skip
    kube.create(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}},
        namespace,
    )
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    seen(kube, namespace, entry("web", "scaling_complete", deployment="web"))

    def of(kind: str, name: str, **fields: Any) -> Any:
        return entry(f"{kind} {name}", "dry_run", template_of={"kind": kind, "resource_name": name}, **fields)

    both = [of("Deployment", "web"), of("CronJob", "nightly"), of("Deployment", "gone"), of("Service", "web")]
    assert statuses(context, *both) == [PASS, PASS, FAIL, ERROR]
    before = {item["metadata"]["name"] for item in kube.list("pods", namespace)}
    kube.patch("namespaces", namespace, {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}})
    assert statuses(context, *both[:2]) == [FAIL, FAIL]
    denied = of("Deployment", "web", allowed=False, message_matches="PodSecurity")
    assert statuses(context, denied) == [PASS]
    assert {item["metadata"]["name"] for item in kube.list("pods", namespace)} == before
    assert take_baseline([both[0]], context).knew_kind("Deployment")


def test_a_change_to_an_object_is_asked_about_without_making_it(kube: KubeClient, namespace: str) -> None:
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "immutable": True,
                 "data": {"a": "1"}}, namespace)  # fmt: skip
    change = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '2'}\n"
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    nobody = entry("n", "dry_run", manifest=change, operation="apply", as_user="nobody", allowed=False)
    assert statuses(context, nobody) == [PASS]
    fresh = entry("f", "dry_run", manifest=change.replace("name: c", "name: d"), operation="apply")
    assert statuses(context, fresh) == [PASS]
    assert kube.get("configmaps", "c", namespace)["data"] == {"a": "1"}
    assert {item["metadata"]["name"] for item in kube.list("configmaps", namespace)} >= {"c"}


def test_a_change_that_names_one_field_leaves_the_others_of_an_object_that_setup_applied(
    kube: KubeClient, namespace: str
) -> None:
    labels = {"app": "web"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
    kube.apply({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
                "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": pod}}, namespace)  # fmt: skip
    change = "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, annotations: {changed: now}}}"
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    assert statuses(context, entry("n", "dry_run", manifest=change, operation="apply")) == [PASS]

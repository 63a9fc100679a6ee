"""Every cluster check against a real API server."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeClient
from devops_bench.verification import Baseline, HoldSampler, Status, VerifyContext, assert_once, take_baseline, verify
from tests.kube.plane import Plane

from .builders import LIMITS, entry

pytestmark = pytest.mark.kwok
PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
PATIENT = replace(LIMITS, converge=90, total=200, call=20, once=40)


def deployment(
    name: str, replicas: int = 1, *, limits: tuple[str | None, ...] = ("100m",), **template: Any
) -> dict[str, Any]:
    containers = [
        {
            "name": f"c{n}",
            "image": "registry.example.com/app:1",
            **({"resources": {"limits": {"cpu": cpu}}} if cpu else {}),
        }
        for n, cpu in enumerate(limits)
    ]
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **template}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod},
    }


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def statuses(context: VerifyContext, *entries: Any) -> list[Status]:
    return [result.status for result in assert_once(list(entries), context)]


def test_every_container_must_have_the_limit_on_the_real_api_too(kube: KubeClient, namespace: str) -> None:
    kube.create(deployment("good", limits=("100m", "0.2")), namespace)
    kube.create(deployment("bad", limits=("100m", None)), namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    fields = {
        "kind": "Deployment",
        "path": "spec.template.spec.containers[*].resources.limits.cpu",
        "op": "lte",
        "value": "200m",
        "across_matches": "every",
    }
    assert statuses(context, entry("good", "resource_property", resource_name="good", **fields)) == [PASS]
    assert statuses(context, entry("bad", "resource_property", resource_name="bad", **fields)) == [FAIL]
    assert statuses(context, entry("all", "resource_property", **fields)) == [FAIL]


def test_objects_are_found_by_name_selector_kind_and_namespace(kube: KubeClient, namespace: str) -> None:
    own = f"web-{namespace}"  # other tests have a web of theirs in this cluster
    kube.create(deployment(own, 2), namespace)
    context = VerifyContext(kube=kube, namespace="default", limits=PATIENT)
    base = {"path": "spec.replicas", "op": "eq", "value": 2}
    table = [
        ({"kind": "deploy", "resource_name": own, "namespace": namespace}, PASS),
        ({"kind": "deployments.apps", "selector": f"app in ({own})", "namespace": namespace}, PASS),
        ({"kind": "Deployment", "namespace": namespace}, PASS),
        ({"kind": "Deployment", "selector": f"app={own},app!={namespace}", "namespace": "*"}, PASS),
        ({"kind": "Deployment", "resource_name": own}, FAIL),
        ({"kind": "Deployment", "resource_name": "gone", "namespace": namespace}, FAIL),
        ({"kind": "Deployment", "selector": "a b", "namespace": namespace}, ERROR),
        ({"kind": "Namespace", "resource_name": namespace, "path": "status.phase", "value": "Active"}, PASS),
        ({"kind": "Namespace", "resource_name": "gone", "path": None, "op": "absent"}, PASS),
    ]
    entries = [entry(str(n), "resource_property", **{**base, **fields}) for n, (fields, _) in enumerate(table)]
    assert statuses(context, *entries) == [expected for _, expected in table]


def test_a_kind_that_is_not_served_has_no_objects_but_is_never_taken_for_a_proof(
    kube: KubeClient, namespace: str
) -> None:
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    exists = entry("e", "resource_property", kind="Gizmo", resource_name="x")
    absent = entry("a", "resource_property", kind="Gizmo", op="absent")
    assert statuses(context, exists, absent) == [FAIL, ERROR]
    knew = replace(context, baseline=Baseline(kinds=frozenset({"gizmo"})))
    assert statuses(knew, exists, absent) == [FAIL, PASS]


def test_what_this_identity_may_not_read_is_an_error(plane: Plane, namespace: str) -> None:
    with plane.client("agent") as agent:
        context = VerifyContext(kube=agent, namespace=namespace, limits=PATIENT)
        assert statuses(
            context,
            entry("s", "resource_property", kind="Secret", op="absent"),
            entry("p", "pod_healthy", selector="a=b"),
        ) == [ERROR, ERROR]


def test_without_a_cluster_a_cluster_check_is_an_error() -> None:
    context = VerifyContext(limits=PATIENT)
    kinds = [
        ("resource_property", {"kind": "Pod"}),
        ("pod_healthy", {"selector": "a=b"}),
        ("scaling_complete", {"deployment": "x"}),
        ("dry_run", {"manifest": "{}"}),
        ("audit", {}),
        ("http_probe", {"url": "http://x"}),
        ("pod_exec", {"command": ["x"]}),
    ]
    assert set(statuses(context, *(entry(kind, kind, **fields) for kind, fields in kinds))) == {ERROR}


def test_a_workload_is_healthy_when_its_pods_are_and_its_rollout_is_complete(kube: KubeClient, namespace: str) -> None:
    kube.create(deployment("web", 3), namespace)
    kube.create(deployment("lost", 1, nodeSelector={"no": "node"}), namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    entries = [
        entry("healthy", "pod_healthy", selector="app=web"),
        entry("scaled", "scaling_complete", deployment="web", min_replicas=3, max_replicas=3),
        entry("too few", "scaling_complete", deployment="web", min_replicas=4),
        entry("too many", "scaling_complete", deployment="web", max_replicas=2),
        entry("none", "pod_healthy", selector="app=nothing"),
        entry("lost", "pod_healthy", selector="app=lost"),
        entry("lost-scaled", "scaling_complete", deployment="lost"),
    ]
    results = verify(entries, [], context, None)
    assert [r.status for r in results] == [PASS, PASS, FAIL, FAIL, FAIL, FAIL, FAIL]
    assert "not scheduled" in results[5].verdict.reason


def test_scaling_to_zero_or_deleting_is_not_healthy(kube: KubeClient, namespace: str) -> None:
    kube.create(deployment("web", 0), namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    entries = [entry("h", "pod_healthy", selector="app=web"), entry("s", "scaling_complete", deployment="web")]
    assert [r.status for r in verify(entries, [], context, None)] == [FAIL, FAIL]


def test_an_object_made_anew_under_its_name_is_not_the_original(kube: KubeClient, namespace: str) -> None:
    for name in ("kept", "remade", "deleted"):
        kube.create(config_map(name), namespace)
    plain = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    entries = [
        entry(name, "identity_preserved", kind="ConfigMap", resource_name=name)
        for name in ("kept", "remade", "deleted", "never")
    ]
    baseline = take_baseline(entries, plain)
    assert Baseline.from_data(baseline.as_data()) == baseline
    context = replace(plain, baseline=baseline)
    original = kube.get("configmap", "remade", namespace)["metadata"]
    assert statuses(context, *entries) == [PASS, PASS, PASS, ERROR]
    for name in ("remade", "deleted"):
        kube.delete("configmap", name, namespace)
    copy = config_map("remade")
    # The agent forges what setup would have written; the baseline is not impressed.
    copy["metadata"]["annotations"] = {
        "devops-bench.io/original-uid": original["uid"],
        "devops-bench.io/original-creation-timestamp": original["creationTimestamp"],
    }
    forged = kube.create(copy, namespace)
    assert statuses(context, *entries) == [PASS, FAIL, FAIL, ERROR]
    kube.patch(
        "configmap",
        "remade",
        {"metadata": {"annotations": {"devops-bench.io/original-uid": forged["metadata"]["uid"]}}},
        namespace,
    )
    assert statuses(context, entries[1]) == [FAIL]
    assert statuses(plain, entries[0]) == [ERROR], "neither baseline nor annotation"


def test_annotations_serve_where_no_baseline_was_taken(kube: KubeClient, namespace: str) -> None:
    made = kube.create(config_map("a"), namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    look = entry("a", "identity_preserved", kind="ConfigMap", resource_name="a", uid_annotation_key="x.io/uid")
    kube.patch("configmap", "a", {"metadata": {"annotations": {"x.io/uid": made["metadata"]["uid"]}}}, namespace)
    assert statuses(context, look) == [PASS]
    kube.patch("configmap", "a", {"metadata": {"annotations": {"x.io/uid": "another"}}}, namespace)
    assert statuses(context, look) == [FAIL]


def admission_policy(name: str, namespace: str) -> list[dict[str, Any]]:
    """Denies ConfigMaps whose data has the key `bad`, in one namespace."""
    api = "admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    validations = [{"expression": "!has(object.data) || !('bad' in object.data)", "message": "no bad keys here"}]
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    return [
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": name},
            "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": rules}, "validations": validations},
        },
        {
            "apiVersion": api,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": name},
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": selector},
            },
        },
    ]


def test_what_was_changed_last_in_admission_is_in_use_when_it_is_judged(kube: KubeClient, namespace: str) -> None:
    name = f"p-{uuid.uuid4().hex[:8]}"
    policy, binding = admission_policy(name, namespace)
    kube.create(policy)
    kube.create(binding)
    try:
        context = VerifyContext(kube=kube, namespace=namespace, limits=replace(PATIENT, quiescence=0.5))
        bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {bad: '1'}\n"
        denied = entry("denied", "dry_run", manifest=bad, allowed=False)
        assert verify([denied], [], context, None)[0].status is PASS
        kube.delete("validatingadmissionpolicybinding", name)
        assert verify([denied], [], context, None)[0].status is FAIL
    finally:
        kube.delete("validatingadmissionpolicy", name)


def test_what_was_changed_last_in_admission_breaks_a_hold(kube: KubeClient, namespace: str) -> None:
    name = f"p-{uuid.uuid4().hex[:8]}"
    policy, binding = admission_policy(name, namespace)
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {bad: '1'}\n"
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    kube.create(policy)
    try:
        with HoldSampler([entry("admitted", "dry_run", role="safeguard", mode="hold", manifest=bad)], context) as holds:
            kube.create(binding)
        assert "no bad keys" in holds.tracks["admitted"].verdict().reason
        objective = entry("window", "dry_run", mode="hold", hold=0.1, manifest=bad, allowed=False)
        kube.delete("validatingadmissionpolicybinding", name)
        assert verify([objective], [], context, None)[0].status is FAIL, "as it is without the binding"
        kube.create(binding)
        assert verify([objective], [], context, None)[0].status is PASS, "as it is with it"
    finally:
        kube.delete("validatingadmissionpolicy", name)


def test_a_dry_run_tells_whether_a_policy_denies_and_changes_nothing(kube: KubeClient, namespace: str) -> None:
    name = f"p-{uuid.uuid4().hex[:8]}"
    bad = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {bad: '1'}\n"
    good = bad.replace("bad", "fine")
    for item in admission_policy(name, namespace):
        kube.create(item)
    try:
        context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
        entries = [
            entry("denied", "dry_run", manifest=bad, allowed=False, message_matches="no bad keys"),
            entry("admitted", "dry_run", manifest=good),
            entry("wrongly denied", "dry_run", manifest=bad, allowed=True),
            entry("wrong message", "dry_run", manifest=bad, allowed=False, message_matches="something else"),
            entry("wrongly admitted", "dry_run", manifest=good, allowed=False),
            entry("rbac denies", "dry_run", manifest=good, as_user="nobody-known", allowed=False),
            entry("rbac denies, wrongly", "dry_run", manifest=good, as_user="nobody-known"),
            entry("no namespace", "dry_run", manifest=good, namespace="gone", allowed=False),
            entry("no kind", "dry_run", manifest="apiVersion: x.io/v1\nkind: No\nmetadata: {name: x}", allowed=True),
            entry("not yaml", "dry_run", manifest="a: ["),
            entry("two", "dry_run", manifest=f"{good}---\n{good}"),
            entry("bad regex", "dry_run", manifest=good, message_matches="("),
        ]
        # The policy takes a moment to be enforced: waiting for the first entry is what converge is for.
        assert verify(entries[:1], [], context, None)[0].status is PASS
        found = {r.name: (r.status, r.verdict.reason) for r in assert_once(entries, context)}
        assert {name: status for name, (status, _) in found.items()} == {
            "denied": PASS,
            "admitted": PASS,
            "wrongly denied": FAIL,
            "wrong message": FAIL,
            "wrongly admitted": FAIL,
            "rbac denies": PASS,
            "rbac denies, wrongly": FAIL,
            "no namespace": FAIL,
            "no kind": FAIL,
            "not yaml": ERROR,
            "two": ERROR,
            "bad regex": ERROR,
        }, found
        kube.create(config_map("x"), namespace)
        assert statuses(context, entries[1]) == [PASS], "it exists already: admission let it through"
        assert [item["metadata"]["name"] for item in kube.list("cm", namespace) if item["metadata"]["name"] == "x"] == [
            "x"
        ]
    finally:
        for item in admission_policy(name, namespace):
            kube.delete(item["kind"], name)


def test_the_audit_log_of_a_real_plane_holds_the_agents_requests_alone(
    plane: Plane, kube: KubeClient, namespace: str
) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "agent"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"},
        "subjects": [{"kind": "User", "name": "agent", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    kube.create(role, namespace)
    kube.create(config_map("ours"), namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT, audit_log=plane.audit_log)
    deadline = Deadline.after(60)
    with plane.client("agent") as agent:
        while True:
            try:
                agent.create(config_map("theirs"), namespace)
                break
            except Exception:
                assert not deadline.passed
        agent.create(config_map("dry"), namespace, dry_run=True)
        with pytest.raises(Exception, match="cannot"):
            agent.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}})
    where = {"namespaces": [namespace], "resources": ["configmaps"], "verbs": ["create"]}
    assert statuses(
        context,
        entry("one", "audit", **where, names=["theirs"], min_count=1, max_count=1),
        entry("not ours", "audit", **where, names=["ours"], max_count=0),
        entry("no dry run", "audit", **where, names=["dry"], max_count=0),
        entry("denied", "audit", resources=["namespaces"], verbs=["create"], include_denied=True, min_count=1),
        entry("granted", "audit", resources=["namespaces"], verbs=["create"], max_count=0),
    ) == [PASS, PASS, PASS, PASS, PASS]


def test_the_value_in_a_secret_is_compared_but_not_reported(kube: KubeClient, namespace: str) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"}, "stringData": {"password": "hunter2"}}
    kube.create(secret, namespace)
    context = VerifyContext(kube=kube, namespace=namespace, limits=PATIENT)
    look = entry(
        "s", "resource_property", kind="secret", resource_name="db", path="data.password", op="eq", value="eA=="
    )
    found = assert_once([look], context)[0]
    assert found.status is FAIL
    assert "aHVudGVyMg" not in str(found.as_report())

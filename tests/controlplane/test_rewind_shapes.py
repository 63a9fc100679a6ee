"""A control plane that is taken back serves the kinds that it served at the mark, and as fairly as then."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.controlplane.planes import Plane, deployment, tell, until
from tests.kinds import custom_kind

pytestmark = pytest.mark.kwok

NAME = "backups.example.com"
SERVED = "/apis/example.com"


def definition(*versions: str, stored: str = "v1", **spec: Any) -> dict[str, Any]:
    kind = custom_kind("Backup", **spec)
    (first,) = kind["spec"]["versions"]
    kind["spec"]["versions"] = [{**first, "name": name, "storage": name == stored} for name in versions]
    return kind


def make(plane: Plane, name: str, at: str) -> None:
    """Make an object at `at`, the path of its kind."""
    body = {"apiVersion": "/".join(at.split("/")[2:4]), "kind": "Backup", "metadata": {"name": name}}
    plane.kubectl("create", "--raw", at, "-f", "-", stdin=json.dumps(body))


def answer(plane: Plane, path: str) -> str:
    """What the API server says to a request; kubectl itself would go by the kinds that it remembers."""
    return re.sub(r'"resourceVersion":"\d+"', "", plane.kubectl("get", "--raw", path, check=False))


def state(plane: Plane) -> list[str]:
    definitions, services = "apiextensions.k8s.io/v1/customresourcedefinitions", "apiregistration.k8s.io/v1/apiservices"
    paths = [f"{SERVED}/v1/backups", f"{SERVED}/v2/backups", SERVED, f"/apis/{definitions}", f"/apis/{services}"]
    return [answer(plane, path) for path in paths]


def test_kinds_and_their_objects_are_back_after_whatever_became_of_them(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    namespaced = f"{SERVED}/v2/namespaces/default/backups"

    def define(kind: dict[str, Any]) -> None:
        plane.apply(kind)
        plane.kubectl("wait", "--for=condition=Established", "crd", kind["metadata"]["name"], "--timeout=30s")

    def unreadable() -> None:
        define(definition("v1", "v2", stored="v2"))
        said = '-p={"status": {"storedVersions": ["v2"]}}'
        plane.kubectl("patch", "crd", NAME, "--subresource=status", "--type=merge", said)
        define(definition("v2", stored="v2"))
        until(lambda: answer(plane, f"{SERVED}/v2/backups?limit=9"), lambda said: "convert" in said)

    def anew() -> None:
        plane.kubectl("delete", "crd", NAME)
        define(definition("v1", scope="Cluster"))
        define(custom_kind("Report"))
        until(lambda: answer(plane, f"{SERVED}/v1/reports"), lambda said: "ReportList" in said)
        make(plane, "other", f"{SERVED}/v1/backups")

    def gone() -> None:
        plane.kubectl("delete", "crd", NAME)

    define(definition("v1", "v2"))
    until(lambda: answer(plane, f"{SERVED}/v2/backups"), lambda said: "BackupList" in said)
    make(plane, "nightly", namespaced)
    before = state(plane)
    assert tell(plane, "mark")["ok"]
    for spoil in (unreadable, anew, gone, anew):
        spoil()
        assert state(plane) != before
        assert tell(plane, "rewind")["ok"]
        assert state(plane) == before
        assert "NotFound" in answer(plane, f"{SERVED}/v1/reports")
        make(plane, "more", namespaced)
    # Its controllers know the kind as well: what an object of it owns goes with it.
    owner = json.loads(plane.kubectl("get", "--raw", f"{namespaced}/more"))["metadata"]["uid"]
    reference = {"apiVersion": "example.com/v2", "kind": "Backup", "name": "more", "uid": owner}
    metadata = {"name": "owned", "ownerReferences": [reference]}
    plane.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    plane.kubectl("delete", "--raw", f"{namespaced}/more")
    until(lambda: plane.kubectl("get", "configmap", "owned", check=False), lambda said: "not found" in said)
    assert plane.end() == 0


def level(name: str, **limited: Any) -> dict[str, Any]:
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": name},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, **limited}},
    }


def schema(name: str, to: str, precedence: int) -> dict[str, Any]:
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "agent"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    return {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": name},
        "spec": {
            "priorityLevelConfiguration": {"name": to},
            "matchingPrecedence": precedence,
            "rules": [rule],
        },
    }


def serving(plane: Plane) -> str:
    """UID of the schema that the agent's request went by."""
    said = plane.kubectl("get", "--raw", "/version", "-v=8", user="agent", check=False)
    found = re.search(r"X-Kubernetes-Pf-Flowschema-Uid: (\S+)", said)
    assert found is not None
    return found[1]


def test_requests_go_by_the_schemas_and_levels_of_the_mark_at_once(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    plane.apply(level("ours", nominalConcurrencyShares=5), schema("ours", "ours", 500))
    uid = plane.get("flowschema", "ours")["metadata"]["uid"]
    until(lambda: serving(plane), lambda found: found == uid)
    assert tell(plane, "mark")["ok"]
    for spoil in (
        lambda: plane.kubectl("delete", "flowschema/ours", "prioritylevelconfiguration/ours"),
        lambda: plane.apply(level("theirs", nominalConcurrencyShares=9), schema("theirs", "theirs", 400)),
        lambda: plane.apply(schema("ours", "nobody", 500)),
    ):
        spoil()
        until(lambda: serving(plane), lambda found: found != uid)
        assert tell(plane, "rewind")["ok"]
        assert serving(plane) == uid
        found = plane.kubectl("get", "flowschemas,prioritylevelconfigurations", "-o", "name")
        assert "probe-" not in found
        assert "theirs" not in found
        assert plane.get("flowschema", "ours")["metadata"]["uid"] == uid


def test_webhooks_are_not_taken_back(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    assert tell(plane, "rewind") == {"done": "rewind", "ok": False, "why": "nothing was marked", "seconds": 0}
    assert tell(plane, "mark")["ok"]
    plane.apply(
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "guard"},
            "webhooks": [],
        }
    )
    said = tell(plane, "rewind")
    assert not said["ok"]
    assert said["why"] == "webhooks were changed"
    # It goes on as it was.
    plane.apply(deployment("web", "nginx"))
    until(lambda: plane.get("deployment", "web"), lambda item: item.get("status", {}).get("availableReplicas") == 1)

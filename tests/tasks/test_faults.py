"""Every fault of the library on a real plane: it shows, it ends with the spec that caused it, and its pods can go."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devops_bench.clusters.needs import faults_yaml, needs_key
from devops_bench.errors import TaskError
from devops_bench.kube import KubeClient
from devops_bench.tasks.loader import load_cluster
from devops_bench.tasks.spec import ClusterNeeds
from devops_bench.verification import longest_stage_delay
from tests.controlplane.planes import boot

FAULTS = [
    {"fault": "image-pull", "image": "/web:", "when": '.image | test(":2\\\\.") | not'},
    {"fault": "crash-loop", "image": "/api:", "when": '[.env[]?.name] | index("DB_URL") == null',
     "message": "config: DB_URL {{is}} \"unset\"", "exit_code": 3},
    {"fault": "oom", "image": "/cache:", "needs": "300Mi"},
    {"fault": "not-ready", "image": "/probe:", "when": ".readinessProbe.httpGet.port == 9999"},
    {"fault": "slow-start", "image": "/slow:", "seconds": 1.5},
    {"fault": "readiness-gate", "condition": "example.com/lb-registered"},
    {"fault": "volume-attach", "claim": "^data-old$"},
    {"fault": "node-down", "labels": {"rack": "r4"}},
    {"fault": "crash-loop", "image": "/pair:", "container": "side", "message": "side broke"},
]  # fmt: skip


@pytest.fixture(scope="module")
def kube(kube_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KubeClient]:
    folder = tmp_path_factory.mktemp("faults")
    text = faults_yaml(needs(FAULTS))
    assert text is not None
    (folder / "faults.yaml").write_text(text)
    plane = boot(kube_binary, folder / "plane", "--stages", str(folder / "faults.yaml"))
    try:
        with KubeClient.from_kubeconfig(Path(plane.ready["kubeconfigs"]["admin"])) as client:
            yield client
    finally:
        plane.end()


def needs(faults: list[dict[str, Any]]) -> ClusterNeeds:
    return ClusterNeeds.model_validate_json(json.dumps({"faults": faults}))


def pod(kube: KubeClient, name: str, spec: dict[str, Any]) -> None:
    kube.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}, "default")


def container(image: str, **fields: Any) -> dict[str, Any]:
    return {"name": "app", "image": f"registry.example.com/{image}", **fields}


def status(kube: KubeClient, name: str) -> dict[str, Any]:
    found: dict[str, Any] = kube.get("pods", name, "default").get("status") or {}
    return found


def seen(probe: Callable[[], Any], wanted: Callable[[Any], bool]) -> Any:
    end = time.monotonic() + 60
    while not wanted(answer := probe()):
        assert time.monotonic() < end, f"still {answer!r}"
        time.sleep(0.05)
    return answer


def ready(found: dict[str, Any]) -> bool:
    return any(item["type"] == "Ready" and item["status"] == "True" for item in found.get("conditions", []))


def waiting(found: dict[str, Any]) -> set[str]:
    states = [item["state"] for item in found.get("containerStatuses", [])]
    return {state["waiting"]["reason"] for state in states if "waiting" in state}


@pytest.mark.kwok
def test_an_image_that_cannot_be_pulled_ends_when_the_image_is_another_one(kube: KubeClient) -> None:
    pod(kube, "web", {"containers": [container("web:1.0")]})
    seen(lambda: waiting(status(kube, "web")), lambda found: found == {"ImagePullBackOff"})
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "registry.example.com/web:2.1"}]
    kube.patch("pods", "web", image, "default")
    seen(lambda: status(kube, "web"), ready)
    events = {item["reason"] for item in kube.list("events", "default") if item["involvedObject"]["name"] == "web"}
    assert {"Failed", "BackOff"} <= events


@pytest.mark.kwok
def test_a_crash_loop_says_why_and_a_pod_without_the_cause_runs(kube: KubeClient) -> None:
    pod(kube, "api-bad", {"containers": [container("api:1")]})
    pod(kube, "api-good", {"containers": [container("api:1", env=[{"name": "DB_URL", "value": "x"}])]})
    seen(lambda: waiting(status(kube, "api-bad")), lambda found: found == {"CrashLoopBackOff"})
    last = status(kube, "api-bad")["containerStatuses"][0]["lastState"]["terminated"]
    assert (last["exitCode"], last["message"]) == (3, 'config: DB_URL {{is}} "unset"')
    seen(lambda: status(kube, "api-good"), ready)
    kube.delete("pods", "api-bad", "default")
    seen(lambda: {item["metadata"]["name"] for item in kube.list("pods", "default")}, lambda n: "api-bad" not in n)


@pytest.mark.kwok
@pytest.mark.parametrize(("limit", "killed"), [("299Mi", True), ("314572800", False), ("0.3Gi", False), (None, False)])
def test_memory_counts_as_a_quantity(kube: KubeClient, limit: str | None, killed: bool) -> None:
    name = f"cache-{limit or 'none'}".lower()
    fields = {"resources": {"limits": {"memory": limit}}} if limit else {}
    pod(kube, name, {"containers": [container("cache:1", **fields)]})
    if killed:
        seen(lambda: waiting(status(kube, name)), lambda found: found == {"CrashLoopBackOff"})
        assert status(kube, name)["containerStatuses"][0]["lastState"]["terminated"]["reason"] == "OOMKilled"
    else:
        seen(lambda: status(kube, name), ready)


@pytest.mark.kwok
def test_a_failing_probe_leaves_the_pod_running_and_not_ready(kube: KubeClient) -> None:
    pod(kube, "probe", {"containers": [container("probe:1", readinessProbe={"httpGet": {"port": 9999}})]})
    found = seen(lambda: status(kube, "probe"), lambda s: s.get("phase") == "Running")
    assert not ready(found) and found["podIP"]
    pod(kube, "probe-ok", {"containers": [container("probe:1", readinessProbe={"httpGet": {"port": 8080}})]})
    seen(lambda: status(kube, "probe-ok"), ready)
    assert not ready(status(kube, "probe"))
    image = [{"op": "replace", "path": "/spec/containers/0/image", "value": "registry.example.com/fixed:2"}]
    kube.patch("pods", "probe", image, "default")
    seen(lambda: status(kube, "probe"), ready)


@pytest.mark.kwok
def test_a_slow_start_is_unready_first_and_ready_by_itself(kube: KubeClient) -> None:
    pod(kube, "slow", {"containers": [container("slow:1")]})
    found = seen(lambda: status(kube, "slow"), lambda s: s.get("phase") == "Running")
    assert not ready(found)
    seen(lambda: status(kube, "slow"), ready)
    assert longest_stage_delay(json.loads(part) for part in (faults_yaml(needs(FAULTS)) or "").split("---\n")) == 1.5


@pytest.mark.kwok
def test_a_readiness_gate_waits_for_its_condition(kube: KubeClient) -> None:
    gate = {"readinessGates": [{"conditionType": "example.com/lb-registered"}]}
    other = {"readinessGates": [{"conditionType": "example.com/other"}]}
    pod(kube, "gated", {"containers": [container("x:1")], **gate})
    pod(kube, "other", {"containers": [container("x:1")], **other})
    seen(lambda: status(kube, "other"), ready)
    found = seen(lambda: status(kube, "gated"), lambda s: s.get("phase") == "Running")
    conditions = {item["type"]: item for item in found["conditions"]}
    assert conditions["ContainersReady"]["status"] == "True"
    assert conditions["Ready"]["reason"] == "ReadinessGatesNotReady"
    met = {"type": "example.com/lb-registered", "status": "True"}
    kube.patch("pods", "gated", {"status": {"conditions": [*found["conditions"], met]}}, "default",
               subresource="status")  # fmt: skip
    seen(lambda: status(kube, "gated"), ready)


@pytest.mark.kwok
def test_a_volume_that_cannot_be_attached_holds_its_pod_only(kube: KubeClient) -> None:
    for claim in ("data-old", "data-new"):
        kube.create(
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim},
             "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}, "default",
        )  # fmt: skip
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": claim}}
        pod(kube, f"with-{claim}", {"containers": [container("x:1")], "volumes": [volume]})
    seen(lambda: status(kube, "with-data-new"), ready)
    seen(lambda: waiting(status(kube, "with-data-old")), lambda found: found == {"ContainerCreating"})


@pytest.mark.kwok
def test_a_node_with_the_labels_goes_down_and_comes_back_without_them(kube: KubeClient) -> None:
    def node() -> dict[str, Any]:
        return kube.get("nodes", "node-2").get("status") or {}

    assert ready(node())
    kube.patch("nodes", "node-2", {"metadata": {"labels": {"rack": "r4"}}})
    seen(node, lambda found: not ready(found))
    kube.patch("nodes", "node-2", {"metadata": {"labels": {"rack": None}}})
    seen(node, ready)


@pytest.mark.kwok
def test_one_container_of_a_pod_can_fail_alone(kube: KubeClient) -> None:
    side = {**container("pair:1"), "name": "side"}
    pod(kube, "pair", {"containers": [container("pair:1"), side]})
    found = seen(lambda: status(kube, "pair"), lambda s: len(s.get("containerStatuses", [])) == 2)
    assert {item["name"]: item["ready"] for item in found["containerStatuses"]} == {"app": True, "side": False}
    assert not ready(found)


def test_planes_with_other_faults_are_not_interchangeable() -> None:
    assert len({needs_key(needs(FAULTS[:count])) for count in range(len(FAULTS) + 1)}) == len(FAULTS) + 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{fault: image-pull}", "needs image, when or pod"),
        ("{fault: imagepull, image: x}", "fault"),
        ("{fault: oom, image: x, needs: lots}", "needs"),
        ("{fault: node-down, labels: {}}", "labels"),
        ("{fault: slow-start, image: x, seconds: 0}", "seconds"),
    ],
)
def test_a_fault_that_cannot_be_read_is_an_error_with_its_line(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "cluster.yaml").write_text(f"nodes: []\nfaults:\n  - {line}\n")
    with pytest.raises(TaskError) as caught:
        load_cluster(tmp_path)
    assert said in caught.value.what
    assert caught.value.line == 3

"""Setup of a task on a real control plane."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devops_bench.clusters.base import Cluster
from devops_bench.clusters.kwok import Kwok
from devops_bench.combo.setup import LAST_APPLIED, apply_setup
from devops_bench.errors import TaskError
from devops_bench.kube import KubeClient, KubeForbidden
from devops_bench.tasks import load_task
from devops_bench.tasks.spec import ClusterNeeds

pytestmark = pytest.mark.kwok


@dataclass(frozen=True)
class Place:
    cluster: Cluster
    kube: KubeClient


@pytest.fixture(scope="module")
def place(kube_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    root = tmp_path_factory.mktemp("plane")
    provider = Kwok(kube_binary, {"BENCH_RUN_STATE_ROOT": str(root / "state"), "PATH": "/usr/bin:/bin"})
    cluster = provider.create("c0000001-eval", ClusterNeeds(), root / "cluster")
    try:
        assert cluster.admin_kubeconfig is not None
        with KubeClient.from_kubeconfig(cluster.admin_kubeconfig) as kube:
            yield Place(cluster, kube)
    finally:
        provider.destroy(cluster)


def apply(place: Place, folder: Path, timeout: float = 60, **files: str) -> None:
    (folder / "setup").mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text("prompt: p\n")
    for name, text in files.items():
        path = folder / "setup" / name
        path.write_text(text)
        if path.suffix == ".sh":
            path.chmod(0o755)
    apply_setup(load_task(folder), place.cluster, place.kube, folder, timeout)


NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {0}}}\n---\n"
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, namespace: {0}}}
spec:
  replicas: {1}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}}}
    spec: {{containers: [{{name: web, image: "web:1"}}]}}
"""


def test_files_are_applied_in_order_and_waits_are_kept(place: Place, tmp_path: Path) -> None:
    """The second Deployment manifest comes only after the first one's pods were ready: two ReplicaSets tell so."""
    changed = DEPLOYMENT.format("order", 2).replace("web:1", "web:2")
    apply(
        place, tmp_path,
        **{
            "10-before.yaml": NAMESPACE.format("order") + DEPLOYMENT.format("order", 2),
            "20-wait.yaml": "- {type: scaling_complete, namespace: order, deployment: web, min_replicas: 2}\n",
            "30-change.yaml": changed,
        },
    )  # fmt: skip
    found = place.kube.get("Deployment", "web", "order")
    assert found["status"]["observedGeneration"] == found["metadata"]["generation"] == 2
    assert len(place.kube.list("ReplicaSet", "order")) == 2


def test_objects_look_as_kubectl_leaves_them(place: Place, tmp_path: Path) -> None:
    apply(place, tmp_path, **{"10-a.yaml": NAMESPACE.format("looks") + DEPLOYMENT.format("looks", 1)})
    metadata = place.kube.get("Deployment", "web", "looks")["metadata"]
    managers = {entry["manager"] for entry in metadata["managedFields"]}
    assert managers == {"kubectl", "kube-controller-manager"}
    applied = json.loads(metadata["annotations"][LAST_APPLIED])
    assert applied["spec"]["replicas"] == 1
    assert applied["metadata"]["annotations"] == {}


def test_a_kind_made_in_the_same_file_can_be_used(place: Place, tmp_path: Path) -> None:
    crd = """apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example.com}
spec:
  group: shop.example.com
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget}
  versions:
    - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
---
apiVersion: shop.example.com/v1
kind: Widget
metadata: {name: one, namespace: default}
"""
    apply(place, tmp_path, **{"10-crd.yaml": crd})
    assert place.kube.get("Widget", "one", "default")["metadata"]["name"] == "one"


def test_scripts_have_the_admins_rights_and_the_workspace(place: Place, tmp_path: Path) -> None:
    script = '#!/bin/sh\nset -e\nkubectl create namespace scripted\npwd > "$WORKSPACE/where"\n'
    apply(place, tmp_path, **{"10-run.sh": script})
    assert place.kube.get("Namespace", "scripted")["status"]["phase"] == "Active"
    assert (tmp_path / "where").read_text().strip() == str(tmp_path)


def test_placeholders_in_manifests_are_filled(place: Place, tmp_path: Path) -> None:
    text = (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: facts}\ndata: {cluster: '{{CLUSTER_NAME}}', t: '{{ .x }}'}\n"
    )
    apply(place, tmp_path, **{"10-a.yaml": text})
    assert place.kube.get("ConfigMap", "facts", "default")["data"] == {"cluster": place.cluster.name, "t": "{{ .x }}"}


def test_the_agent_has_its_rights_afterwards(place: Place, tmp_path: Path) -> None:
    apply(place, tmp_path, **{"10-a.yaml": NAMESPACE.format("rights")})
    assert place.cluster.agent_kubeconfig is not None
    with KubeClient.from_kubeconfig(place.cluster.agent_kubeconfig) as agent:
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "rights"}}
        agent.create(config)
        with pytest.raises(KubeForbidden):
            agent.create({**config, "metadata": {"name": "x", "namespace": "kube-system"}})


WRONG = [
    ({"10-a.yaml": "kind: Pod\n"}, r"10-a.yaml:1: is not a Kubernetes object"),
    ({"10-a.yaml": "a: [\n"}, r"10-a.yaml:\d+: is not YAML"),
    (
        {"10-a.yaml": NAMESPACE.format("ok1") + DEPLOYMENT.format("ok1", -1)},
        r"10-a.yaml:\d+: setup: Deployment web: .*spec.replicas",
    ),
    ({"10-a.yaml": "apiVersion: a.b/v1\nkind: Nope\nmetadata: {name: a}\n"}, r"setup: Nope a: .*serves no"),
    ({"10-a.yaml": "kind: Pod\napiVersion: v1\nmetadata: {}\n"}, r"without metadata.name"),
    ({"10-run.sh": "#!/bin/sh\necho no disk >&2\nexit 4\n"}, r"10-run.sh: setup script failed with 4: no disk"),
    ({"10-wait.yaml": "- {type: pod_healthy, selectr: a}\n"}, r"10-wait.yaml:1: .*did you mean selector"),
    ({"10-wait.yaml": "type: pod_healthy\n"}, r"10-wait.yaml:1: a wait file is a list of checks"),
    (
        {"10-wait.yaml": "- {type: resource_property, kind: Node, resource_name: none}\n"},
        r"10-wait.yaml:1: setup is not there in time: resource_property: ",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("files", "message"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_setup_is_one_line_with_its_place(
    place: Place, tmp_path: Path, files: dict[str, str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devops_bench.combo.setup._NOT_YET", 0.3)
    with pytest.raises(Exception, match=message) as caught:
        apply(place, tmp_path, timeout=3, **files)
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, TaskError) or "metadata.name" in message


def test_a_script_that_cannot_be_run_says_how_to_make_it_so(place: Place, tmp_path: Path) -> None:
    (tmp_path / "setup").mkdir()
    (tmp_path / "setup/a.sh").write_text("#!/bin/sh\n")
    with pytest.raises(TaskError, match=r"a.sh: setup script is not executable; chmod \+x a.sh"):
        apply(place, tmp_path)

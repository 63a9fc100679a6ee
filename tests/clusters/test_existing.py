"""Provider `existing` against a real control plane in the part of the user's own cluster."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devops_bench import clusters
from devops_bench.clusters import existing, kwok, namespaces
from devops_bench.clusters.grants import grant_agent
from devops_bench.combo import world
from devops_bench.combo.world import World
from devops_bench.errors import ConfigError, RefusedError, TaskError
from devops_bench.kube import KubeClient, KubeForbidden, KubeNotFound
from devops_bench.tasks.loader import load_task
from devops_bench.tasks.spec import ClusterNeeds, NodeGroup

NAME = "c00000bb-eval"


@pytest.fixture(scope="module")
def kubeconfig(kube: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The user's kubeconfig: two contexts, the current one is not to be used; keys are in files beside it."""
    root = tmp_path_factory.mktemp("user")
    plane = kwok.boot(kube, root, ClusterNeeds())
    assert plane.ready
    from ruamel.yaml import YAML

    data = YAML(typ="safe").load(plane.ready.admin.read_text())
    user = data["users"][0]["user"]
    for key in ("client-certificate", "client-key"):
        (root / f"{key}.pem").write_bytes(base64.b64decode(user.pop(f"{key}-data")))
        user[key] = f"{key}.pem"
    data["contexts"][0]["name"] = "team"
    production = {"name": "production", "context": {"cluster": "gone", "user": "gone"}}
    data["contexts"].append(production)
    data["current-context"] = "production"
    path = root / "config"
    path.write_text(json.dumps(data))
    yield path
    plane.end()


@pytest.fixture
def env(kubeconfig: Path, tmp_path: Path) -> dict[str, str]:
    state = {"BENCH_RUN_STATE_ROOT": str(tmp_path / "state")}
    return {**os.environ, **state, existing.KUBECONFIG: str(kubeconfig), existing.CONTEXT: "team"}


def client(path: Path | None) -> KubeClient:
    assert path is not None
    return KubeClient.from_kubeconfig(path)


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "b"}}


@pytest.mark.kwok
def test_the_agent_is_confined_to_its_namespace_which_is_removed_afterwards(
    env: dict[str, str], tmp_path: Path
) -> None:
    provider = clusters.get("existing", env)
    cluster = provider.create(NAME, ClusterNeeds(), tmp_path / "rid")
    grant_agent(cluster, ClusterNeeds())
    assert cluster.facts["NAMESPACE"] == NAME
    for path in (cluster.agent_kubeconfig, cluster.mcp_kubeconfig):
        assert path and path.stat().st_mode & 0o777 == 0o600
        assert "client-key" not in path.read_text()
        with client(path) as agent:
            agent.create(config_map(path.parent.name), NAME)
            assert agent.get("ConfigMap", path.parent.name, NAME)["data"] == {"a": "b"}
            for place in ("default", "kube-system"):
                with pytest.raises(KubeForbidden):
                    agent.list("ConfigMap", place)
            for kind in ("Namespace", "Node", "Secret"):
                with pytest.raises(KubeForbidden):
                    agent.list(kind)
    assert any("namespace" in line for line in provider.residue(NAME, tmp_path / "rid"))
    provider.destroy(cluster)
    assert provider.residue(NAME, tmp_path / "rid") == []
    assert not [path for path in (tmp_path / "rid").rglob("*") if path.is_file()]
    with client(existing_admin(env, tmp_path)) as admin, pytest.raises(KubeNotFound):
        admin.get("Namespace", NAME)
    provider.destroy(cluster)


def existing_admin(env: dict[str, str], tmp_path: Path) -> Path:
    from devops_bench.clusters import kubeconfig as files

    return files.write(tmp_path / "admin", files.extract(Path(env[existing.KUBECONFIG]), "team"))


@pytest.mark.kwok
def test_a_namespace_that_is_not_ours_is_never_touched(env: dict[str, str], tmp_path: Path) -> None:
    name = "c00000cc-eval"
    provider = existing.Existing(env)
    with client(existing_admin(env, tmp_path)) as admin:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        with pytest.raises(RefusedError, match=f"namespace {name} already exists.*delete namespace {name}"):
            provider.create(name, ClusterNeeds(), tmp_path / "rid")
        assert admin.get("Namespace", name)["status"]["phase"] == "Active"
        admin.delete("Namespace", name)


@pytest.mark.kwok
def test_what_a_killed_attempt_left_is_replaced(env: dict[str, str], tmp_path: Path) -> None:
    name = "c00000dd-eval"
    first = existing.Existing(env).create(name, ClusterNeeds(), tmp_path / "rid")
    with client(first.agent_kubeconfig) as agent:
        agent.create(config_map("old"), name)
    shutil.rmtree(tmp_path / "rid")  # a new attempt starts from an empty folder
    second = existing.Existing(env).create(name, ClusterNeeds(), tmp_path / "rid")
    with client(second.agent_kubeconfig) as agent:
        assert "old" not in [item["metadata"]["name"] for item in agent.list("ConfigMap", name)]
    root = tmp_path / "state"
    assert all(note.owner.alive() for note in namespaces.noted(root))
    assert [note.name for note in namespaces.noted(root)] == [name]
    assert namespaces.remove(root, name)
    assert not namespaces.remove(root, name)
    assert not [line for line in existing.Existing(env).residue(name, tmp_path / "rid") if "namespace" in line]


@pytest.mark.kwok
def test_a_namespace_that_is_kept_is_told_and_what_goes_all_the_same_is_not(
    env: dict[str, str], tmp_path: Path
) -> None:
    name = "c00000ff-eval"
    provider = existing.Existing(env)
    cluster = provider.create(name, ClusterNeeds(), tmp_path / "rid")
    task = load_task(Path(__file__).parents[2] / "tasks" / "common" / "opa-remediation" / "task.yaml", key="t")
    here = World(task, task, cluster, provider, tmp_path / "rid", tmp_path, tmp_path, None)
    assert world.teardown(here, keep=True) == []
    world.remove_state(tmp_path / "rid")
    assert world.kept(here) == [f"kept (BENCH_NO_TEARDOWN): namespace {name} (Active) in context team"]
    assert world.teardown(here, keep=False) == [] and world.kept(here) == []


@pytest.mark.kwok
def test_an_embedded_control_plane_is_taken_away_even_if_it_was_to_be_kept(kube: Path, tmp_path: Path) -> None:
    variables = {**os.environ, "BENCH_RUN_STATE_ROOT": str(tmp_path / "state"), "DEVOPS_BENCH_KUBE": str(kube)}
    provider = clusters.get("kwok", variables)
    task = load_task(Path(__file__).parents[2] / "tasks" / "common" / "opa-remediation" / "task.yaml", key="t")
    cluster = provider.create("c00000ab-eval", ClusterNeeds(), tmp_path / "rid")
    here = World(task, task, cluster, provider, tmp_path / "rid", tmp_path, tmp_path, None)
    assert provider.residue("c00000ab-eval", tmp_path / "rid")
    assert world.teardown(here, keep=True) == [] and world.kept(here) == []


@pytest.mark.kwok
def test_a_tasks_own_rules_are_confined_too(env: dict[str, str], tmp_path: Path) -> None:
    name = "c00000ee-eval"
    role = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    provider = existing.Existing(env)
    cluster = provider.create(name, ClusterNeeds(agent_role=role), tmp_path / "rid")
    with client(cluster.agent_kubeconfig) as agent:
        assert agent.list("Pod", name) == []
        for call in (
            lambda: agent.list("Pod"),
            lambda: agent.list("Pod", "default"),
            lambda: agent.list("Secret", name),
        ):
            with pytest.raises(KubeForbidden):
                call()
    provider.destroy(cluster)


@pytest.mark.parametrize(
    "needs",
    [
        ClusterNeeds(nodes=[NodeGroup(name="n")]),
        ClusterNeeds(agent_role=[{"preset": "edit", "namespaces": ["default"]}]),
    ],
)
def test_needs_beyond_a_namespace_are_refused(needs: ClusterNeeds, tmp_path: Path) -> None:
    env = {existing.KUBECONFIG: str(tmp_path / "none"), existing.CONTEXT: "team"}
    with pytest.raises(TaskError, match="provider `existing`"):
        existing.Existing(env).create(NAME, needs, tmp_path / "rid")


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({}, "BENCH_EXISTING_KUBECONFIG and BENCH_EXISTING_CONTEXT; the ambient kubeconfig is never used"),
        ({"KUBECONFIG": "/root/.kube/config"}, "the ambient kubeconfig is never used"),
        ({existing.KUBECONFIG: "/tmp/x"}, "needs BENCH_EXISTING_CONTEXT"),
    ],
)
def test_the_ambient_context_is_refused(variables: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        clusters.get("existing", variables)


def test_a_context_that_is_not_there_is_named_with_those_that_are(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text('{"contexts": [{"name": "a", "context": {}}, {"name": "b", "context": {}}]}')
    env = {existing.KUBECONFIG: str(path), existing.CONTEXT: "c"}
    with pytest.raises(ConfigError, match="no context 'c'; it has: a, b"):
        existing.Existing(env).create(NAME, ClusterNeeds(), tmp_path / "rid")


@pytest.mark.parametrize("name", ["kind", "gke"])
def test_planned_providers_say_so(name: str) -> None:
    with pytest.raises(ConfigError, match="not available in this version; use one of none, kwok, existing"):
        clusters.get(name, {})


def test_an_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(ConfigError, match="no cluster provider 'minikube'; use one of none, kwok, existing"):
        clusters.get("minikube", {})


def test_none_has_no_server_and_refuses_nodes(tmp_path: Path) -> None:
    provider = clusters.get("none", {})
    cluster = provider.create("c0000000-eval", ClusterNeeds(), tmp_path)
    assert cluster.server is None and cluster.agent_kubeconfig is None
    assert provider.residue(cluster.name, tmp_path) == []
    with pytest.raises(TaskError, match="provider: kwok"):
        provider.create("c0000000-eval", ClusterNeeds(nodes=[NodeGroup(name="n")]), tmp_path)


@pytest.mark.kwok
def test_clean_removes_the_namespace_of_a_dead_combo_only(
    env: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from devops_bench.cli.clusters import command

    name, root = "c00000ff-eval", tmp_path / "state"
    monkeypatch.setenv("BENCH_RUN_STATE_ROOT", str(root))
    existing.Existing(env).create(name, ClusterNeeds(), tmp_path / "rid")
    command.main(["clean", "--yes"], standalone_mode=False)
    assert capsys.readouterr().out == "nothing to remove\n"
    [note] = namespaces.noted(root)
    replace(note, owner=replace(note.owner, ticks=1)).write(root)
    command.main(["clean", "--yes"], standalone_mode=False)
    assert capsys.readouterr().out == f"removed namespace {name} in context team\n"
    assert not list(namespaces.noted(root))
    with note.client() as admin, pytest.raises(KubeNotFound):
        admin.get("Namespace", name)

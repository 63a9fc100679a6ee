"""Importing k8s-ai-bench folders: what is read, what is refused and why. The folders are written for these tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.errors import ConfigError, TaskError
from devops_bench.tasks import load_task
from devops_bench.tasks.checks import AnswerCheck, Group, ScriptCheck
from devops_bench.tasks.foreign import import_all, import_one, read, resolve_prompt, seconds

TASK = """\
script:
  - prompt: Give the team blue a quota of ten pods in its namespace.
setup: setup.sh
verifier: verify.sh
cleanup: cleanup.sh
difficulty: easy
timeout: 1m30s
isolation: cluster
someday: maybe
"""
SCRIPT = "#!/usr/bin/env bash\nkubectl get namespace blue\n"


def folder(place: Path, text: str = TASK, **scripts: str) -> Path:
    place.mkdir(parents=True)
    (place / "task.yaml").write_text(text)
    for name in ("setup", "verify", "cleanup"):
        path = place / f"{name}.sh"
        path.write_text(scripts.get(name, SCRIPT))
        path.chmod(0o755)
    return place


def test_a_task_becomes_one_of_ours_with_its_folder_unedited(tmp_path: Path) -> None:
    source = folder(tmp_path / "quota")
    (source / "artifacts").mkdir()
    (source / "artifacts" / "ns.yaml").write_text("kind: Namespace\n")
    done = import_one(source, tmp_path / "out" / "quota")
    assert done.runs and done.notes == ("cleanup is not run: the cluster is thrown away",)
    task = load_task(tmp_path / "out" / "quota", strict=True)
    assert (task.task_id, task.provider, task.difficulty) == ("quota", "kwok", "easy")
    assert task.prompt == "Give the team blue a quota of ten pods in its namespace."
    (entry,) = task.verification_spec
    assert entry.check == ScriptCheck(type="script", file="foreign/verify.sh", timeout_sec=90)
    copied = tmp_path / "out" / "quota" / "foreign"
    for path in source.rglob("*"):
        if path.is_file():
            assert (copied / path.relative_to(source)).read_bytes() == path.read_bytes()
    assert task.cluster.agent_role == [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def test_success_is_the_verifier_or_all_expectations(tmp_path: Path) -> None:
    expect = "expect:\n  - {contains: 'web-\\d+'}\n  - {not_contains: '(?i)sorry', contains: ready}\n"
    import_one(folder(tmp_path / "both", TASK + expect), tmp_path / "o1")
    (entry,) = load_task(tmp_path / "o1", strict=True).verification_spec
    assert isinstance(entry.check, Group) and entry.check.type == "any"
    verifier, said = entry.check.checks
    assert isinstance(verifier, ScriptCheck)
    assert isinstance(said, Group) and said.type == "all" and len(said.checks) == 3
    import_one(folder(tmp_path / "only", TASK.replace("verifier: verify.sh\n", "") + expect), tmp_path / "o2")
    (entry,) = load_task(tmp_path / "o2", strict=True).verification_spec
    assert isinstance(entry.check, Group) and entry.check.type == "all"
    assert entry.check.checks[0] == AnswerCheck(type="answer", value="web-\\d+")


def test_prompts_come_from_the_text_or_from_files_of_the_folder(tmp_path: Path) -> None:
    two = "script:\n  - promptFile: say/first.md\n  - prompt: And then stop.\nverifier: verify.sh\n"
    source = folder(tmp_path / "two", two)
    (source / "say").mkdir()
    (source / "say" / "first.md").write_text("List the pods.\n")
    assert resolve_prompt(read(source), source) == "List the pods.\n\nAnd then stop."
    assert "its steps are told at once" in import_one(source, tmp_path / "out").notes


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("script: [{prompt: a, promptFile: b}]", "either prompt or promptFile"),
        ("script: [{}]", "either prompt or promptFile"),
        ("script: []", "has no prompt"),
        ("script: [{promptFile: ../../etc/passwd}]", "outside the folder"),
        ("script: [{promptFile: gone.md}]", "gone.md"),
        ("script: {prompt: a}", "script"),
        ("script: [{prompt: a}]\ntimeout: 5 minutes", "is not a Go duration"),
        ("script: [{prompt: a}]\nexpect: [{contains: '(?=a)b'}]", "is not a regular expression"),
        ("script: [{prompt: a}]\ndisabled: true", "it is disabled"),
        ("script: [{prompt: a}]", "neither a verifier nor expectations"),
        ("script: [{prompt: a}]\nverifier: gone.sh", "gone.sh is no file"),
        ("script: [{prompt: a}]\nverifier: ../x.sh", "is no file of the folder"),
        ("script: [{prompt: a}]\nverifier: verify.sh\nisolation: planet", "isolation 'planet' is not known"),
    ],
)
def test_what_cannot_be_read_is_said_and_not_written(tmp_path: Path, script: str, said: str) -> None:
    done = import_one(folder(tmp_path / "bad", script + "\n"), tmp_path / "out")
    assert not done.runs and said in " ".join(done.why)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("90s", 90), ("1h30m", 5400), (".5m", 30), ("1.5h", 5400), ("250ms", 0.25), ("1m0.5s", 60.5), ("0", 0),
     ("+2s", 2), ("10us", 1e-5), ("10µs", 1e-5), ("7ns", 7e-9)],
)  # fmt: skip
def test_go_durations(text: str, wanted: float) -> None:
    assert seconds(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "5", "5 m", "m", "-3s", "1d", "3s!", "1h 2m"])
def test_what_go_would_not_parse(text: str) -> None:
    with pytest.raises(TaskError):
        seconds(text)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("kubectl -n blue exec web-0 -- cat /etc/motd", "verify.sh:2 needs containers"),
        ("kubectl logs deploy/web | grep ready", "needs containers"),
        ("kubectl --context=one -n blue --as admin -v 6 cp web-0:/etc/motd .", "needs containers"),
        ('kubectl "$FLAGS" exec web-0 -- true', "needs containers"),
        ("kubectl run probe --rm -i --image=curl -- curl http://web", "talks to a container"),
        ('CODE=$(curl -s "http://web")', "needs a network"),
        ("kubectl apply -f https://example.com/x.yaml", "downloads manifests"),
        ("helm upgrade --install web ./chart", "needs this tool"),
        ("until kubectl get pod web | grep CrashLoopBackOff; do sleep 1; done", "only a kubelet reports"),
        ("kubectl get pod web -o jsonpath='{.status.containerStatuses[0].restartCount}'", "only a kubelet reports"),
        ("kubectl get constrainttemplates.templates.gatekeeper.sh", "add-on"),
    ],
)
def test_what_needs_containers_networks_or_tools_is_refused_with_its_line(tmp_path: Path, line: str, why: str) -> None:
    done = import_one(folder(tmp_path / "t", verify=f"#!/bin/sh\n{line}\n"), tmp_path / "out")
    assert not done.runs and why in done.why[0]


@pytest.mark.parametrize(
    "line",
    ["# kubectl logs would do", "kubectl create deployment web --image=nginx", "kubectl get events -n login",
     "kubectl run web --image=nginx --restart=Never", "echo executed", "kubectl delete namespace debug",
     "kubectl -n debug --request-timeout 5s get pods top", "kubectl wait --for=delete pod/web --namespace logs"],
)  # fmt: skip
def test_what_looks_alike_is_not_refused(tmp_path: Path, line: str) -> None:
    assert import_one(folder(tmp_path / "t", verify=f"#!/bin/sh\n{line}\n"), tmp_path / "out").runs


def test_a_script_that_is_not_executable_is_refused(tmp_path: Path) -> None:
    source = folder(tmp_path / "t")
    (source / "verify.sh").chmod(0o644)
    assert "verify.sh is not executable" in import_one(source, tmp_path / "out").why[0]


def test_a_tree_of_tasks_keeps_same_named_folders_apart_and_never_overwrites(tmp_path: Path) -> None:
    source = tmp_path / "tasks"
    folder(source / "a" / "quota")
    folder(source / "b" / "quota")
    folder(source / "probe", verify="#!/bin/sh\nkubectl logs x\n")
    results = import_all(source, tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["a-quota", "b-quota"]
    assert [result.runs for result in results] == [True, True, False]
    with pytest.raises(ConfigError, match="exists already"):
        import_all(source, tmp_path / "out")
    with pytest.raises(ConfigError, match=r"no task\.yaml"):
        import_all(tmp_path / "out" / "a-quota" / "setup", tmp_path / "x")

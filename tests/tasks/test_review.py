"""Every review rule with a task that breaks it and one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.tasks import find_tasks
from devops_bench.tasks.fingerprint import content_hash
from devops_bench.tasks.proved import ProofRecord, write_record
from devops_bench.tasks.review import RULES, annotation, line, review_tasks

BASE = """\
task_id: web
prompt: Bring the web shop back.
expected_output: x
infrastructure: {provider: PROVIDER}
verification_spec:
  - name: up
    check: {type: pod_healthy, selector: app=web, namespace: shop}
  - name: kept
    role: safeguard
    check: {type: identity_preserved, kind: Deployment, resource_name: web, namespace: shop}
"""


def task(folder: Path, text: str = BASE, provider: str = "kwok", **files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text(text.replace("PROVIDER", provider))
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_yaml", ".yaml").replace("_sh", ".sh").replace("_tf", ".tf")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        if path.suffix == ".sh":
            path.chmod(0o755)
    return folder


def found(*folders: Path) -> list[tuple[str, int]]:
    tasks = find_tasks([str(folder) for folder in folders])
    return [(finding.rule, finding.line) for finding in review_tasks(tasks)]


def with_check(check: str, role: str = "objective") -> str:
    """BASE with one more entry, whose check is on line 13."""
    return BASE + f"  - name: more\n    role: {role}\n    check: {check}\n"


FILE = "{type: file, file: x}"
OPPOSITES = "{type: any, checks: [{type: file, file: x, op: exists}, {type: file, file: OTHER, op: absent}]}"
NOTHING = "{type: scaling_complete, deployment: w, namespace: s, min_replicas: 0}"
VALIDATED = "validated: true\ntitle: T\nsummary: S\ncategory: scale\n"
TITLED = BASE.replace("    check:", "    title: T\n    description: D\n    check:")
IAM = 'resource "google_project_iam_member" "x" {\n  member = "serviceAccount:shared@x"\n}\n'
OWN_IAM = 'resource "google_project_iam_member" "x" {\n  member = google_service_account.node.member\n}\n'

# rule, line, files that break it, files that do not
CASES = [
    ("task-unreadable", 1, {"text": "promt: x\n"}, {}),
    ("entry-unreadable", 13, {"text": with_check("{type: nope}")}, {}),
    (
        "no-objective", 4,
        {"text": BASE.replace("expected_output: x\n", "").replace("name: up\n", "name: up\n    role: safeguard\n")}, {},
    ),
    ("no-safeguard", 5, {"text": BASE.split("  - name: kept")[0]}, {}),
    ("group-unknown", 7, {"text": BASE.replace("name: up\n", "name: up\n    group: a\n")},
     {"text": BASE.replace("name: up\n", "name: up\n    group: a\n") + "check_groups: {a: {title: A}}\n"}),
    ("weight-extreme", 7, {"text": with_check(FILE).replace("name: up\n", "name: up\n    weight: 9\n")},
     {"text": with_check(FILE).replace("name: up\n", "name: up\n    weight: 3\n")}),
    ("duration", 4, {"text": BASE.replace("PROVIDER}", "kwok, variables: {ready_timeout: soon}}")},
     {"text": BASE.replace("PROVIDER}", "kwok, variables: {ready_timeout: 1m30s}}")}),
    ("provider-unknown", 4, {"provider": "kwk"}, {"provider": "existing"}),
    ("check-unserved", 13, {"text": with_check("{type: pod_exec, selector: a, command: [id], value: x}")},
     {"text": with_check("{type: pod_exec, selector: a, command: [id], value: x}"), "provider": "kind"}),
    ("check-unserved", 7, {"provider": "none"}, {}),
    ("no-namespace", 13, {"text": with_check("{type: pod_healthy, selector: a=b}")},
     {"text": with_check("{type: resource_property, kind: Node, resource_name: n}")}),
    ("no-namespace", 13, {"text": with_check("{type: resource_property, kind: Pod}")},
     {"text": with_check("{type: resource_property, kind: validatingadmissionpolicies}")}),
    ("tautology", 13, {"text": with_check("{type: file, file: x, op: matches, value: '.*'}")},
     {"text": with_check("{type: file, file: x, op: matches, value: '.*ready'}")}),
    ("tautology", 13, {"text": with_check(NOTHING)}, {}),
    ("tautology", 13,
     {"text": with_check(OPPOSITES.replace("OTHER", "x"))},
     {"text": with_check(OPPOSITES.replace("OTHER", "y"))}),
    ("tautology", 13, {"text": with_check("{type: command, command: ['true']}")},
     {"text": with_check("{type: command, command: ['true'], op: eq, value: x}")}),
    ("tautology", 13, {"text": with_check("{type: command, command: [x], op: matches, value: '.*'}")},
     {"text": with_check("{type: command, command: [x], op: matches, value: '.*ready'}")}),
    ("documents", 15, {"text": TITLED + VALIDATED},
     {"text": TITLED + VALIDATED, "README.md": "x", "solution__a_sh": "true\n", "wrong__a_sh": "true\n"}),
    ("setup-file", 1, {"setup__notes.txt": "x"}, {"setup__10-a_yaml": "", "setup__20-wait_yaml": "[]"}),
    ("telling-name", 1, {"setup__a_yaml": "kind: Pod\nmetadata: {name: broken-pod}\n"},
     {"setup__a_yaml": "kind: Pod\nmetadata: {name: debugger, labels: {app: sidecar-injector}}\n"}),
    ("telling-name", 1, {"setup__a_yaml": "kind: Pod\nmetadata: {name: a, labels: {role: decoy}}\n"}, {}),
    ("harness-name", 2, {"setup__a_yaml": "kind: Pod\n# simulated by kwok\nmetadata: {name: a}\n"}, {}),
    ("harness-name", 2, {"text": BASE.replace("the web shop", "the benchmark")}, {}),
    ("host-path", 2, {"text": BASE.replace("the web shop", "/tmp/shop")},
     {"text": BASE.replace("the web shop", "/tmp/{{CLUSTER_NAME}}")}),
    ("host-path", 2, {"setup__a_sh": "#!/bin/sh\nmkdir $HOME/x\n"}, {"solution__a_sh": "mkdir /tmp/x\n"}),
    ("fixed-port", 2, {"setup__a_sh": "#!/bin/sh\nkubectl port-forward svc/a 8080:80\n"},
     {"setup__a_sh": "#!/bin/sh\nkubectl port-forward svc/a :80\n"}),
    ("fixed-port", 3, {"provider": "kind", "setup__a_yaml": "kind: Pod\nmetadata: {name: a}\nhostPort: 80\n"},
     {"setup__a_yaml": "kind: Pod\nmetadata: {name: a}\nhostPort: 80\n"}),
    ("shared-name", 1, {"provider": "existing", "setup__a_yaml": "kind: ClusterRole\nmetadata: {name: reader}\n"},
     {"provider": "existing", "setup__a_yaml": "kind: ClusterRole\nmetadata: {name: 'r-{{NAMESPACE}}'}\n"}),
    ("shared-name", 4, {"text": BASE.replace("{provider: PROVIDER}", "{deployer: tofu, variables: {bucket: shop}}")},
     {"text": BASE.replace("{provider: PROVIDER}", "{deployer: tofu, variables: {bucket: '{{CLUSTER_NAME}}-shop'}}")}),
    ("project-iam", 1, {"stack__main_tf": IAM}, {"stack__main_tf": OWN_IAM}),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "place", "bad", "good"), CASES, ids=[f"{n}-{c[0]}" for n, c in enumerate(CASES)])
def test_rule_finds_what_it_is_for_and_nothing_else(
    tmp_path: Path, rule: str, place: int, bad: dict[str, str], good: dict[str, str]
) -> None:
    assert (rule, place) in found(task(tmp_path / "bad/web", **bad))
    assert rule not in [name for name, _ in found(task(tmp_path / "good/web", **good))]


def test_a_plain_task_has_no_findings(tmp_path: Path) -> None:
    assert found(task(tmp_path / "web")) == []


def test_a_shared_id_and_a_shared_folder_name_are_found_on_the_second(tmp_path: Path) -> None:
    one, two = task(tmp_path / "a/web"), task(tmp_path / "b/web")
    assert found(one, two) == [("duplicate-folder", 1), ("duplicate-id", 1)]


FILES = {"README.md": "x", "solution__a_sh": "", "wrong__a_sh": "# rung: first-obvious-fix\n"}


def test_a_claim_without_a_current_proof_is_found(tmp_path: Path) -> None:
    folder = task(tmp_path / "web", TITLED + VALIDATED, **FILES)
    assert [rule for rule, _ in found(folder)] == ["proof"]
    write_record(folder, ProofRecord(content_hash(folder), True, "2026-01-01T00:00:00Z", "0", {}))
    assert found(folder) == []
    write_record(folder, ProofRecord(content_hash(folder), False, "2026-01-01T00:00:00Z", "0", {}))
    assert [rule for rule, _ in found(folder)] == ["proof"]


def test_every_rule_has_a_case(tmp_path: Path) -> None:
    elsewhere = {"duplicate-id", "duplicate-folder", "proof"}
    assert {rule.id for rule in RULES} == {case[0] for case in CASES} | elsewhere


def test_output_is_one_line_with_place_and_fix(tmp_path: Path) -> None:
    folder = task(tmp_path / "a,b/web", "promt: x\n")
    (finding,) = review_tasks(find_tasks([str(folder)]))
    assert line(finding, tmp_path) == "a,b/web/task.yaml:1: task-unreadable: unknown key 'promt'; did you mean prompt?"
    assert annotation(finding).startswith("::error file=") and "a%2Cb" in annotation(finding)
    assert "\n" not in annotation(finding)


def test_the_shipped_catalogue_is_clean() -> None:
    tasks = find_tasks("ALL", root=Path(__file__).resolve().parents[2] / "tasks")
    assert [finding for finding in review_tasks(tasks) if finding.rule != "proof"] == []

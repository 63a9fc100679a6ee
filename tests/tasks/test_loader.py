"""What the loader accepts, and the one line that each mistake gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.errors import TaskError
from devops_bench.tasks import fill, load_task, yaml_source
from devops_bench.tasks.spec import Mode, Role

GOOD = """\
task_id: web
name: Web
prompt: Fix the web shop in {{NAMESPACE}}.
verification_spec:
  - name: up
    check: {type: pod_healthy, selector: app=web}
"""


def write(folder: Path, text: str, name: str = "task.yaml") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return folder


def entry(body: str) -> str:
    """A task with one entry, `body` indented below `- name: e` (which is line 4)."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return f"task_id: t\nprompt: p\nverification_spec:\n  - name: e\n{lines}"


def test_minimal_task_has_defaults(tmp_path: Path) -> None:
    task = load_task(write(tmp_path / "tasks/common/web", GOOD))
    assert (task.key, task.provider, task.validated) == ("common/web", "kwok", False)
    assert task.verification_spec[0].role is Role.OBJECTIVE
    assert task.verification_spec[0].effective_mode is Mode.CONVERGE


def test_the_file_itself_may_be_named(tmp_path: Path) -> None:
    assert load_task(write(tmp_path / "x", GOOD) / "task.yaml").task_id == "web"


@pytest.mark.parametrize("key", ["prompt", "goal", "input"])
def test_prompt_aliases(tmp_path: Path, key: str) -> None:
    assert load_task(write(tmp_path, f"id: 7\n{key}: do it\n")).prompt == "do it"


def test_number_as_id_becomes_text_and_names_the_task(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, "id: 7\nprompt: p\n"))
    assert (task.task_id, task.name) == ("7", "7")


def test_folder_names_a_task_without_id(tmp_path: Path) -> None:
    assert load_task(write(tmp_path / "lonely", "prompt: p\n")).task_id == "lonely"


def test_empty_blocks_are_defaults(tmp_path: Path) -> None:
    text = "id: a\nprompt: p\ninfrastructure:\nverification_spec:\nchaos_spec:\ntags:\nvalidated:\nexpected_output:\n"
    task = load_task(write(tmp_path, text))
    assert (task.provider, task.verification_spec, task.tags, task.validated, task.expected_output) == (
        "kwok", [], [], False, "",
    )  # fmt: skip


def test_yaml_12_no_is_a_word_and_there_are_no_dates(tmp_path: Path) -> None:
    text = entry("title: no\ndescription: 2026-01-02\ncheck: {type: pod_healthy, selector: yes}")
    (found,) = load_task(write(tmp_path, text)).verification_spec
    assert (found.title, found.description) == ("no", "2026-01-02")


def test_value_null_is_a_value(tmp_path: Path) -> None:
    body = "check: {type: resource_property, kind: Pod, resource_name: a, path: $.spec.x, op: eq, value: null}"
    assert load_task(write(tmp_path, entry(body))).parse_failures == []


@pytest.mark.parametrize(
    "path", ["$.a.b[*].c", "a.b", ".a.b", "{.a.b}", "a\\\\.b/c.d", "$.a['b/c']", "$.a[?@.b=='c'].d"]
)
def test_paths_may_be_spelled_in_all_common_ways(tmp_path: Path, path: str) -> None:
    body = f'check: {{type: resource_property, kind: Pod, resource_name: a, path: "{path}", op: exists}}'
    assert load_task(write(tmp_path, entry(body))).parse_failures == []


def test_older_entry_shape_is_an_objective(tmp_path: Path) -> None:
    (found,) = load_task(write(tmp_path, entry("spec: {type: pod_healthy, selector: a=b}"))).verification_spec
    assert found.role is Role.OBJECTIVE


def test_both_parsers_agree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'a: [1, 0o17, 0x1F, 1.5, .inf, "7", on, ~, &x {k: v}, *x]\nb: |\n  é — text\nc: !!str 5\n'
    pytest.importorskip("_ruamel_yaml")
    fast = yaml_source.parse(text, "x")
    monkeypatch.setattr(yaml_source, "CParser", None)
    assert yaml_source.parse(text, "x") == fast
    assert fast.data["a"][:4] == [1, 15, 31, 1.5]
    assert fast.data["a"][6:] == ["on", None, {"k": "v"}, {"k": "v"}]
    assert fast.data["c"] == "5"


WHOLE_TASK = [
    ("promt: x\nid: a\n", 1, "unknown key 'promt'", "did you mean prompt"),
    ("id: a\nprompt: p\nprompt: q\n", 3, "'prompt' is given twice (first on line 2)", "remove one"),
    ("id: a\nprompt: p\ngoal: q\n", 3, "'goal' is the same field", "remove one"),
    ("id: a\n", 1, "prompt is missing", ""),
    ("id: a\nprompt: '  '\n", 2, "prompt is missing or empty", ""),
    ("id: a\nprompt: 5\n", 2, "prompt must be text, not the number 5 (quote it)", ""),
    ("id: a\ngoal: [x]\n", 2, "prompt must be text, not a list", ""),
    ("id: a\nprompt: p\nvalidated: yes\n", 3, "validated must be true or false, not the text 'yes'", ""),
    ("id: a\nprompt: p\ncategory: depoly\n", 3, "category cannot be 'depoly'", "did you mean deploy"),
    ("id: a\nprompt: p\ntags: [a, 1]\n", 3, "tags[1] must be text, not the number 1 (quote it)", ""),
    ("id: a\nprompt: p\ninfrastructure:\n  provder: kind\n", 4, "unknown key 'infrastructure.provder'", "provider"),
    ("id: a\nprompt: p\nverification_spec: {}\n", 3, "verification_spec must be a list, not a mapping", ""),
    ("id: a\nprompt: p\nverification_spec:\n- name: x\n- name: x\n", 5, "'x' is used twice (first on line 4)", ""),
    ("id: a\nprompt: in {{NAMESPCE}}\n", 2, "unknown placeholder {{NAMESPCE}}", "did you mean NAMESPACE"),
    ("id: a\nprompt: in {{namespace}}\n", 2, "unknown placeholder {{namespace}}", "did you mean NAMESPACE"),
    ("id: a\nprompt: p\nfolder: /x\n", 3, "unknown key 'folder'", ""),
    ("id: a\nprompt: p\n---\nid: b\n", 4, "more than one YAML document", ""),
    ("id: a\nprompt: !!python/object:os.system p\n", 2, "tag ", "remove it"),
    ("id: a\nprompt: p\n<<: {b: 1}\n", 3, "merge keys", "write the keys out"),
    ("id: a\nprompt: *x\n", 2, "anchor", ""),
    ("id: a\n\tprompt: p\n", 2, "is not YAML", ""),
    ("id: a\nprompt: p: q\n", 2, "is not YAML", "quote"),
    ("- a\n", 1, "a task must be a mapping, not a list", ""),
    ("", 1, "a task must be a mapping, not nothing", ""),
    ("id: a\nprompt: p\nvalidated: true\ntitle: T\nsummary: S\n", 3, "validated: true needs category", ""),
    (
        "id: a\nprompt: p\nvalidated: true\ntitle: T\nsummary: S\ncategory: scale\nverification_spec:\n"
        "- name: x\n  title: T\n  check: {type: pod_healthy, selector: a=b}\n",
        8, "validated: true needs a description on every entry", "add description",
    ),
    ("id: a\nprompt: p\nchaos_spec:\n- name: c\n  trigger: {type: time}\n", 4, "action is missing", ""),
    (
        "id: a\nprompt: p\nverification_spec:\n- name: alive\n  check: {type: pod_healthy, selector: a=b}\n"
        "chaos_spec:\n- name: c\n  trigger: {type: time, delay_seconds: 5}\n"
        "  action: {type: generate_load, target: {service_url: 'http://x'}}\n  verify: alve\n",
        10, "verifies 'alve'", "did you mean alive",
    ),
    ("id: a\nprompt: p\ninfrastructure:\n  variables: {x: .nan}\n", 1, "not finite", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "line", "what", "fix"), WHOLE_TASK)
def test_a_wrong_task_is_one_line_with_its_place(tmp_path: Path, text: str, line: int, what: str, fix: str) -> None:
    file = write(tmp_path, text) / "task.yaml"
    with pytest.raises(TaskError) as caught:
        load_task(file)
    message = str(caught.value)
    assert message.startswith(f"{file}:{line}: ")
    assert what in message and fix in message
    assert "\n" not in message


PROPERTY = "type: resource_property, kind: Pod"
REACH = "type: reachable, port: 80"
ONE_ENTRY = [
    ("check: {type: resource_prop}", 5, "unknown check type 'resource_prop'; did you mean resource_property?"),
    ("check: {kind: Pod}", 5, "check has no type"),
    ("check: [a]", 5, "check must be a mapping, not a list"),
    ("role: objective", 4, "check is missing"),
    ("role: safegard\ncheck: {type: pod_healthy, selector: a}", 5, "did you mean safeguard"),
    ("mode: hol\ncheck: {type: pod_healthy, selector: a}", 5, "mode cannot be 'hol'; did you mean hold"),
    ("weight: 0\ncheck: {type: pod_healthy, selector: a}", 5, "weight must be greater than 0, not 0"),
    ("weight: heavy\ncheck: {type: pod_healthy, selector: a}", 5, "weight"),
    ("severty: recoverable\ncheck: {type: pod_healthy, selector: a}", 5, "did you mean severity"),
    ("severity: catastrophic\ncheck: {type: pod_healthy, selector: a}", 5, "severity is for safeguards only"),
    ("mode: hold\ncheck: {type: pod_healthy, selector: a}", 5, "needs hold_window_sec"),
    ("hold_window_sec: 5\ncheck: {type: pod_healthy, selector: a}", 5, "needs mode: hold"),
    (
        "role: safeguard\nmode: hold\nhold_window_sec: 5\ncheck: {type: pod_healthy, selector: a}",
        7, "remove hold_window_sec",
    ),
    ("check: {type: pod_healthy}", 5, "check.selector is missing"),
    ("check:\n  type: pod_healthy\n  selector: a\n  namspace: b", 8, "did you mean namespace"),
    (f"check: {{{PROPERTY}, op: eq, value: 1}}", 5, "op eq needs path"),
    (f"check: {{{PROPERTY}, path: $.a, op: eq}}", 5, "op eq needs a value"),
    (f"check: {{{PROPERTY}, path: $.a, op: exists, value: 1}}", 5, "op exists takes no value"),
    (f"check: {{{PROPERTY}, path: $.a, op: absent, across_matches: none}}", 5, "remove across_matches"),
    (f"check: {{{PROPERTY}, path: $.a, op: matches, value: '('}}", 5, "is not a regular expression"),
    (f"check: {{{PROPERTY}, path: $.a, op: gt, value: many}}", 5, "op gt needs a number or a quantity"),
    (f"check: {{{PROPERTY}, path: '$.a[', op: eq, value: 1}}", 5, "path is not JSONPath"),
    (f"check: {{{PROPERTY}, path: '$.a[?@.b =~ /x/]', op: eq, value: 1}}", 5, "may not hold a pattern"),
    (f"check: {{{PROPERTY}, path: '$.a b', op: eq, value: 1}}", 5, "path is not JSONPath"),
    (f"check: {{{PROPERTY}, path: $.a, op: equals, value: 1}}", 5, "check.op cannot be 'equals'"),
    (f"check: {{{PROPERTY}, resource_name: a, selector: b=c}}", 5, "exclude each other"),
    ("check:\n  type: all\n  checks:\n    - {type: pod_healthy, selector: a}\n    - {type: nope}", 9, "'nope'"),
    (
        "check:\n  type: any\n  checks:\n    - {type: pod_healthy, selector: a}\n"
        f"    - {{{PROPERTY}, path: $.a, op: lt}}",
        9, "op lt needs a value",
    ),
    ("check: {type: all, checks: []}", 5, "check.checks must not be empty"),
    ("check: {type: dry_run, namespace: a}", 5, "dry_run needs either manifest or template_of"),
    ("check: {type: dry_run, operation: apply, template_of: {kind: Job, resource_name: a}}", 5, "remove operation"),
    ("check: {type: access, user: a}", 5, "needs can or cannot"),
    ("check: {type: access, user: a, can: [{verbs: [], resources: [b]}]}", 5, "must not be empty"),
    (f"check: {{{REACH}, source: {{namespace: a}}, target: {{service: b}}}}", 5, "needs a namespace"),
    (f"check: {{{REACH}, source: {{namespace: a, service: b}}, target: {{namespace: a}}}}", 5, "name its pods"),
    (f"check: {{{REACH}, source: {{namespace: a}}, target: {{namespace: a, selector: b, service: c}}}}", 5, "keep one"),
    (f"check: {{{REACH}, source: {{namespace: a}}, target: {{address: 1.2.3}}}}", 5, "is no IP address"),
    (f"check: {{{REACH}, source: {{namespace: a}}, target: {{address: 1.2.3.4, namespace: a}}}}", 5, "stands alone"),
    ("check: {type: reachable, port: 70000, source: {namespace: a}, target: {namespace: a}}", 5, "does not exist"),
    ("check: {type: reachable, port: x, source: {namespace: a}, target: {address: 1.2.3.4}}", 5, "a named port needs"),
    ("check: {type: scaling_complete, deployment: a, min_replicas: 3, max_replicas: 2}", 5, "below min_replicas"),
    ("check: {type: scaling_complete, deployment: a, min_replicas: '3'}", 5, "a whole number, not the text '3'"),
    ("check: {type: audit, verbs: [delete]}", 5, "needs min_count or max_count"),
    ("check: {type: command, command: []}", 5, "command must not be empty"),
    ("check: {type: git_repo_sync, repo_path: r, path: $.a, op: exists}", 5, "path needs file"),
    ("check: {type: cloud_resource_property, args: [compute, instances, delete, x]}", 5, "may only read"),
    ("check: {type: pod_healthy, selector: a}\nspec: {type: pod_healthy, selector: a}", 6, "mean the same"),
    ("check:\n  type: file\n  file: x\n  valu: a", 8, "unknown key 'check.valu'; did you mean value?"),
    ("check: {type: command, command: [x], path: $.a}", 5, "path needs an op"),
    ("check: {type: command, command: [x], value: 1}", 5, "value needs an op"),
    ("check: {type: command, command: [x], op: eq, value: 1, across_matches: every}", 5, "across_matches needs path"),
    ("check: {type: command, command: [x], path: '$.[', op: eq, value: 1}", 5, "path is not JSONPath"),
    ("check: {type: command, command: [], expect: 1}", 5, "unknown key 'check.expect'; did you mean expect_exit?"),
    ("check: {type: command, command: 'ls'}", 5, "check.command must be a list, not the text 'ls'"),
    ("spec:\n  type: pod_healthy\n  selectr: a", 7, "did you mean selector"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "line", "what"), ONE_ENTRY)
def test_a_wrong_entry_is_kept_as_a_failure_with_its_line(tmp_path: Path, body: str, line: int, what: str) -> None:
    folder = write(tmp_path, entry(body))
    task = load_task(folder)
    assert task.verification_spec == []
    (failure,) = task.parse_failures
    assert failure.name == "e"
    assert what in failure.reason
    assert failure.line == line
    with pytest.raises(TaskError, match="e: "):
        load_task(folder, strict=True)


def test_an_entry_without_name_still_counts(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, "id: a\nprompt: p\nverification_spec:\n- {check: {type: pod_healthy}}\n- 5\n"))
    assert [failure.name for failure in task.parse_failures] == ["entry-1", "entry-2"]


@pytest.mark.parametrize("fast", [True, False])
def test_alias_bomb_is_refused(tmp_path: Path, fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not fast:
        monkeypatch.setattr(yaml_source, "CParser", None)
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 10))
    with pytest.raises(TaskError, match="expands to more than"):
        load_task(write(tmp_path, bomb))


def test_huge_binary_and_deep_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="larger than 1024 KiB"):
        load_task(write(tmp_path / "big", "prompt: " + "x" * (1 << 20) + "\n"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/task.yaml").write_bytes(b"id: a\nprompt: \xff\xfe\n")
    with pytest.raises(TaskError, match=r"task.yaml:2: is not UTF-8"):
        load_task(tmp_path / "bin")
    with pytest.raises(TaskError, match="nested deeper"):
        load_task(write(tmp_path / "deep", "prompt: " + "[" * 200 + "]" * 200 + "\n"))


def test_missing_task_says_what_a_task_is(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match=r"no such task; a task is a folder with a task.yaml"):
        load_task(tmp_path)


def test_fill_replaces_names_and_aliases_everywhere(tmp_path: Path) -> None:
    text = (
        "id: a\nprompt: in {{ NAMESPACE }} of {{GKE_CLUSTER_NAME}} and {{CLUSTER_NAME}}\n"
        "expected_output: x {{NAMESPACE}}\n"
        "verification_spec:\n- name: e\n  check: {type: pod_healthy, selector: a=b, namespace: '{{NAMESPACE}}'}\n"
    )
    task = fill(load_task(write(tmp_path, text)), {"NAMESPACE": "shop", "CLUSTER_NAME": "c1"})
    assert task.prompt == "in shop of c1 and c1"
    assert task.expected_output == "x shop"
    assert task.verification_spec[0].check.namespace == "shop"  # type: ignore[union-attr]


def test_fill_names_the_line_of_what_is_left(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, "id: a\nprompt: |\n  hello\n  in {{GCP_PROJECT_ID}}\n"))
    with pytest.raises(TaskError, match=r"task.yaml:4: placeholder {{PROJECT_ID}} is not filled"):
        fill(task, {"NAMESPACE": "x"})


def test_templates_and_ci_expressions_are_no_placeholders(tmp_path: Path) -> None:
    prompt = "keep ${{ MATRIX }} and {{ .Values.x }} and {{ $labels.pod }} and {{ end }}"
    task = load_task(write(tmp_path, f"id: a\nprompt: '{prompt}'\n"))
    assert fill(task, {}).prompt == prompt


def test_cluster_file_and_stages_beside_the_task(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, "nodes:\n  - {name: n, count: 2, zone: a}\nagent_role:\n", "cluster.yaml")
    write(tmp_path / "stages", "kind: Stage\nmetadata: {name: s}\n", "slow.yaml")
    needs = load_task(tmp_path).cluster
    assert needs.nodes[0].count == 2
    assert needs.stages == [str(tmp_path / "stages/slow.yaml")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nodes:\n  - {name: n, cuont: 2}\n", r"cluster.yaml:2: unknown key 'nodes\[0\].cuont'; did you mean count"),
        ("nodes:\n  - {name: n, count: 0}\n", r"cluster.yaml:2: nodes\[0\].count must be at least 1, not 0"),
        ("stages: [../x.yaml]\n", r"cluster.yaml:1: stage file '../x.yaml' is not in the task folder"),
        ("[]\n", "cluster.yaml:1: must be a mapping"),
    ],
)
def test_a_wrong_cluster_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, text, "cluster.yaml")
    with pytest.raises(TaskError, match=message):
        load_task(tmp_path)


def test_a_stage_may_not_run_commands(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path / "stages", "kind: Stage\nspec:\n  next: {exec: {local: {}}}\n", "s.yaml")
    with pytest.raises(TaskError, match=r"s.yaml:2: a stage may not use exec"):
        load_task(tmp_path)

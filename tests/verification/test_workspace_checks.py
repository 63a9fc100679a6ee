"""`file` and `command`: the agent's folder is hostile, and a broken file is the agent's failure, not ours."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devops_bench.kube import Deadline
from devops_bench.verification import Status, Verdict, VerifyContext, confined, structured
from devops_bench.verification.evaluate import evaluate
from devops_bench.verification.scope import Scope

from .builders import LIMITS, FakeSandbox, check

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "deploy").mkdir(parents=True)
    (folder / "deploy/web.yaml").write_text("kind: Deployment\nspec:\n  replicas: 3\n---\nkind: Service\nspec: {}\n")
    (folder / "a.json").write_text('{"a": [1, 2]}')
    (folder / "a.toml").write_text('[tool]\nname = "x"\n')
    (folder / "note.txt").write_text("all good\n")
    (tmp_path / "secret").write_text("the answer")
    return folder


def look(workspace: Path | None, **fields: Any) -> Verdict:
    return evaluate(
        check("file", **fields), Scope(VerifyContext(workspace=workspace, limits=LIMITS), None, Deadline.after(5))
    )


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"file": "note.txt"}, PASS),
        ({"file": "note.txt", "op": "eq", "value": "all good"}, PASS),
        ({"file": "note.txt", "op": "contains", "value": "bad"}, FAIL),
        ({"file": "note.txt", "op": "absent"}, FAIL),
        ({"file": "gone.txt"}, FAIL),
        ({"file": "gone.txt", "op": "absent"}, PASS),
        ({"file": "gone.txt", "path": "a", "op": "absent"}, FAIL),
        ({"file": "gone/x.txt", "op": "absent"}, PASS),
        ({"file": "a.json", "path": "a[1]", "op": "eq", "value": 2}, PASS),
        ({"file": "a.toml", "path": "tool.name", "op": "eq", "value": "x"}, PASS),
        ({"file": "deploy/web.yaml", "path": "$[?(@.x)]", "op": "exists"}, FAIL),
        ({"file": "deploy/web.yaml", "path": "spec.replicas", "op": "eq", "value": 3}, FAIL),
        ({"file": "deploy/web.yaml", "path": "kind", "op": "eq", "value": "Service", "across_matches": "none"}, FAIL),
        ({"file": "deploy/web.yaml", "path": "kind", "op": "exists", "across_matches": "every"}, PASS),
        ({"file": "deploy/web.yaml", "path": "spec.replicas", "op": "exists", "across_matches": "every"}, FAIL),
    ],
)
def test_a_file_is_judged_by_its_text_or_its_structure(
    workspace: Path, fields: dict[str, Any], expected: Status
) -> None:
    assert look(workspace, **fields).status is expected


def test_without_a_workspace_nothing_is_established(tmp_path: Path) -> None:
    assert look(None, file="x").status is ERROR
    assert look(tmp_path / "gone", file="x").status is ERROR


def test_the_home_is_reached_by_a_tilde(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hi")
    scope = Scope(VerifyContext(workspace=tmp_path, home=tmp_path, limits=LIMITS), None, Deadline.after(5))
    assert evaluate(check("file", file="~/x"), scope).status is PASS


@pytest.mark.parametrize(
    "name", ["../secret", "deploy/../../secret", "/etc/passwd", "", ".", "a\0b", "..", "~/../secret"]
)
def test_a_name_cannot_lead_out(workspace: Path, name: str) -> None:
    verdict = look(workspace, file=name, op="contains", value="")
    assert verdict.status is not PASS


def test_links_are_not_followed_and_what_is_no_plain_file_is_not_opened(workspace: Path) -> None:
    (workspace / "link").symlink_to(workspace.parent / "secret")
    (workspace / "dir").symlink_to(workspace.parent)
    os.mkfifo(workspace / "fifo")
    for name in ("link", "dir/secret", "fifo", "deploy"):
        verdict = look(workspace, file=name)
        assert verdict.status is FAIL, name
        assert "the answer" not in verdict.reason


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x.yaml", "a: [unclosed"),
        ("x.yaml", "a: 1\na: 2"),
        ("x.yaml", "? [a]\n: b\n? {c: d}\n: e"),
        ("x.yaml", "a: !!python/object/apply:os.system [true]"),
        ("x.yaml", "{{ .Values.x }}"),
        ("x.yaml", "[" * 60_000),
        ("x.yaml", "- " * 60_000),
        ("x.yaml", "x" * (300 << 10)),
        ("x.json", "{"),
        ("x.json", "[" * 100_000),
        ("x.toml", "a = "),
        ("x.yaml", "&a [*a]"),
        (
            "x.yaml",
            "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{c}: &{c} [{','.join([f'*{p}'] * 10)}]\n" for p, c in zip("abcdef", "bcdefg", strict=True)),
        ),
        (
            "x.yaml",
            "a: &a {x: 1}\n"
            + "".join(
                f"{c}: &{c} {{<<: [{','.join([f'*{p}'] * 10)}]}}\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
            ),
        ),
        ("x.yaml", "&a {<<: *a}"),
        ("x.yaml", "a: \x00"),
        ("x.yaml", "a: 2024-99-99T00:00:00"),
    ],
)
def test_a_file_that_cannot_be_parsed_fails_in_one_line(workspace: Path, name: str, text: str) -> None:
    (workspace / name).write_text(text)
    verdict = look(workspace, file=name, path="zzz", op="eq", value=1)
    assert verdict.status is FAIL
    assert verdict.reason.isprintable()


def test_merge_keys_within_reason_are_read(workspace: Path) -> None:
    (workspace / "x.yaml").write_text("base: &base {image: web, tag: '1'}\nown: {<<: *base, tag: '2'}\n")
    assert look(workspace, file="x.yaml", path="own.image", op="eq", value="web").status is PASS
    assert look(workspace, file="x.yaml", path="own.tag", op="eq", value="2").status is PASS


def test_yaml_is_1_2_and_its_dates_are_text() -> None:
    assert structured.parse("a: no\nb: 2024-01-02\nc: 1.20\nd: 0o17", "x") == [
        {"a": "no", "b": "2024-01-02", "c": 1.2, "d": 15}
    ]


@given(st.text(max_size=60), st.sampled_from(["x.yaml", "x.json", "x.toml"]))
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_is_parsed_or_refused_in_one_line(text: str, name: str) -> None:
    try:
        structured.parse(text, name)
    except structured.Unreadable as error:
        assert "\n" not in str(error)


def test_a_large_file_is_refused_by_size(workspace: Path) -> None:
    with (workspace / "big").open("wb") as handle:
        handle.truncate(confined.MOST_BYTES + 1)
    assert look(workspace, file="big").status is FAIL


def run(answer: Any, **fields: Any) -> Verdict:
    scope = Scope(VerifyContext(sandbox_run=FakeSandbox({"x": answer}), limits=LIMITS), None, Deadline.after(5))
    return evaluate(check("command", command=["x"], **fields), scope)


@pytest.mark.parametrize(
    ("answer", "fields", "expected"),
    [
        ((0, "", ""), {}, PASS),
        ((1, "", "boom"), {}, FAIL),
        ((3, "", ""), {"expect_exit": 3}, PASS),
        ((0, "v1.2\n", ""), {"op": "eq", "value": "v1.2"}, PASS),
        ((0, "v1.2", ""), {"op": "matches", "value": "^v2"}, FAIL),
        ((1, "v1.2", ""), {"op": "eq", "value": "v1.2"}, FAIL),
        (TimeoutError(), {}, ERROR),
        (OSError("no bwrap"), {}, ERROR),
        ((0, "", ""), {"op": "matches", "value": "("}, ERROR),
        ((0, '{"a": {"b": 2}}', ""), {"path": "$.a.b", "op": "gte", "value": 2}, PASS),
        ((0, '{"a": {"b": 2}}', ""), {"path": "$.a.c", "op": "eq", "value": 2}, FAIL),
        ((0, '{"a": [1, 2]}', ""), {"path": "$.a[*]", "op": "lt", "value": 2, "across_matches": "every"}, FAIL),
        ((0, "null", ""), {"path": "$.a", "op": "absent"}, FAIL),
        ((0, "a: 1", ""), {"path": "$.a", "op": "eq", "value": 1}, FAIL),
        ((1, '{"a": 1}', ""), {"path": "$.a", "op": "eq", "value": 1}, FAIL),
    ],
)
def test_a_command_is_judged_by_exit_code_and_output(answer: Any, fields: dict[str, Any], expected: Status) -> None:
    assert run(answer, **fields).status is expected


def test_without_a_sandbox_no_command_is_run() -> None:
    scope = Scope(VerifyContext(limits=LIMITS), None, Deadline.after(5))
    assert evaluate(check("command", command=["x"]), scope).status is ERROR

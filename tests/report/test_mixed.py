"""Scores of several versions stand in one table only with a warning, in every form of the report."""

from __future__ import annotations

import csv
import hashlib
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest

from devops_bench.report.csvtext import to_csv
from devops_bench.report.data import to_json
from devops_bench.report.html import render as to_html
from devops_bench.report.load import load_run
from devops_bench.report.markdown import to_markdown
from devops_bench.report.model import Run
from devops_bench.report.table import render
from devops_bench.results.environment import NO_RULES, Environment, hash_text

from .runs import RunFolder, combo

BASE = Environment(
    auth_mode="api-key", sandbox={"kind": "bwrap"}, network="closed", agent={"name": "api", "version": "1.0"},
    task_hash="sha256:" + "a" * 64, code_hash="sha256:" + "1" * 64, rules_hash=NO_RULES,
)  # fmt: skip
OTHER_CODE = replace(BASE, code_hash="sha256:" + "2" * 64)
OTHER_TASK = replace(BASE, task_hash="sha256:" + "b" * 64)
OTHER_RULES = replace(BASE, rules_hash=hash_text("Be kind."))
OTHER_AGENT = replace(BASE, agent={"name": "api", "version": "1.1"})


def load(root: Path, *parts: tuple[str, Environment, str]) -> Run:
    """A run of one combo for each (task, environment, state)."""
    run = RunFolder(root)
    for task, environment, state in parts:
        run.attempt(run.add(combo(task, f"model-{len(run.combos)}", "api")), state=state, environment=environment)
    return load_run(run.finish())


def test_one_version_needs_no_warning(tmp_path: Path) -> None:
    assert load(tmp_path, ("a", BASE, "scored"), ("b", OTHER_TASK, "failed"), ("a", BASE, "failed")).warnings == ()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (OTHER_CODE, ["2 versions of devops-bench", "not comparable", "code 111111111111", "code 222222222222"]),
        (OTHER_TASK, ["task a was changed during the run", "aaaaaaaaaaaa", "bbbbbbbbbbbb"]),
        (
            OTHER_RULES,
            [
                "given 2 different rules (AGENT_RULES_TEXT)",
                "not comparable",
                "no rules:",
                f"{hashlib.sha256(b'Be kind.').hexdigest()[:12]}:",
            ],
        ),
        (OTHER_AGENT, ["agent api ran in 2 versions", "1.0", "1.1"]),
    ],
)
def test_what_differs_is_named_with_the_combos_of_each(tmp_path: Path, other: Environment, words: list[str]) -> None:
    run = load(tmp_path, ("a", BASE, "scored"), ("a", BASE, "failed"), ("a", other, "scored"))
    (line,) = run.warnings
    assert all(word in line for word in words), line
    assert "2 combos (a__model-0__api, a__model-1__api)" in line and "1 combo (a__model-2__api)" in line


def test_attempts_without_a_score_and_unknown_versions_make_no_warning(tmp_path: Path) -> None:
    unknown = replace(BASE, code_hash=None, task_hash=None, rules_hash=None, agent={"name": "api", "version": ""})
    parts = [("a", BASE, "scored"), ("a", OTHER_CODE, "invalid"), ("a", unknown, "failed")]
    assert load(tmp_path, *parts).warnings == ()


def test_every_form_says_it(tmp_path: Path) -> None:
    run = load(tmp_path, ("a", BASE, "scored"), ("b", OTHER_CODE, "failed"))
    for text in (render(run), render(run, color=True, width=400), to_markdown(run), to_html(run)):
        assert "2 versions of devops" in text.replace("\\-", "-")
    data = json.loads(to_json(run))
    assert data["warnings"] == list(run.warnings)
    assert [item["made"]["code"] for item in data["combos"]] == [BASE.code_hash, OTHER_CODE.code_hash]
    rows = list(csv.DictReader(StringIO(to_csv(run))))
    assert [row["code_hash"] for row in rows] == [BASE.code_hash, OTHER_CODE.code_hash]
    assert {row["rules_hash"] for row in rows} == {NO_RULES}
    assert {row["task_hash"] for row in rows} == {BASE.task_hash} and rows[0]["agent_version"] == "1.0"


def test_what_was_aimed_at_clusters_of_others_is_listed(tmp_path: Path) -> None:
    finding = {
        "rule": "foreign-cluster", "tool": "gcloud", "reason": "cluster prod is not of this task",
        "command": "gcloud container clusters delete prod <b>", "source": "log", "blocked": False,
    }  # fmt: skip
    run = RunFolder(tmp_path)
    run.attempt(run.add(combo("a", "m", "api")), guard=[finding, {**finding, "blocked": True, "source": "shim"}])
    loaded = load_run(run.finish())
    assert len(loaded.guarded) == 2
    for text in (render(loaded), to_html(loaded), to_markdown(loaded)):
        assert "clusters delete prod" in text and "clusters of others" in text.lower() and "stopped" in text
    assert "<b>" not in to_html(loaded).split("clusters delete prod")[1][:6]
    assert json.loads(to_json(loaded))["combos"][0]["guard"] == list(loaded.combos[0].guard)


@pytest.mark.parametrize("value", [7, "text", {"a": 1}, [1, None, "x", {}], None])
def test_strange_findings_and_environments_break_nothing(tmp_path: Path, value: object) -> None:
    run = RunFolder(tmp_path)
    where = run.attempt(run.add(combo("a", "m", "api")))
    told = json.loads((where / "attempt.json").read_text())
    (where / "attempt.json").write_text(json.dumps({**told, "guard": value}))
    (where / "environment.json").write_text(json.dumps({"hashes": value, "agent": value, "versions": value}))
    assert render(load_run(run.finish()))

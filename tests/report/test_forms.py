"""JSON, CSV, Markdown and JUnit: parsed back by their own readers."""

from __future__ import annotations

import csv
import json
import xml.etree.ElementTree as ET
from io import StringIO
from pathlib import Path

import pytest

from devops_bench.report.csvtext import COLUMNS, to_csv
from devops_bench.report.data import to_json
from devops_bench.report.junit import to_junit
from devops_bench.report.load import load_run
from devops_bench.report.markdown import escape, to_markdown
from devops_bench.report.model import Run

from .runs import STAMP, RunFolder, check, combo

EVIL = '=cmd|"/c calc"!A1\x00\x1b[31m\ud800 <b>&\'"`*_|~ @all [x](http://x) </script>\r\nsecond'


@pytest.fixture
def run(showcase_run: Run) -> Run:
    return showcase_run


@pytest.fixture
def evil(tmp_path: Path) -> Run:
    folder = RunFolder(tmp_path)
    bad = check("c", "fail", title=EVIL, reason=EVIL, failure_hint=EVIL)
    folder.attempt(folder.add(combo("common/a", "m", "api")), state="failed", score=0.0, checks=[bad])
    folder.attempt(
        folder.add(combo("common/b", "m", "api")),
        state="invalid",
        outcome={"class": "infra", "reason": EVIL},
    )
    return load_run(folder.finish())


def test_json_has_counts_leaderboard_and_combos(run: Run) -> None:
    data = json.loads(to_json(run), parse_constant=lambda name: pytest.fail(name))
    assert data["counts"] == {"planned": 21, "scored": 19, "passed": 13, "failed": 6, "invalid": 1, "unfinished": 1}
    assert (data["stamp"], data["exit"], data["done"], data["complete"]) == (STAMP, 3, True, True)
    assert len(data["setups"]) == 6
    assert sum(s["scored"] for s in data["setups"]) == 19
    assert data["best"]["setup"] == data["setups"][0]["setup"]
    assert data["residue"]
    assert str(run.directory) not in to_json(run).replace(json.dumps(data["problems"]), "")


def test_a_json_combo_has_all_keys_and_null_where_nothing_is_known(run: Run) -> None:
    combos = json.loads(to_json(run))["combos"]
    assert len({tuple(sorted(item)) for item in combos}) == 1
    invalid = next(item for item in combos if item["verdict"] == "invalid")
    for key in ("score", "cost_usd", "latency_sec", "checks_passed", "checks_total", "tool_calls", "model_turns"):
        assert invalid[key] is None, key
    assert (invalid["class"], invalid["phase"]) == ("config-auth", "agent")
    assert invalid["why"].startswith("config-auth in agent")
    passed = next(item for item in combos if item["verdict"] == "passed")
    assert passed["why"] is None
    assert not passed["directory"].startswith("/")
    assert passed["checks"][0]["status"] == "pass"


def test_csv_has_a_line_per_combo_and_empty_cells_for_the_unknown(run: Run) -> None:
    rows = list(csv.DictReader(StringIO(to_csv(run))))
    assert len(rows) == 21
    assert tuple(rows[0]) == COLUMNS
    invalid = next(row for row in rows if row["result"] == "invalid")
    assert (invalid["score"], invalid["cost_usd"], invalid["checks_total"]) == ("", "", "")
    zero = next(row for row in rows if row["score"] == "0.0")
    assert zero["result"] == "failed"


def test_csv_text_cannot_become_a_formula_or_another_line(evil: Run) -> None:
    rows = list(csv.DictReader(StringIO(to_csv(evil))))
    assert len(rows) == 2
    for row in rows:
        assert not any(value.startswith(("=", "+", "-", "@")) for value in row.values())


def test_junit_counts_invalid_as_errors_and_unfinished_as_skipped(run: Run) -> None:
    root = ET.fromstring(to_junit(run))
    assert {key: root.get(key) for key in ("tests", "failures", "errors", "skipped")} == {
        "tests": "21", "failures": "6", "errors": "1", "skipped": "1",
    }  # fmt: skip
    assert len(root.findall("testsuite")) == 6
    assert len(root.findall(".//testcase")) == 21
    assert len(root.findall(".//failure")) == 6
    [error] = root.findall(".//error")
    assert error.get("type") == "config-auth"
    assert "401" in str(error.get("message"))


def test_junit_of_hostile_text_is_well_formed(evil: Run) -> None:
    root = ET.fromstring(to_junit(evil))
    assert "</script>" in str(root.findall(".//failure")[0].get("message"))


def test_markdown_shows_everything_in_tables(run: Run) -> None:
    text = to_markdown(run)
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in table[:8]}) == 1
    assert len(table) == 2 + 6 + 2 + 21
    assert "## Not passed" in text
    assert "19/21 scored" in text


@pytest.mark.parametrize(("hint", "end"), [("Restart it.", "Fix: Restart it."), ("Restart it", "Fix: Restart it.")])
def test_a_hint_in_markdown_ends_with_one_full_stop(tmp_path: Path, hint: str, end: str) -> None:
    folder = RunFolder(tmp_path)
    bad = check("drain", "fail", reason="the node is not drained.", failure_hint=hint)
    folder.attempt(folder.add(combo("kwok/t", "m", "api")), state="failed", score=0.0, checks=[bad])
    folder.finish()
    (line,) = [one for one in to_markdown(load_run(folder.path)).splitlines() if "Fix:" in one]
    assert line.endswith(f"drain: the node is not drained. {end}")


def test_markdown_of_hostile_text_is_only_text(evil: Run) -> None:
    text = to_markdown(evil)
    assert "<b>" not in text.replace("\\<b\\>", "")
    assert "http://" not in text
    assert "@all" not in text
    assert "\x1b" not in text
    rows = [line for line in text.splitlines() if line.startswith("| common")]
    assert len(rows) == 2


@pytest.mark.parametrize("text", ["a|b", "<i>", "`x`", "*x*", "[x](y)", "# h", "a_b_c", "~~x~~", "!x"])
def test_markdown_markup_is_escaped(text: str) -> None:
    assert escape(text).replace("\\", "") == text
    assert "\\" in escape(text)

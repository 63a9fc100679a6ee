"""Whatever stands in a run's files, a report comes out: a summary must never keep a run from being done."""

from __future__ import annotations

import copy
import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from devops_bench.report import html, junit, markdown, summarise
from devops_bench.report.csvtext import to_csv
from devops_bench.report.data import to_json
from devops_bench.report.load import load_run
from devops_bench.report.model import Verdict
from devops_bench.report.table import render

from .runs import RunFolder, call, check, combo

STRANGE: list[Any] = [
    None, True, -1, 0, 1e308, 10**400, float("nan"), "", "x", "\x1b[2J<b>", [], [None], [[]], {}, {"a": {"b": []}},
    ["x", 1], "2026-01-31T12:00:00Z", {"score": "high"}, [{"status": 5, "role": [], "weight": {}}],
]  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = RunFolder(tmp_path_factory.mktemp("small"))
    record = {
        "trajectory": [call("bash", {"command": "ls"}, "x")],
        "output": "done",
        "cheating_report": {"status": "clean", "findings": [{"severity": "low", "category": "c", "excerpt": "e"}]},
    }
    audit = [{"verb": "get", "responseStatus": {"code": 200}}]
    run.attempt(run.add(combo("a", "m", "api+mcp")), record=record, audit=audit, status=0)
    run.attempt(run.add(combo("b", "m", "api+mcp")), state="failed", score=0.5, checks=[check("c", "fail")], status=1)
    run.attempt(run.add(combo("c", "m", "api+mcp")), state="invalid", outcome={"class": "infra", "reason": "r"})
    return run.finish()


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every path inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at, *(path for key, item in inner for path in places(item, (*at, key)))]


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    changed = copy.copy(value)
    changed[path[0]] = put(value[path[0]], path[1:], new)
    return changed


NAMES = ["outcome.json", "attempt.json", "rows.json", "results.json", "environment.json", "audit.jsonl"]


@pytest.mark.parametrize("name", NAMES)
def test_a_report_comes_out_whatever_one_file_says(tmp_path: Path, small: Path, name: str) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    dice = random.Random(name)
    for path in sorted(folder.glob(f"*/run_*/{name}")):
        original = path.read_bytes()
        data = json.loads(original.splitlines()[0] if name.endswith("l") else original)
        for place in places(data):
            for strange in dice.sample(STRANGE, 2):
                path.write_text(json.dumps(put(data, place, strange)))
                run = load_run(folder)
                assert len(run.combos) == 3
                for text in (render(run), to_json(run), to_csv(run), markdown.to_markdown(run), junit.to_junit(run)):
                    assert text
                assert html.render(run).endswith("</html>")
        path.write_bytes(original)
    summarise(folder)
    verdicts = [combo.verdict for combo in load_run(folder).combos]
    assert verdicts == [Verdict.PASSED, Verdict.FAILED, Verdict.INVALID]


def test_a_report_comes_out_whatever_the_journal_says(tmp_path: Path, small: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small, folder)
    for path in folder.glob("*/run_*/outcome.json"):
        path.unlink()
    journal = folder / "journal.jsonl"
    lines = journal.read_text().splitlines()
    dice = random.Random(7)
    for number, line in enumerate(lines):
        data = json.loads(line)
        for place in places(data):
            strange = dice.choice(STRANGE)
            journal.write_text(
                "\n".join([*lines[:number], json.dumps(put(data, place, strange)), *lines[number + 1 :], ""])
            )
            run = load_run(folder)
            assert render(run)
            assert to_json(run)
            assert html.render(run)

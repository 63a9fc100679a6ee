"""A sum of costs that leaves something out says so in every form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.report import html, markdown, table
from devops_bench.report.data import to_json
from devops_bench.report.load import load_run

from .runs import RunFolder, combo

UNKNOWN = {"cost_usd": None}


def run_with(tmp_path: Path, *cells: tuple[str, str, dict[str, object]]) -> RunFolder:
    folder = RunFolder(tmp_path)
    for number, (model, agent, outcome) in enumerate(cells):
        folder.attempt(folder.add(combo(f"kwok/t{number}", model, agent, agent=agent)), outcome=dict(outcome))
    folder.finish()
    return folder


def test_every_form_names_the_models_whose_cost_is_not_known(tmp_path: Path) -> None:
    folder = run_with(tmp_path, ("known", "api", {}), ("new", "api", UNKNOWN), ("new", "api", UNKNOWN))
    run = load_run(folder.path)
    said = "the cost is incomplete: it is not known for new (2 combos), which counts as 0 in sums and budgets"
    assert run.warnings == (said,)
    for text in (table.render(run), markdown.to_markdown(run), html.render(run)):
        assert "the cost is incomplete" in text and "2 combos" in text
    assert json.loads(to_json(run))["warnings"] == [said]


@pytest.mark.parametrize("cell", [("known", "api", {}), ("scripted:x", "api", UNKNOWN), ("none", "scripted", UNKNOWN)])
def test_what_is_known_or_asks_no_paid_model_is_complete(
    tmp_path: Path, cell: tuple[str, str, dict[str, object]]
) -> None:
    assert load_run(run_with(tmp_path, cell).path).warnings == ()


def test_an_attempt_that_used_nothing_leaves_nothing_out(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.attempt(folder.add(combo("kwok/t", "new", "api")), state="invalid")
    folder.finish()
    assert load_run(folder.path).warnings == ()

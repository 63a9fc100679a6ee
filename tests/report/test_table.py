"""The summary at the end of a run, on a terminal and in a log."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from devops_bench.report import show, summarise, texts
from devops_bench.report.load import load_run
from devops_bench.report.model import Check, Run, Verdict
from devops_bench.report.table import HEADERS, render
from devops_bench.report.verdicts import decisive, why
from devops_bench.settings import FailureClass

from .runs import STAMP, RunFolder, check, combo

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def plain(showcase_run: Run) -> str:
    return render(showcase_run, 120, False)


def line_of(text: str, *words: str) -> str:
    [found] = [line for line in text.splitlines() if tuple(line.split()[: len(words)]) == words]
    return found


def test_the_table_has_the_columns_that_were_asked_for(plain: str) -> None:
    header = plain.splitlines()[2].split()
    assert header == list(HEADERS)


def test_a_passed_row(plain: str) -> None:
    assert line_of(plain, "kwok/quota-surge", "gemini-3.1-pro", "api+mcp+skills").split() == [
        "kwok/quota-surge", "gemini-3.1-pro", "api+mcp+skills", "api-key", "passed", "0", "1.00", "4", "3/3", "1m24s",
        "$0.0740",
    ]  # fmt: skip


def test_what_is_not_known_is_a_dash_and_never_a_zero(plain: str) -> None:
    invalid = line_of(plain, "kwok/drain-blocked", "qwen3:8b", "api")
    assert invalid.split()[4:] == ["invalid", "1", "–", "–", "–", "–", "–"]
    planned = line_of(plain, "none/release-notes", "claude-opus-5")
    assert planned.split()[3:] == ["–", "planned", "–", "–", "–", "–", "–", "–"]


def test_a_score_of_zero_is_shown_as_zero(plain: str) -> None:
    assert line_of(plain, "kwok/quota-surge", "qwen3:8b", "api").split()[4:7] == ["failed", "1", "0.00"]


def test_totals_show_their_denominators(plain: str) -> None:
    assert "19/21 scored: 13 passed, 6 failed; not scored: 1 invalid, 1 unfinished" in plain
    assert "retries: 1 further attempt\n" in plain
    assert "(known for 13/21 combos)" in plain


def test_every_combo_that_did_not_pass_has_its_line_and_what_to_do(plain: str) -> None:
    assert "catastrophic safeguard The tenant's data is kept: PersistentVolumeClaim data is gone" in plain
    assert "fix: A policy without a binding denies nothing" in plain
    assert "config-auth in agent: the model's API refused the credentials: 401 invalid x-api-key" in plain
    assert "cause: model-auth" in plain
    assert "fix: check the API key" in plain


def test_residue_is_told(plain: str) -> None:
    assert "left behind by teardown:" in plain
    assert "directory /state/c0ffee1 is still there" in plain


def test_the_terminals_version_says_the_same_and_keeps_to_its_width(showcase_run: Run) -> None:
    for width in (80, 120, 200):
        text = render(showcase_run, width, True)
        assert ANSI.search(text)
        lines = ANSI.sub("", text).splitlines()
        assert max(len(line) for line in lines) <= width
        assert "19/21 scored: 13 passed, 6 failed" in " ".join(lines)


@pytest.mark.parametrize("color", [True, False])
def test_text_from_outside_cannot_steer_the_terminal(tmp_path: Path, color: bool) -> None:
    run = RunFolder(tmp_path)
    evil = "\x1b]0;owned\x07\x1b[2J\r\n\u202egood [bold]x[/bold] [link=http://x]y[/link]"
    planned = run.add(combo("common/a", "m[red]", "api"))
    run.attempt(
        planned, state="failed", score=0.0, checks=[check("c", "fail", reason=evil, failure_hint=evil, title=evil)]
    )
    text = ANSI.sub("", render(load_run(run.finish()), 160, color))
    assert not set(text) & {"\x1b", "\x07", "\r", "\u202e"}
    assert "[bold]x[/bold]" in text
    assert "m[red]" in text


def entry(name: str, status: str, role: str = "objective", severity: str | None = None, weight: float = 1.0) -> Check:
    return Check(name, "", role, severity, None, status, f"reason {name}", "", "", weight)


@pytest.mark.parametrize(
    ("checks", "name"),
    [
        ([entry("a", "pass"), entry("b", "fail"), entry("c", "fail", weight=5)], "c"),
        ([entry("a", "fail", weight=9), entry("b", "fail", "safeguard", "catastrophic")], "b"),
        ([entry("a", "fail", "safeguard", "recoverable", 9), entry("b", "fail", weight=0.1)], "b"),
        ([entry("a", "error", weight=9), entry("b", "fail")], "b"),
        ([entry("a", "fail"), entry("b", "error", "safeguard", "catastrophic")], "a"),
        ([entry("a", "pass"), entry("b", "fail", "safeguard", "recoverable")], "b"),
        ([entry("a", "pass")], None),
        ([], None),
    ],
)
def test_the_check_that_decided(checks: list[Check], name: str | None) -> None:
    found = decisive(tuple(checks))
    assert (found.name if found else None) == name


def test_a_breach_of_integrity_decides_over_checks(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    scores = {"OutcomeScore": {"score": 0.0}, "IntegrityCatastrophic": 0.0}
    run.attempt(
        run.add(combo("a", "m", "api")),
        state="failed",
        score=0.0,
        record={"scores": scores},
        checks=[check("c", "fail")],
    )
    [read] = load_run(run.finish()).combos
    assert "looked at the benchmark" in why(read, STAMP).line


@pytest.mark.parametrize("klass", [*(str(item) for item in FailureClass), "something-new"])
def test_every_class_of_fault_has_advice(tmp_path: Path, klass: str) -> None:
    run = RunFolder(tmp_path)
    run.attempt(run.add(combo("a", "m", "api")), state="invalid", outcome={"class": klass, "reason": "because"})
    [read] = load_run(run.finish()).combos
    told = why(read, STAMP)
    assert told.line == f"{klass}: because"
    assert told.fix


def test_summarise_leaves_four_files_and_show_names_the_report(
    tmp_path: Path, showcase_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(showcase_folder, folder)
    summarise(folder)
    for name in ("rows.json", "manifests.json", "summary.json", "report.html"):
        assert (folder / name).stat().st_mode & 0o777 == 0o600, name
    show(folder)
    assert capsys.readouterr().out.endswith(f"report: {folder / 'report.html'}\n")


def test_summarise_of_a_run_without_any_result_or_with_a_malformed_row_still_summarises(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    planned = run.add(combo("a", "m", "api"))
    folder = run.finish()
    summarise(folder)
    assert "not aggregated" in (folder / "summary.json").read_text()
    attempt = run.attempt(planned)
    run.finish()
    (attempt / "rows.json").write_text("[{]")
    summarise(folder)
    assert str(attempt / "rows.json") in (folder / "summary.json").read_text()
    assert [c.verdict for c in load_run(folder).combos] == [Verdict.PASSED]


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (texts.score(None), "–"),
        (texts.score(0.0), "0.00"),
        (texts.score(0.999), "0.99"),
        (texts.score(0.001), "0.01"),
        (texts.score(1), "1.00"),
        (texts.percent(0.999), "99%"),
        (texts.percent(0.001), "1%"),
        (texts.percent(None), "–"),
        (texts.usd(None), "–"),
        (texts.usd(0.0), "$0"),
        (texts.usd(0.00421), "$0.0042"),
        (texts.usd(1234.5), "$1,234.50"),
        (texts.seconds(None), "–"),
        (texts.seconds(0), "0.0s"),
        (texts.seconds(9.96), "10s"),
        (texts.seconds(59.6), "1m00s"),
        (texts.seconds(3725), "1h02m"),
        (texts.count(0), "0"),
        (texts.count(None), "–"),
        (texts.count(12_345), "12.3k"),
        (texts.count(999_960), "1.0M"),
        (texts.ratio(None, 0), "–"),
        (texts.number(None), "–"),
        (texts.number(0), "0"),
        (texts.plain("a\x00b\n\tc", 4), "a b…"),
    ],
)
def test_values_as_people_read_them(shown: str, expected: str) -> None:
    assert shown == expected

"""What a smoke combo must show: every way to be less than the label says has its own line."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.combo.outcome import Outcome
from devops_bench.errors import ConfigError
from devops_bench.matrix.axes import read_axes
from devops_bench.matrix.plan import AgentConfig
from devops_bench.matrix.presets import parse_config
from devops_bench.models.scenario import load_scenarios
from devops_bench.settings import ComboState
from devops_bench.smoke.plan import SmokeOptions, plan
from devops_bench.smoke.run import Report
from devops_bench.smoke.verdict import Row, Seen, Verdict, judge, look

WELL = Outcome(ComboState.SCORED, 0)
GOOD = Seen(WELL, "completed", 1, ("Bash",), agreement="agrees", version="1.2.3")
FULL = replace(
    GOOD, calls=3, mcp_calls=1, mcp_tools=19, granted_skills=("smoke-check",), skills=("smoke-check",)
)  # fmt: skip


def config(text: str) -> AgentConfig:
    return parse_config(text)[0]


@pytest.mark.parametrize(
    ("label", "seen"),
    [
        ("cc", GOOD),
        ("cc+mcp", replace(GOOD, mcp_calls=1)),
        ("cc+skills", replace(GOOD, granted_skills=("smoke-check",), skills=("smoke-check",))),
        ("cc+mcp+skills", FULL),
    ],
)
def test_a_configuration_that_is_what_it_says(label: str, seen: Seen) -> None:
    verdict, line = judge(config(label), seen)
    assert verdict is Verdict.GOOD
    assert "transcript and evidence agree" in line


@pytest.mark.parametrize(
    ("label", "seen", "verdict", "line"),
    [
        ("cc", replace(GOOD, outcome=None), Verdict.INVALID, "died without an outcome"),
        ("cc", replace(GOOD, outcome=Outcome(ComboState.STOPPED, 1)), Verdict.INVALID, "stopped"),
        (
            "cc",
            replace(GOOD, outcome=Outcome(ComboState.INVALID, 1, "setup", "agent", "grant-leaked", "a tool")),
            Verdict.INVALID,
            "setup in agent: a tool",
        ),
        ("cc", replace(GOOD, calls=0, end="empty"), Verdict.BAD, "the transcript is empty (the run ended: empty)"),
        ("cc", replace(GOOD, tools=()), Verdict.BAD, "no tool was used"),
        ("cc+mcp", GOOD, Verdict.BAD, "no call reached the MCP server"),
        ("cc", replace(GOOD, mcp_calls=1), Verdict.BAD, "an MCP call without +mcp"),
        ("cc+skills", GOOD, Verdict.BAD, "was not granted"),
        ("cc+skills", replace(GOOD, granted_skills=("smoke-check",)), Verdict.BAD, "was not used"),
        ("cc", replace(GOOD, granted_skills=("x",)), Verdict.BAD, "skills without +skills"),
        (
            "cc",
            replace(GOOD, agreement="differs", differences=("mcp-count-differs",)),
            Verdict.BAD,
            "do not agree: mcp-count-differs",
        ),
        ("cc", replace(GOOD, agreement="no_data"), Verdict.BAD, "do not agree: no_data"),
        (
            "cc",
            replace(GOOD, outcome=Outcome(ComboState.FAILED, 1, reason="answered: no file")),
            Verdict.BAD,
            "the task was not done: answered: no file",
        ),
    ],
)
def test_each_lack_has_its_line(label: str, seen: Seen, verdict: Verdict, line: str) -> None:
    found, said = judge(config(label), seen)
    assert found is verdict
    assert line in said


def test_the_worst_row_is_the_report_s() -> None:
    def report(*verdicts: Verdict) -> Verdict:
        return Report(tuple(Row("cc", "claude", one, "", 1.0, GOOD) for one in verdicts)).verdict

    assert report(Verdict.GOOD, Verdict.GOOD) is Verdict.GOOD
    assert report(Verdict.GOOD, Verdict.BAD) is Verdict.BAD
    assert report(Verdict.BAD, Verdict.INVALID, Verdict.GOOD) is Verdict.INVALID


def test_a_folder_without_files_tells_nothing_and_raises_nothing(tmp_path: Path) -> None:
    (tmp_path / "attempt.json").write_text("{")
    seen = look(tmp_path)
    assert seen == Seen(None)


def test_the_plan_has_one_combo_for_each_configuration_with_a_cluster_only_for_mcp(tmp_path: Path) -> None:
    options = read_axes({}, {"tasks": ("x",), "models": ("m",), "skills_paths": (str(tmp_path),)}).options
    labels = ["cc", "cc+mcp", "gcli+skills", "codex+mcp+skills", "noop"]
    found = plan([config(label) for label in labels], options, SmokeOptions(), tmp_path)
    assert [combo.config.preset for combo in found.combos] == labels[:-1]
    assert [combo.provider for combo in found.combos] == ["none", "kwok", "none", "kwok"]
    assert len({combo.rid for combo in found.combos}) == 4
    assert found.options.skills_paths[0] == str(tmp_path)  # what the user grants is tried too
    written = load_scenarios(Path(str(found.options.scenarios_dir)))
    assert {combo.model.removeprefix("scripted:") for combo in found.combos} == set(written)
    again = plan([config("cc")], options, SmokeOptions(), tmp_path)
    assert again.combos[0].rid != found.combos[0].rid  # two smoke tests on one host do not wait for each other


def test_a_real_model_keeps_provider_and_scenarios_of_the_run(tmp_path: Path) -> None:
    axes = {"tasks": ("x",), "models": ("m",), "agent_provider": "openai"}
    options = read_axes({}, axes).options
    found = plan([config("api")], options, SmokeOptions(model="gpt-5"), tmp_path)
    assert found.combos[0].model == "gpt-5"
    assert found.options.agent_provider == "openai"
    assert found.options.scenarios_dir is None


def test_what_cannot_be_tried_is_said_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    from devops_bench.cli.smoke import choose, real_model

    with pytest.raises(ConfigError, match="noop ask no model"):
        choose(("noop",), {})
    with pytest.raises(ConfigError, match="unknown agent 'gclii'"):
        choose(("gclii",), {})
    with pytest.raises(ConfigError, match="--real needs one model"):
        real_model(None, {"MATRIX_MODELS": "a b"})
    assert real_model(None, {"MATRIX_MODELS": "a"}) == "a"
    assert [one.preset for one in choose((), {"MATRIX_AGENT_CONFIGS": "api noop api+skills"})] == ["api", "api+skills"]


@pytest.mark.parametrize("label", ["oc", "codex+mcp+skills"])
def test_the_table_shows_names_whole_and_its_columns_in_line(label: str) -> None:
    from devops_bench.cli.smoke import columns, head, line

    widths = columns([config("cc"), config(label)])
    row = line(Row(label, "agent", Verdict.GOOD, "well", 2.34, GOOD), widths)
    assert row.split() == [label, "1.2.3", "2.3", "1", "0", "good:", "well"]
    assert head(widths).index("verdict") == row.index("good")

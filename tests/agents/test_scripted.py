"""The agents `scripted` and `noop`: a solution plays with the agent's rights, and every call is recorded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.agents import get
from devops_bench.agents.base import CallStatus, EndReason
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Sandbox
from tests.boxes import task_for

pytestmark = pytest.mark.sandbox


def script(tmp_path: Path, name: str, text: str) -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_bash_script_is_one_call(any_box: Sandbox, tmp_path: Path) -> None:
    heard: list[str] = []
    source = '#!/bin/bash\nset -e\necho "$GIVEN" >answer.txt  # fix:\nread -r line || echo "no input"\npwd\n'
    task = task_for(any_box, script=script(tmp_path, "solve.sh", source), emit=lambda kind, _f: heard.append(kind))
    run = get("scripted").run(replace(task, env={"GIVEN": "42"}))
    assert (run.end, run.errors) == (EndReason.COMPLETED, ())
    assert (any_box.spec.workspace / "answer.txt").read_text() == "42\n"
    (call,) = run.tool_calls
    assert (call.name, call.args, call.status) == ("bash", {"command": source}, CallStatus.OK)
    assert call.result == f"no input\n{any_box.workspace}\n"
    assert 0 < call.started <= call.ended
    assert "output" in heard and "tool_call" in heard
    assert run.output == "Played solve.sh: 1 call(s), 0 failed."


def test_a_failing_script_is_completed_with_a_failed_call(box: Sandbox, tmp_path: Path) -> None:
    run = get("scripted").run(task_for(box, script=script(tmp_path, "wrong.sh", "echo partly; exit 3")))
    assert run.end is EndReason.COMPLETED
    assert (run.tool_calls[0].status, run.tool_calls[0].result) == (CallStatus.ERROR, "partly\n\n[exit 3]")


def test_a_script_cannot_read_its_own_folder(box: Sandbox, tmp_path: Path) -> None:
    path = script(tmp_path, "probe.sh", f"cat {tmp_path}/secret || echo hidden")
    (tmp_path / "secret").write_text("CANARY")
    run = get("scripted").run(task_for(box, script=path))
    assert "CANARY" not in run.tool_calls[0].result
    assert run.tool_calls[0].result.endswith("hidden\n")


@pytest.mark.parametrize("name", ["slow.sh", "slow.yaml"])
def test_the_time_limit_ends_a_script(box: Sandbox, tmp_path: Path, name: str) -> None:
    text = "sleep 1000" if name.endswith("sh") else "- {tool: bash, args: {command: sleep 1000}}\n- {text: unreached}\n"
    run = get("scripted").run(task_for(box, script=script(tmp_path, name, text), timeout=0.5))
    assert run.end is EndReason.TIMEOUT
    assert "timed out" in run.tool_calls[0].result
    assert "unreached" not in [step.message for step in run.steps]


def test_a_list_of_calls_plays_in_order_and_goes_on_after_a_failure(any_box: Sandbox, tmp_path: Path) -> None:
    text = """\
- text: I look.
- {tool: bash, args: {command: "false"}}
- {tool: file, args: {action: write, path: deep/er/a.txt, content: "one two"}}
- {tool: file, args: {action: edit, path: deep/er/a.txt, old: two, new: three}}
- {tool: file, args: {action: read, path: deep/er/a.txt}}
- {tool: file, args: {action: edit, path: deep/er/a.txt, old: absent, new: x}}
- {tool: file, args: {action: list, path: deep}}
- {tool: browser, args: {}}
- {tool: bash, args: {command: "sleep 1000", timeout_sec: 0.2}}
- {tool: bash, args: {command: "echo alive"}}
"""
    run = get("scripted").run(task_for(any_box, script=script(tmp_path, "play.yaml", text)))
    assert run.end is EndReason.COMPLETED
    assert run.steps[0].message == "I look."
    ok = [call.status is CallStatus.OK for call in run.tool_calls]
    assert ok == [False, True, True, True, False, True, False, False, True]
    assert run.tool_calls[3].result == "one three"
    assert "`old` occurs 0 times" in run.tool_calls[4].result
    assert "er" in run.tool_calls[5].result
    assert "no tool 'browser'" in run.tool_calls[6].result
    assert "timed out" in run.tool_calls[7].result
    assert run.tool_calls[8].result == "alive\n"


def test_variables_of_the_task_reach_every_tool(box: Sandbox, tmp_path: Path) -> None:
    path = script(tmp_path, "play.yaml", "- {tool: bash, args: {command: echo $GIVEN}}\n")
    run = get("scripted").run(replace(task_for(box, script=path), env={"GIVEN": "42"}))
    assert run.tool_calls[0].result == "42\n"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.yaml", "- {tool: bash, args: {command: x}, extra: 1}", "a.yaml: item 0"),
        ("a.yaml", "just words", "a.yaml: item : Input should be a valid list"),
        ("a.yaml", "- [", "a.yaml:1: not YAML|a.yaml:2: not YAML"),
        ("a.yaml", "- {tool: 7}", "item 0"),
    ],
)
def test_a_broken_script_is_a_config_error_with_its_place(
    box: Sandbox, tmp_path: Path, name: str, text: str, says: str
) -> None:
    with pytest.raises(ConfigError, match=says):
        get("scripted").run(task_for(box, script=script(tmp_path, name, text)))


def test_no_script_is_a_config_error(box: Sandbox) -> None:
    with pytest.raises(ConfigError, match="no script to play"):
        get("scripted").run(task_for(box))


def test_noop_does_nothing_and_says_so(box: Sandbox) -> None:
    run = get("noop").run(task_for(box))
    assert (run.end, run.tool_calls, run.usage, run.latency) == (EndReason.COMPLETED, (), None, 0.0)
    assert [step.message for step in run.steps] == ["No action taken."]
    assert list(box.spec.workspace.iterdir()) == []

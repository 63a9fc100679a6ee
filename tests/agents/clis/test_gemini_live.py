"""The real Gemini CLI in the real sandbox against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind
from devops_bench.agents.clis.gemini import Gemini
from devops_bench.sandbox import SandboxMode
from tests.agents.clis import faults
from tests.agents.clis.live import WORD, offered, play

pytestmark = pytest.mark.sandbox
soak = pytest.mark.soak

EVERYTHING = """
turns:
  - text: I look first.
    thinking: Hm.
    calls:
      - shell: pwd && ls -A /home/agent && id -u && exit 3
      - file: {action: write, path: /workspace/a.txt, content: alpha}
      - mcp: {tool: echo, server: k8s, args: {text: salut}}
  - skill: read-the-runbook
  - text: All is well.
    usage: {input: 1000, output: 50, cached: 200, reasoning: 10}
"""


def test_shell_file_mcp_and_skill(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", EVERYTHING, mcp=[], skills=True)
    run = result.run
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "All is well.", ())
    shell, write, echo, skill = run.tool_calls
    assert "/workspace" in shell.result and "1000" in shell.result and shell.status is CallStatus.ERROR
    assert (result.workspace / "a.txt").read_text() == "alpha" and write.status is CallStatus.OK
    assert (echo.kind, "salut" in echo.result, result.mcp_calls) == (ToolKind.MCP, True, ["echo"])
    assert (skill.kind, WORD in skill.result, run.skills_used) == (ToolKind.SKILL, True, ("read-the-runbook",))
    assert run.usage is not None and run.usage.reasoning and run.usage.cached == 200
    assert run.model_turns == 3 and run.version == "0.61.0"
    assert all(run.steps[0].time < call.ended for call in run.tool_calls)
    assert Gemini.builtin_tools | Gemini.skill_tools <= offered(result)
    assert "mcp_k8s_echo" in offered(result)
    assert result.box["network"] == "closed"


def test_a_baseline_run_is_offered_its_own_tools_and_no_others(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", "turns: [{text: Done.}]", prompt="Mail a@b.org about @a/file; /help")
    assert offered(result) == Gemini.builtin_tools
    body = json.loads(result.bodies[0])
    assert "read-the-runbook" not in json.dumps(body)
    texts = [part.get("text", "") for content in body["contents"] for part in content["parts"]]
    assert any(text.endswith("Mail a@b.org about @a/file; /help") for text in texts), "the prompt arrives as it is"
    assert result.run.tool_calls == () and len(result.exchanges) == 1


@pytest.mark.parametrize("name", faults.every_fault({"429", "refusal"}, faults.PLAIN))
def test_a_model_fault_ends_it_at_once(mode: SandboxMode, tmp_path: Path, name: str) -> None:
    faults.check_fault(Gemini(), mode, tmp_path / "r", name, requests=1)


@soak
def test_a_reply_cut_off_by_the_token_limit_is_its_last(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", "turns: [{fault: max_tokens}]")
    assert (result.run.end, result.run.raw_end) == (EndReason.COMPLETED, "max_tokens")
    assert len(result.exchanges) == 1, "nothing is tried again"


@soak
def test_a_model_that_hangs(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", "turns: [{fault: hang}]", patience=2)
    assert (result.run.end, result.run.raw_end) == (EndReason.API_ERROR, "no_reply")


@soak
def test_the_time_limit(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", "turns: [{shell: sleep 600}, {text: Never.}]", timeout=15)
    assert (result.run.end, result.run.raw_end) == (EndReason.TIMEOUT, "timeout")


@soak
def test_a_loop_ends_at_the_limit_of_turns(mode: SandboxMode, tmp_path: Path) -> None:
    turns = "turns:\n" + "  - shell: 'true'\n" * 6
    result = play(Gemini(), mode, tmp_path / "r", turns, turns=3)
    assert result.run.end is EndReason.MAX_TURNS


@soak
def test_five_megabytes_of_output(mode: SandboxMode, tmp_path: Path) -> None:
    scenario = "turns: [{shell: yes x | head -c 5000000}, {text: Done.}]"
    result = play(Gemini(), mode, tmp_path / "r", scenario)
    assert result.run.end is EndReason.COMPLETED and len(result.run.tool_calls[0].result) > 1000


@soak
def test_a_cli_that_is_killed_did_not_finish(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Gemini(), mode, tmp_path / "r", "turns: [{shell: kill -9 $PPID}, {text: Done.}]")
    assert result.run.end is EndReason.SELF_ENDED


@soak
def test_a_dead_mcp_server_is_seen_on_the_wire(mode: SandboxMode, tmp_path: Path) -> None:
    scenario = (
        "turns: [{mcp: {tool: die, server: k8s}}, {mcp: {tool: echo, server: k8s, args: {text: a}}}, {text: Done.}]"
    )
    result = play(Gemini(), mode, tmp_path / "r", scenario, mcp=[])
    assert result.run.end is EndReason.COMPLETED
    assert result.run.tool_calls[0].status is CallStatus.ERROR

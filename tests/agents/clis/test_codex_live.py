"""The real Codex CLI in the real sandbox against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind
from devops_bench.agents.clis.codex import Codex
from devops_bench.sandbox import SandboxMode
from tests.agents.clis import faults
from tests.agents.clis.live import WORD, offered, play

pytestmark = pytest.mark.sandbox
soak = pytest.mark.soak
# It offers apply_patch to models that it knows to have learnt it.
OWN = Codex.builtin_tools - {"apply_patch"}

EVERYTHING = """
usage: {input: 1000, output: 50, cached: 200, reasoning: 10}
turns:
  - text: I look first.
    thinking: Hm.
    calls:
      - shell: pwd && ls -A /home/agent && id -u && exit 3
      - file: {action: write, path: /workspace/a.txt, content: alpha}
      - mcp: {tool: echo, server: k8s, args: {text: salut}}
  - skill: read-the-runbook
  - text: All is well.
"""


def test_shell_file_mcp_and_skill(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Codex(), mode, tmp_path / "r", EVERYTHING, mcp=[], skills=True)
    run = result.run
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "All is well.", ())
    shell, write, echo, skill = run.tool_calls
    assert "/workspace" in shell.result and "1000" in shell.result and shell.status is CallStatus.ERROR
    assert (result.workspace / "a.txt").read_text() == "alpha" and write.status is CallStatus.OK
    assert (echo.name, echo.kind, "salut" in echo.result) == ("mcp__k8s__echo", ToolKind.MCP, True)
    assert result.mcp_calls == ["echo"]
    assert (WORD in skill.result, run.skills_used) == (True, ("read-the-runbook",))
    assert run.usage is not None
    assert (run.usage.input, run.usage.output, run.usage.cached, run.usage.reasoning) == (3000, 150, 600, 30)
    assert (run.steps[0].message, run.steps[0].reasoning) == ("I look first.", "Hm.")
    assert run.model_turns == 3 and run.version == "0.171.0" and run.tool_wait_sec
    assert all(run.steps[0].time <= call.started <= call.ended for call in run.tool_calls)
    names = {name for name in offered(result) if not name.startswith("mcp__k8s/")}
    assert names == OWN | Codex.mcp_tools
    assert "mcp__k8s/echo" in offered(result)
    assert result.box["network"] == "closed"


def test_a_baseline_run_is_offered_its_own_tools_and_no_others(mode: SandboxMode, tmp_path: Path) -> None:
    prompt = "Mail a@b.org about @a/file; /help $skill"
    result = play(Codex(), mode, tmp_path / "r", "turns: [{text: Done.}]", prompt=prompt)
    assert offered(result) == OWN
    body = json.loads(result.bodies[0])
    assert not [tool for tool in body["tools"] if tool["type"] not in {"function", "custom"}], "no tool of the provider"
    assert "SKILL.md" not in json.dumps(body)
    texts = [part["text"] for item in body["input"] if item.get("role") == "user" for part in item["content"]]
    assert any(text.endswith(prompt) for text in texts), "the prompt arrives as it is"
    assert result.run.tool_calls == () and len(result.exchanges) == 1


@pytest.mark.parametrize("model", ["gpt-5.5", "gpt-6.2-sol", pytest.param("gpt-5.6-luna", marks=soak)])
def test_models_it_knows_get_tools_that_can_be_seen(mode: SandboxMode, tmp_path: Path, model: str) -> None:
    """Newer ones would get a single tool that runs JavaScript, with all others, and a server's, out of sight."""
    scenario = f"model: {model}\nturns: [{{mcp: {{tool: echo, args: {{text: salut}}}}}}, {{text: Done.}}]"
    result = play(Codex(), mode, tmp_path / "r", scenario, mcp=[], model=model)
    assert (result.run.end, result.mcp_calls) == (EndReason.COMPLETED, ["echo"])
    names = {name for name in offered(result) if not name.startswith("mcp__k8s/")}
    assert names == Codex.builtin_tools | Codex.mcp_tools


def test_a_command_does_not_see_the_key(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Codex(), mode, tmp_path / "r", "turns: [{shell: 'echo [$OPENAI_API_KEY]'}, {text: Done.}]")
    assert result.run.tool_calls[0].result.endswith("[]\n")


def test_only_granted_skills_are_listed(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Codex(), mode, tmp_path / "r", "turns: [{text: Done.}]", skills=True)
    whole = json.dumps(json.loads(result.bodies[0])["input"])
    assert whole.count("/SKILL.md)") == 1 and "read-the-runbook/SKILL.md)" in whole


@pytest.mark.parametrize("broken", [pytest.param("/bin/false", marks=soak), "/absent/server"])
def test_a_server_that_does_not_start_is_no_success(mode: SandboxMode, tmp_path: Path, broken: str) -> None:
    result = faults.check_broken_server(Codex(), mode, tmp_path / "r", broken)
    assert result.exchanges == ()


@pytest.mark.parametrize("name", faults.every_fault())
def test_a_fault_ends_it_at_once_and_rightly(mode: SandboxMode, tmp_path: Path, name: str) -> None:
    faults.check_fault(Codex(), mode, tmp_path / "r", name)

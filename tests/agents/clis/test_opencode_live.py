"""The real OpenCode in the real sandbox against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind
from devops_bench.agents.clis.opencode import OpenCode
from devops_bench.sandbox import SandboxMode
from tests.agents.clis import faults
from tests.agents.clis.live import WORD, offered, play

pytestmark = pytest.mark.sandbox
soak = pytest.mark.soak

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
  - tool: {name: grep, args: {pattern: alpha, path: /workspace}}
  - text: All is well.
"""


def test_shell_file_mcp_skill_and_search(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(OpenCode(), mode, tmp_path / "r", EVERYTHING, mcp=[], skills=True)
    run = result.run
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "All is well.", ())
    shell, write, echo, skill, found = run.tool_calls
    assert "/workspace" in shell.result and "1000" in shell.result and shell.status is CallStatus.ERROR
    assert (result.workspace / "a.txt").read_text() == "alpha" and write.status is CallStatus.OK
    assert (echo.name, echo.kind, "salut" in echo.result) == ("k8s_echo", ToolKind.MCP, True)
    assert result.mcp_calls == ["echo"]
    assert (skill.kind, WORD in skill.result, run.skills_used) == (ToolKind.SKILL, True, ("read-the-runbook",))
    assert "a.txt" in found.result and found.status is CallStatus.OK, "it has what it searches by"
    assert run.usage is not None
    assert (run.usage.input, run.usage.output, run.usage.cached, run.usage.reasoning) == (4000, 200, 800, 40)
    assert (run.steps[0].message, run.steps[0].reasoning) == ("I look first.", "Hm.")
    assert run.model_turns == 4 and run.version == "1.18.33"
    assert all(run.steps[0].time <= call.started <= call.ended for call in run.tool_calls)
    assert result.bodies[0].count(b"SKILL.md") <= 1 and b"customize-opencode" not in result.bodies[0]
    names = {name for name in offered(result) if not name.startswith("k8s_")}
    assert names == OpenCode.builtin_tools | OpenCode.skill_tools
    assert result.box["network"] == "closed"


def test_a_baseline_run_is_offered_its_own_tools_and_no_others(mode: SandboxMode, tmp_path: Path) -> None:
    """Whatever a workspace configures."""
    planted = {"permission": {"*": "allow"}, "instructions": ["planted.md"], "model": "other/model"}
    before = {"opencode.json": json.dumps(planted), "planted.md": "A planted instruction."}
    prompt = "Mail a@b.org about @a/file; /help"
    result = play(OpenCode(), mode, tmp_path / "r", "turns: [{text: Done.}]", prompt=prompt, before=before)
    assert offered(result) == OpenCode.builtin_tools
    body = json.loads(result.bodies[0])
    whole = json.dumps(body)
    assert "SKILL.md" not in whole and "<available_skills>" not in whole and "A planted instruction" not in whole
    users = [json.dumps(message["content"]) for message in body["messages"] if message["role"] == "user"]
    assert any(prompt in text for text in users), "the prompt arrives as it is"
    assert result.run.tool_calls == () and len(result.exchanges) == 1


@pytest.mark.parametrize("name", faults.every_fault({"429"}))
def test_a_fault_ends_it_at_once_and_rightly(mode: SandboxMode, tmp_path: Path, name: str) -> None:
    # It takes some seconds to start.
    more = {"timeout": 40} if "to the limit" in name else {}
    faults.check_fault(OpenCode(), mode, tmp_path / "r", name, **more)

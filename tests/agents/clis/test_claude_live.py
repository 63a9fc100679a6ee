"""The real Claude Code in the real sandbox against a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind
from devops_bench.agents.clis.claude import Claude
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
  - file: {action: edit, path: /workspace/a.txt, old: alpha, new: beta}
  - skill: read-the-runbook
  - text: All is well.
"""


def test_shell_file_mcp_and_skill(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Claude(), mode, tmp_path / "r", EVERYTHING, mcp=[], skills=True)
    run = result.run
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "All is well.", ())
    shell, write, echo, edit, skill = run.tool_calls
    assert "/workspace" in shell.result and "1000" in shell.result and shell.status is CallStatus.ERROR
    assert (result.workspace / "a.txt").read_text() == "beta"
    assert (write.status, edit.status) == (CallStatus.OK, CallStatus.OK)
    assert (echo.kind, echo.result, result.mcp_calls) == (ToolKind.MCP, "salut", ["echo"])
    assert (skill.kind, WORD in skill.result, run.skills_used) == (ToolKind.SKILL, True, ("read-the-runbook",))
    assert run.usage is not None
    assert (run.usage.input, run.usage.output, run.usage.cached, run.usage.reasoning) == (4000, 200, 800, 40)
    assert run.steps[0].usage is not None and run.steps[0].usage.output == 50
    assert (run.steps[0].message, run.steps[0].reasoning) == ("I look first.", "Hm.")
    assert run.model_turns == 4 and run.version == "2.1.332" and run.tool_wait_sec
    assert all(run.steps[0].time <= call.started <= call.ended for call in run.tool_calls)
    names = {name for name in offered(result) if not name.startswith("mcp__k8s__")}
    assert names == Claude.builtin_tools | Claude.skill_tools
    assert "mcp__k8s__echo" in offered(result), "not hidden behind a search for tools"
    assert result.box["network"] == "closed"


def test_a_baseline_run_is_offered_its_own_tools_and_no_others(mode: SandboxMode, tmp_path: Path) -> None:
    prompt = "Mail a@b.org about @a/file; /help #note"
    result = play(Claude(), mode, tmp_path / "r", "turns: [{text: Done.}]", prompt=prompt)
    assert offered(result) == Claude.builtin_tools
    body = json.loads(result.bodies[0])
    assert "available for use with the Skill tool" not in json.dumps(body)
    texts = [block["text"] for message in body["messages"] for block in message["content"] if message["role"] == "user"]
    assert any(text.endswith(prompt) for text in texts), "the prompt arrives as it is"
    assert result.run.tool_calls == () and len(result.exchanges) == 1


def test_only_granted_skills_are_listed(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Claude(), mode, tmp_path / "r", "turns: [{text: Done.}]", skills=True)
    whole = json.dumps(json.loads(result.bodies[0])["messages"])
    listed = whole.split("available for use with the Skill tool:")[1].split('"')[0]
    names = [line.split(":")[0] for line in listed.split("\\n- ")[1:]]
    assert names == ["read-the-runbook"], "the CLI brings skills of its own"


def test_settings_and_memory_in_its_home_are_not_read(mode: SandboxMode, tmp_path: Path) -> None:
    home = tmp_path / "r" / "home" / ".claude"
    home.mkdir(parents=True)
    (home / "CLAUDE.md").write_text("CANARY in memory")
    (home / "settings.json").write_text('{"env": {"CANARY": "1"}, "permissions": {"deny": ["Bash"]}}')
    result = play(Claude(), mode, tmp_path / "r", "turns: [{shell: 'echo [$CANARY]'}, {text: Done.}]")
    assert b"CANARY in memory" not in result.bodies[0]
    assert (result.run.tool_calls[0].status, result.run.tool_calls[0].result) == (CallStatus.OK, "[]")


@pytest.mark.parametrize("broken", [pytest.param("/bin/false", marks=soak), "/absent/server"])
def test_a_server_that_does_not_start_is_no_success(mode: SandboxMode, tmp_path: Path, broken: str) -> None:
    faults.check_broken_server(Claude(), mode, tmp_path / "r", broken)


@pytest.mark.parametrize("name", faults.every_fault())
def test_a_fault_ends_it_at_once_and_rightly(mode: SandboxMode, tmp_path: Path, name: str) -> None:
    faults.check_fault(Claude(), mode, tmp_path / "r", name)


@soak
def test_a_reply_cut_off_by_the_token_limit_is_continued(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(Claude(), mode, tmp_path / "r", "turns: [{fault: max_tokens}, {text: Done.}]")
    assert (result.run.end, result.run.output) == (EndReason.COMPLETED, "Done.")


@soak
def test_extra_flags_are_the_users_to_give(mode: SandboxMode, tmp_path: Path) -> None:
    flags = ("--append-system-prompt", "Always say please.")
    result = play(Claude(), mode, tmp_path / "r", "turns: [{text: Done.}]", extra_flags=flags)
    assert b"Always say please." in result.bodies[0]

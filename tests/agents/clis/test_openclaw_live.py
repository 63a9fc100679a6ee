"""The real OpenClaw in the real sandbox against a scripted model. A start costs 15 CPU-seconds: few by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind
from devops_bench.agents.clis.openclaw import OpenClaw
from devops_bench.sandbox import SandboxMode
from tests.agents.clis import faults
from tests.agents.clis.live import WORD, offered, play

pytestmark = pytest.mark.sandbox
soak = pytest.mark.soak

EVERYTHING = """
turns:
  - text: I look first.
    calls:
      - shell: pwd && id -u && exit 3
      - file: {action: write, path: /workspace/a.txt, content: alpha}
      - mcp: {tool: echo, server: k8s, args: {text: salut}}
  - skill: read-the-runbook
  - text: All is well.
    usage: {input: 1000, output: 50, cached: 200}
"""


def test_shell_file_mcp_and_skill(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(OpenClaw(), mode, tmp_path / "r", EVERYTHING, mcp=["--all"], skills=True, timeout=300)
    run = result.run
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "All is well.", ())
    shell, write, echo, skill = run.tool_calls
    assert "/workspace" in shell.result and "1000" in shell.result and shell.status is CallStatus.ERROR
    assert (result.workspace / "a.txt").read_text() == "alpha" and write.status is CallStatus.OK
    assert (echo.kind, echo.result, result.mcp_calls) == (ToolKind.MCP, "salut", ["echo"])
    assert WORD in skill.result and run.skills_used == ("read-the-runbook",)
    assert run.model_turns == 3 and run.usage is not None and run.usage.cached == 200
    mcp = offered(result) - OpenClaw.builtin_tools
    assert OpenClaw.builtin_tools < offered(result) and "k8s__echo" in mcp
    assert not {name for name in mcp if "resources" in name or "prompts" in name}, (
        "the server's own tools and no others"
    )
    assert result.box["network"] == "closed"


@soak
def test_a_baseline_run_is_offered_its_own_tools_and_no_others(mode: SandboxMode, tmp_path: Path) -> None:
    result = play(OpenClaw(), mode, tmp_path / "r", "turns: [{text: Done.}]", timeout=300)
    assert offered(result) == OpenClaw.builtin_tools and b"SKILL.md" not in result.bodies[0]
    assert result.run.end is EndReason.COMPLETED and len(result.exchanges) == 1


@pytest.mark.parametrize("name", faults.every_fault({"429"}, faults.PLAIN))
def test_a_model_fault_ends_it(mode: SandboxMode, tmp_path: Path, name: str) -> None:
    """After what is no answer of the provider's it may ask again."""
    requests = 1 if faults.FAULTS[name].raw.startswith("http") else 0
    faults.check_fault(OpenClaw(), mode, tmp_path / "r", name, requests=requests, timeout=300)


@soak
def test_the_time_limit(mode: SandboxMode, tmp_path: Path) -> None:
    """A long command would not do: its exec tool puts it into the background and lets the model go on."""
    scenario = "turns: [{shell: echo hello}, {fault: hang}]"
    result = play(OpenClaw(), mode, tmp_path / "r", scenario, timeout=150, patience=1000)
    assert (result.run.end, result.run.raw_end) == (EndReason.TIMEOUT, "timeout")
    asked = [call.name for one in result.exchanges for call in one.calls]
    assert [call.name for call in result.run.tool_calls] == asked, "a killed run's transcript is read as far as it goes"


@soak
@pytest.mark.parametrize("wire", [wire for wire in OpenClaw.wires if wire != "google"])
def test_it_speaks_the_other_wires_too(mode: SandboxMode, tmp_path: Path, wire: str) -> None:
    scenario = "turns: [{shell: echo hello}, {text: All is well.}]"
    result = play(OpenClaw(), mode, tmp_path / "r", scenario, timeout=300, wire=wire)
    assert (result.run.end, result.run.output, result.run.errors) == (EndReason.COMPLETED, "All is well.", ())
    assert "hello" in result.run.tool_calls[0].result and offered(result) == OpenClaw.builtin_tools

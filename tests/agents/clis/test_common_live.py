"""What every real CLI does alike, against a scripted model; what one does in its own way is in a file of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.agents.base import EndReason
from devops_bench.agents.clis.claude import Claude
from devops_bench.agents.clis.codex import Codex
from devops_bench.agents.clis.gemini import Gemini
from devops_bench.agents.clis.opencode import OpenCode
from devops_bench.agents.frame.types import Cli
from devops_bench.sandbox import SandboxMode
from tests.agents.clis import faults
from tests.agents.clis.live import play

pytestmark = [pytest.mark.sandbox, pytest.mark.soak]

# How each says that there is no such tool, and its name for the tool `echo` of the server `k8s`.
NO_TOOL = [
    (Claude, "No such tool available"),
    (Codex, "unsupported call"),
    (Gemini, "not found"),
    (OpenCode, "unavailable tool"),
]
ECHO = [(Claude, "mcp__k8s__echo"), (Codex, "mcp__k8s/echo"), (OpenCode, "k8s_echo")]
alike = pytest.mark.parametrize("cli", [Claude, Codex, OpenCode])


@pytest.mark.parametrize("cli", [Codex, OpenCode])
def test_a_reply_cut_off_by_the_token_limit_is_its_last(cli: type[Cli], mode: SandboxMode, tmp_path: Path) -> None:
    result = play(cli(), mode, tmp_path / "r", "turns: [{fault: max_tokens, text: Half a sen}, {text: Never.}]")
    assert (result.run.end, result.run.raw_end) == (EndReason.COMPLETED, "max_tokens")
    assert result.run.output == "Half a sen"


@alike
def test_a_loop_ends_at_the_limit_of_turns(cli: type[Cli], mode: SandboxMode, tmp_path: Path) -> None:
    faults.check_turn_limit(cli(), mode, tmp_path / "r")


@pytest.mark.parametrize(("cli", "said"), NO_TOOL)
def test_a_tool_that_does_not_exist_is_an_error_the_model_sees(
    cli: type[Cli], said: str, mode: SandboxMode, tmp_path: Path
) -> None:
    faults.check_unknown_tool(cli(), mode, tmp_path / "r", said)


@alike
def test_five_megabytes_of_output(cli: type[Cli], mode: SandboxMode, tmp_path: Path) -> None:
    faults.check_big_output(cli(), mode, tmp_path / "r")


@alike
def test_a_dead_mcp_server(cli: type[Cli], mode: SandboxMode, tmp_path: Path) -> None:
    faults.check_dead_server(cli(), mode, tmp_path / "r")


@pytest.mark.parametrize(("cli", "tool"), ECHO)
def test_a_server_that_takes_its_time_is_waited_for(
    cli: type[Cli], tool: str, mode: SandboxMode, tmp_path: Path
) -> None:
    faults.check_slow_server(cli(), mode, tmp_path / "r", tool)

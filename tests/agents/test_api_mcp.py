"""The agent `api` with `+mcp`: its client against the gateway and a real server process, on every wire."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.api import ApiAgent
from devops_bench.agents.base import AgentRun, CallStatus, EndReason, Grants, McpGrant, ModelEndpoint, ToolKind
from devops_bench.agents.mcp_client import offered_name
from devops_bench.agents.mcp_content import plain_schema
from devops_bench.errors import ConfigError
from devops_bench.gateway.mcp import McpLimits
from devops_bench.models.server import ScriptedServer
from devops_bench.sandbox import Sandbox, SandboxMode
from tests.agents.wire import PROVIDERS, Turn, Wire
from tests.boxes import task_for
from tests.gateway.mcp_parts import gateway, kill_servers, servers, wait_for

pytestmark = pytest.mark.sandbox
SCENARIO = """\
turns:
  - mcp: {tool: echo, args: {text: from the model}}
  - calls:
      - mcp: {tool: fail, args: {}}
      - shell: echo shell too
  - text: "Done: {{last_result}}"
"""


def play(box: Sandbox, grant: McpGrant, answers: list[Turn], **more: Any) -> tuple[AgentRun, Wire]:
    provider = more.pop("provider", "openai")
    grants = Grants(mcp=grant, allowed_tools=more.pop("allowed_tools", ()))
    with Wire(provider, answers) as wire:
        endpoint = ModelEndpoint(provider, "model-1", wire.base_url, "k" * 12)
        return ApiAgent().run(task_for(box, endpoint=endpoint, grants=grants, **more)), wire


@pytest.mark.parametrize("provider", ["google", "openai", "openai-responses", "anthropic"])
def test_a_scenario_calls_mcp_tools_on_every_wire(
    mode: SandboxMode, box: Sandbox, tmp_path: Path, provider: str
) -> None:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "mcp.yaml").write_text(SCENARIO)
    with gateway(mode, tmp_path) as made, ScriptedServer(folder) as server:
        endpoint = ModelEndpoint(provider, "scripted:mcp", server.endpoint(provider, "scripted:mcp"), "k" * 12)
        run = ApiAgent().run(task_for(box, endpoint=endpoint, grants=Grants(mcp=made.grant())))
    assert (run.end, run.errors) == (EndReason.COMPLETED, ())
    assert [(call.name, call.kind, call.status, call.result) for call in run.tool_calls] == [
        ("mcp__k8s__echo", ToolKind.MCP, CallStatus.OK, "from the model"),
        ("mcp__k8s__fail", ToolKind.MCP, CallStatus.ERROR, "it went wrong"),
        ("bash", ToolKind.BUILTIN, CallStatus.OK, "shell too\n"),
    ]
    assert "it went wrong" in run.output
    assert [(call.tool, call.arguments) for call in made.calls()] == [
        ("echo", {"text": "from the model"}),
        ("fail", {}),
    ]
    assert run.tool_wait_sec is not None and run.tool_wait_sec > 0


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_server_s_tools_are_in_the_first_request(
    mode: SandboxMode, box: Sandbox, tmp_path: Path, provider: str
) -> None:
    with gateway(mode, tmp_path, "--pages") as made:
        _run, wire = play(box, made.grant(), [Turn("ok")], provider=provider)
    assert wire.tools()[:4] == ["bash", "file", "mcp__k8s__echo", "mcp__k8s__big"]
    assert len(wire.tools()) == 12


def test_a_large_result_reaches_the_model_shortened(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    with gateway(mode, tmp_path) as made:
        run, wire = play(box, made.grant(), [Turn("", [("mcp__k8s__big", {"bytes": 5_000_000})]), Turn("ok")])
    assert "characters left out" in run.tool_calls[0].result
    assert len(json.dumps(wire.requests[1])) < 100_000


def test_a_dead_server_is_an_error_the_model_sees(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    turns = [Turn("", [("mcp__k8s__die", {})]), Turn("", [("mcp__k8s__echo", {"text": "?"})]), Turn("Gone.")]
    with gateway(mode, tmp_path) as made:
        run, wire = play(box, made.grant(), turns)
        assert made.problem is not None and "the disk is on fire" in made.problem
    assert run.end is EndReason.COMPLETED
    assert [call.status for call in run.tool_calls] == [CallStatus.ERROR, CallStatus.ERROR]
    assert "the MCP server ended (exit 3)" in run.tool_calls[0].result
    assert "cannot be reached any more" in run.tool_calls[1].result
    assert "cannot be reached any more" in json.dumps(wire.requests[2])


def test_a_hanging_call_ends_with_the_run_s_time(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    with gateway(mode, tmp_path) as made:
        run, _wire = play(box, made.grant(), [Turn("", [("mcp__k8s__hang", {})])], timeout=1.5)
    assert run.end is EndReason.TIMEOUT
    assert "the time is over" in run.tool_calls[0].result
    assert [call.result for call in made.calls()] == ["[cancelled by the client]"]
    assert made.problem is None, "the run's own limit is not the server's fault"


def test_a_call_s_limit_is_an_error_the_model_sees(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, limits=McpLimits(call=0.3)) as made:
        run, _wire = play(box, made.grant(), [Turn("", [("mcp__k8s__hang", {})]), Turn("ok")])
    assert run.end is EndReason.COMPLETED
    assert "did not answer within 0.3 s" in run.tool_calls[0].result


def test_a_server_that_cannot_be_had_is_no_run(box: Sandbox, mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path) as made:
        grant = made.grant()
    run, wire = play(box, grant, [Turn("ok")])
    assert (run.end, run.raw_end, run.steps, wire.requests) == (EndReason.CRASHED, "grant_missing", (), [])
    assert "MCP server k8s" in run.errors[0]


def test_allowed_tools_may_name_both_kinds(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    names = ("bash", "echo")
    with gateway(mode, tmp_path, allowed_tools=names) as made:
        run, wire = play(
            box,
            made.grant(),
            [Turn("", [("mcp__k8s__run", {"code": "out = 1"})]), Turn("ok")],
            allowed_tools=names,
        )
        assert wire.tools() == ["bash", "mcp__k8s__echo"]
        assert "there is no tool" in run.tool_calls[0].result
        with pytest.raises(ConfigError, match=r"AGENT_ALLOWED_TOOLS names browser; .*echo"):
            play(box, made.grant(), [Turn("ok")], allowed_tools=("bash", "browser"))


def test_a_server_that_died_before_the_run_is_started_again(mode: SandboxMode, box: Sandbox, tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    with gateway(mode, tmp_path, marker) as made:
        grant = made.grant()
        assert kill_servers(marker) >= 1
        wait_for(lambda: not servers(marker, sandboxes=True))
        run, _wire = play(box, grant, [Turn("", [("mcp__k8s__echo", {"text": "again"})]), Turn("ok")])
    assert [call.result for call in run.tool_calls] == ["again"], "a spare that died is replaced"


def test_names_fit_every_provider() -> None:
    taken: set[str] = set()
    for tool in ("pods_list", "pods.list", "pods list", "x" * 80, "x" * 81, "ünicode"):
        name = offered_name("my server", tool, taken)
        assert name not in taken and len(name) <= 64 and name.replace("-", "_").isascii()
        assert all(letter.isalnum() or letter in "_-" for letter in name)
        taken.add(name)
    assert offered_name("k8s", "pods_list", set()) == "mcp__k8s__pods_list"


def test_schemas_are_made_plain() -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "oneOf": [{"required": ["a"]}],
        "definitions": {"A": {"type": "string"}},
        "properties": {
            "a": {"$ref": "#/definitions/A"},
            "b": {"$ref": "https://x/y", "title": "B"},
            "enum": {"enum": [1]},
        },
        "required": ["a"],
    }
    assert plain_schema(schema) == {
        "type": "object",
        "$defs": {"A": {"type": "string"}},
        "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"title": "B"}, "enum": {"enum": [1]}},
        "required": ["a"],
    }
    assert plain_schema(None) == {"type": "object", "properties": {}}

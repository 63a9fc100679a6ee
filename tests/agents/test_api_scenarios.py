"""The agent `api` plays the shipped scripted model server: one scenario, every provider's wire, the same work."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.agents.api import ApiAgent
from devops_bench.agents.base import AgentRun, EndReason, ModelEndpoint
from devops_bench.models.server import ScriptedServer
from devops_bench.sandbox import Sandbox
from tests.boxes import task_for

pytestmark = pytest.mark.sandbox
ALL = ("google", "openai", "openai-responses", "anthropic", "openai-compatible", "scripted")
SCENARIO = """\
usage: {input: 1200, output: 80, cached: 200}
turns:
  - text: I look around.
    shell: echo one >found; ls
  - calls:
      - file: {action: read, path: found}
      - file: {action: edit, path: found, old: one, new: two}
  - tool: {name: no_such_tool, args: {}}
  - text: "Done: {{last_result}}"
"""


def play(box: Sandbox, tmp_path: Path, provider: str, text: str, **more: float) -> AgentRun:
    folder = tmp_path / "scenarios"
    folder.mkdir(exist_ok=True)
    (folder / "careful.yaml").write_text(text)
    with ScriptedServer(folder) as server:
        url = server.endpoint(provider, "scripted:careful")
        endpoint = ModelEndpoint(provider, "scripted:careful", url, "k" * 12)
        return ApiAgent(turn_timeout=more.pop("turn_timeout", 60)).run(task_for(box, endpoint=endpoint, **more))


@pytest.mark.parametrize("provider", ALL)
def test_a_scenario_plays_the_same_on_every_wire(box: Sandbox, tmp_path: Path, provider: str) -> None:
    run = play(box, tmp_path, provider, SCENARIO)
    assert (run.end, run.errors, run.model_turns) == (EndReason.COMPLETED, (), 4)
    assert [(call.name, call.status.value) for call in run.tool_calls] == [
        ("bash", "ok"),
        ("file", "ok"),
        ("file", "ok"),
        ("no_such_tool", "error"),
    ]
    assert (box.spec.workspace / "found").read_text() == "two\n"
    assert "there is no tool 'no_such_tool'" in run.output
    assert run.usage is not None
    assert (run.usage.input, run.usage.output, run.usage.cached) == (4800, 320, 800)
    assert run.cost_usd is None, "a scripted model has no price, which is not the price 0"


@pytest.mark.parametrize("provider", ALL[:4])
@pytest.mark.parametrize(
    ("fault", "end"),
    [
        ("429", EndReason.API_ERROR),
        ("503", EndReason.API_ERROR),
        ("garbage", EndReason.API_ERROR),
        ("cut", EndReason.API_ERROR),
        ("hang", EndReason.API_ERROR),
        ("empty", EndReason.EMPTY),
        ("refusal", EndReason.REFUSED),
    ],
)
def test_every_fault_of_the_server_has_its_end(
    box: Sandbox, tmp_path: Path, provider: str, fault: str, end: EndReason
) -> None:
    run = play(box, tmp_path, provider, f"turns:\n  - shell: echo kept\n  - fault: {fault}\n", turn_timeout=1.5)
    assert run.end is end, (run.raw_end, run.errors)
    assert [call.result for call in run.tool_calls] == ["kept\n"]
    assert run.errors


def test_a_priced_model_costs(box: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "careful.yaml").write_text("model: gpt-4o\nusage: {input: 1000000, output: 0}\nturns: [{text: ok}]\n")
    with ScriptedServer(folder) as server:
        endpoint = ModelEndpoint("openai", "gpt-4o", server.endpoint("openai", "gpt-4o"), "k" * 12)
        run = ApiAgent().run(task_for(box, endpoint=endpoint))
    assert run.cost_usd is not None and 1 < run.cost_usd < 10

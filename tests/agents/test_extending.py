"""The worked example of docs/extending/agents.md is a whole agent: installed as written, it runs in the sandbox."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from devops_bench import agents
from devops_bench.agents.base import AgentRun, CallStatus, EndReason, Grants, ModelEndpoint
from devops_bench.agents.registry import BUILT
from devops_bench.errors import ConfigError
from devops_bench.gateway.model import ModelGateway, Scripted
from devops_bench.models.scenario import scenario
from devops_bench.sandbox import Endpoint, SandboxMode
from tests.agents import example
from tests.agents.example import PAGE
from tests.boxes import MakeBox, task_for

pytestmark = pytest.mark.sandbox
LINES = 150


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page's package in a site folder of this interpreter, and the program where AGENT_TARGET says."""
    monkeypatch.syspath_prepend(str(example.site(tmp_path)))
    monkeypatch.setenv("AGENT_TARGET", str(example.program(tmp_path)))


@contextmanager
def model(turns: list[Any]) -> Iterator[ModelGateway]:
    with ModelGateway(Scripted({"s": scenario("s", {"turns": turns})}, "scripted:s"), wire="openai", model="s") as one:
        yield one


def run(turns: list[Any], mode: SandboxMode, make_box: MakeBox, **more: Any) -> AgentRun:
    agent = agents.get("tiny")
    with model(turns) as gateway:
        box = make_box(mode, reach=(Endpoint(*gateway.address),), binds=agent.binds(os.environ))
        endpoint = ModelEndpoint("openai", "scripted:s", gateway.base_url(), gateway.token)
        return agent.run(task_for(box, endpoint=endpoint, exchanges=gateway.exchanges, **more))


def test_the_example_does_a_task(installed: None, mode: SandboxMode, make_box: MakeBox) -> None:
    turns = [{"text": "I look.", "shell": "pwd; exit 3"}, {"text": "Seen: {{last_result}}"}]
    done = run(turns, mode, make_box)
    assert (done.end, done.output, done.errors) == (EndReason.COMPLETED, "Seen: /workspace\n", ())
    (call,) = done.tool_calls
    assert (call.name, dict(call.args), call.result, call.status) == (
        "shell", {"command": "pwd; exit 3"}, "/workspace\n", CallStatus.ERROR,
    )  # fmt: skip
    assert [step.message for step in done.steps] == ["I look.", "Seen: /workspace\n"]
    assert done.usage is not None and done.usage.input and done.model_turns == 2


@pytest.mark.parametrize(("fault", "raw"), [(429, "http_429"), ("garbage", "bad_reply")])
def test_a_failing_model_is_told_as_one(
    installed: None, mode: SandboxMode, make_box: MakeBox, fault: Any, raw: str
) -> None:
    done = run([{"fault": fault}], mode, make_box)
    assert (done.end, done.raw_end) == (EndReason.API_ERROR, raw)


def test_what_it_cannot_be_granted_is_refused(installed: None, mode: SandboxMode, make_box: MakeBox) -> None:
    with pytest.raises(ConfigError, match=r"agent tiny cannot serve \+skills"):
        run(["Done."], mode, make_box, grants=Grants(skills_paths=(PAGE.parent,)))


def test_the_example_is_as_short_as_promised() -> None:
    assert len(example.code().splitlines()) <= LINES


def test_every_shipped_adapter_is_as_short_as_promised() -> None:
    modules = [module for module, _ in BUILT.values() if ".clis." in module]
    assert len(modules) >= 4
    lengths = {name: len(inspect.getsource(import_module(name)).splitlines()) for name in modules}
    assert {name: length for name, length in lengths.items() if length > LINES} == {}

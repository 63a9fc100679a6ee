"""The agent `api` over real HTTP, in every wire format: its work, its ends, and what it never gives away."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.api import ApiAgent
from devops_bench.agents.base import (
    AgentRun,
    CallStatus,
    EndReason,
    Grants,
    ModelEndpoint,
    ToolKind,
    Usage,
)
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Sandbox
from tests.agents.wire import PROVIDERS, USAGE, Turn, Wire
from tests.boxes import task_for

pytestmark = pytest.mark.sandbox
KEY = "sk-test-CANARY-0123456789"
MakeBox = Callable[..., Sandbox]


def play(box: Sandbox, provider: str, answers: list[Turn], **more: Any) -> tuple[AgentRun, Wire]:
    agent = ApiAgent(turn_timeout=more.pop("turn_timeout", 60))
    with Wire(provider, answers) as wire:
        endpoint = ModelEndpoint(provider, "model-1", wire.base_url, KEY)
        return agent.run(task_for(box, endpoint=endpoint, **more)), wire


@pytest.mark.parametrize("provider", PROVIDERS)
def test_it_works_through_tools_to_an_answer(box: Sandbox, provider: str) -> None:
    turns = [
        Turn("I look first.", [("bash", {"command": "echo seen; exit 2"})], thinking="hm"),
        Turn(
            "",
            [("file", {"action": "write", "path": "fix.txt", "content": "done"}), ("bash", {"command": "cat fix.txt"})],
        ),
        Turn("It is fixed."),
    ]
    run, wire = play(box, provider, turns)
    assert (run.end, run.output, run.errors) == (EndReason.COMPLETED, "It is fixed.", ())
    assert [(call.name, call.status.value, call.result) for call in run.tool_calls] == [
        ("bash", "error", "seen\n\n[exit 2]"),
        ("file", "ok", "wrote 4 bytes to /workspace/fix.txt"),
        ("bash", "ok", "done"),
    ]
    assert run.steps[0].reasoning == "hm"
    assert [step.message for step in run.steps] == ["I look first.", "", "It is fixed."]
    assert (run.model_turns, run.served_models) == (3, ("served-1",))
    assert run.tool_wait_sec is not None and 0 < run.tool_wait_sec <= run.latency
    reasoning = None if provider == "anthropic" else USAGE["reasoning"]
    one = Usage(USAGE["input"], USAGE["output"], USAGE["cached"], None, reasoning, 120)
    assert run.steps[0].usage == one
    assert run.usage == one.plus(one).plus(one)
    assert "seen" in json.dumps(wire.requests[1])
    assert wire.tools() == ["bash", "file"]


def test_the_prompt_tells_place_tools_and_deadline(box: Sandbox) -> None:
    _run, wire = play(box, "openai", [Turn("ok")], timeout=90, turns=7, rules_text="Be kind.")
    system, user = (message["content"] for message in wire.requests[0]["messages"])
    for part in ("/workspace", "/home/agent", "Tools: bash, file.", "1 min 30 s", "at most 7 replies", "Be kind."):
        assert part in system
    assert user == "Make the service answer again."


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize(
    ("fault", "raw", "says"),
    [
        (429, "http_429", "HTTP 429, retry after 7 s.*said 429"),
        (500, "http_500", "HTTP 500.*said 500"),
        (401, "http_401", "HTTP 401.*said 401"),
        ("garbage", "bad_reply", "."),
        ("cut", "connection", "."),
    ],
)
def test_a_fault_of_the_api_ends_at_once_and_keeps_what_was_done(
    box: Sandbox, provider: str, fault: int | str, raw: str, says: str
) -> None:
    headers = {"retry-after": "7"} if fault == 429 else {}
    turns = [Turn("First.", [("bash", {"command": "echo kept"})]), Turn(fault=fault, headers=headers)]
    run, wire = play(box, provider, turns)
    assert run.end is EndReason.API_ERROR
    assert len(wire.requests) == 2, "no retry: it is the supervisor's"
    assert [call.result for call in run.tool_calls] == ["kept\n"]
    assert run.usage is not None and run.usage.input == USAGE["input"]
    assert raw in run.raw_end
    assert re.search(says, run.errors[0])
    assert len(run.errors[0]) <= 600 and "\n" not in run.errors[0]
    assert KEY not in repr(run)


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_model_that_hangs_is_an_api_error_within_its_turn(box: Sandbox, provider: str) -> None:
    run, _wire = play(box, provider, [Turn(fault="hang")], turn_timeout=0.3)
    assert (run.end, run.raw_end) == (EndReason.API_ERROR, "no_reply")
    assert "did not answer within 0.3 s" in run.errors[0]


def test_the_time_limit_ends_a_hang_as_a_timeout(box: Sandbox) -> None:
    run, _wire = play(box, "openai", [Turn("x", [("bash", {"command": "echo 1"})]), Turn(fault="hang")], timeout=2)
    assert (run.end, run.raw_end) == (EndReason.TIMEOUT, "timeout")
    assert len(run.tool_calls) == 1


def test_the_time_limit_ends_a_tool_call_too(box: Sandbox) -> None:
    began = time.monotonic()
    run, _wire = play(box, "openai", [Turn("", [("bash", {"command": "sleep 1000"})])], timeout=1.0)
    assert run.end is EndReason.TIMEOUT
    assert time.monotonic() - began < 30
    assert "timed out" in run.tool_calls[0].result


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_unreachable_model_is_an_api_error(box: Sandbox, provider: str) -> None:
    task = task_for(box, endpoint=ModelEndpoint(provider, "m", "http://127.0.0.1:1", KEY))
    run = ApiAgent().run(task)
    assert (run.end, run.raw_end, run.steps) == (EndReason.API_ERROR, "connection", ())


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_refusal_is_told_apart(box: Sandbox, provider: str) -> None:
    run, _wire = play(box, provider, [Turn(finish="refusal")])
    assert (run.end, run.raw_end) == (EndReason.REFUSED, "content_filter")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_an_empty_reply_is_no_success(box: Sandbox, provider: str) -> None:
    run, _wire = play(box, provider, [Turn()])
    assert run.end in {EndReason.EMPTY, EndReason.API_ERROR}
    assert run.errors


def test_running_out_of_tokens_without_a_word_is_empty(box: Sandbox) -> None:
    run, _wire = play(box, "openai", [Turn(finish="length")])
    assert (run.end, run.raw_end) == (EndReason.EMPTY, "length")


def test_turns_are_limited(box: Sandbox) -> None:
    run, wire = play(box, "openai", [Turn("again", [("bash", {"command": "true"})])], turns=3)
    assert (run.end, run.model_turns, len(wire.requests), len(run.tool_calls)) == (EndReason.MAX_TURNS, 3, 3, 3)


@pytest.mark.parametrize(
    ("name", "args", "says"),
    [
        ("no_such_tool", {"a": 1}, "there is no tool 'no_such_tool'; the tools are bash, file"),
        ("kubectl", {"args": "get pods"}, "there is no tool 'kubectl'"),
        ("bash", {}, "argument 'command' must be a string"),
        ("bash", "{not json", "not a JSON object"),
        ("file", {"action": "read", "path": "/etc/shadow"}, "is outside"),
        ("bash", {"command": "kill -9 -1"}, "was killed"),
    ],
)
def test_a_wrong_call_is_an_error_the_model_sees(box: Sandbox, name: str, args: Any, says: str) -> None:
    run, wire = play(box, "openai", [Turn("", [(name, args)]), Turn("Sorry.")])
    assert run.end is EndReason.COMPLETED
    assert run.tool_calls[0].status is CallStatus.ERROR
    assert says in run.tool_calls[0].result
    assert says in wire.requests[1]["messages"][-1]["content"]


def test_five_megabytes_of_output_reach_the_model_shortened(box: Sandbox) -> None:
    run, wire = play(
        box, "openai", [Turn("", [("bash", {"command": "head -c 5000000 /dev/zero | tr '\\0' x"})]), Turn("ok")]
    )
    assert run.end is EndReason.COMPLETED
    assert "bytes left out" in run.tool_calls[0].result
    assert len(run.tool_calls[0].result) < 70_000
    assert len(json.dumps(wire.requests[1])) < 100_000


def test_the_key_is_nowhere_the_tools_can_see(any_box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    look = "env; cat /proc/self/environ /proc/1/environ /proc/1/cmdline ~/.* 2>/dev/null; grep -rs CANARY ~ . $TMPDIR"
    run, wire = play(any_box, "openai", [Turn("", [("bash", {"command": look})]), Turn("ok")])
    assert "CANARY" not in run.tool_calls[0].result.replace("grep -rs CANARY", "")
    assert wire.headers[0]["authorization"] == f"Bearer {KEY}"


@pytest.fixture
def skills(tmp_path: Path) -> Path:
    folder = tmp_path / "skills"
    (folder / "pod-triage").mkdir(parents=True)
    (folder / "pod-triage/SKILL.md").write_text(
        "---\nname: pod-triage\ndescription: Find out why pods do not start.\n---\nRead events first.\n"
    )
    (folder / "pod-triage/steps.txt").write_text("one, two")
    return folder


def test_skills_are_listed_read_and_recorded(box: Sandbox, skills: Path) -> None:
    turns = [
        Turn("", [("skill", {"name": "pod-triage"}), ("skill", {"name": "other"})]),
        Turn("", [("bash", {"command": "cat ~/.agents/skills/pod-triage/steps.txt"})]),
        Turn("ok"),
    ]
    run, wire = play(box, "openai", turns, grants=Grants(skills_paths=(skills,)))
    assert "- pod-triage: Find out why pods do not start." in wire.requests[0]["messages"][0]["content"]
    assert wire.tools() == ["bash", "file", "skill"]
    assert run.skills_used == ("pod-triage",)
    assert run.tool_calls[0].kind is ToolKind.SKILL
    assert "Read events first." in run.tool_calls[0].result
    assert (run.tool_calls[1].status, run.tool_calls[2].result) == (CallStatus.ERROR, "one, two")


def test_the_baseline_has_no_skill(box: Sandbox) -> None:
    run, wire = play(box, "openai", [Turn("", [("skill", {"name": "pod-triage"})]), Turn("ok")])
    assert "kill" not in wire.requests[0]["messages"][0]["content"].replace("skilled", "")
    assert wire.tools() == ["bash", "file"]
    assert (run.tool_calls[0].status, run.skills_used) == (CallStatus.ERROR, ())


def test_allowed_tools_narrow_what_is_offered(box: Sandbox) -> None:
    _run, wire = play(box, "openai", [Turn("ok")], grants=Grants(allowed_tools=("bash",)))
    assert wire.tools() == ["bash"]


def test_extra_flags_are_settings_of_the_request(box: Sandbox) -> None:
    _run, wire = play(box, "openai", [Turn("ok")], extra_flags=("--max-tokens=77", "temperature=0"))
    assert wire.requests[0].get("max_completion_tokens", wire.requests[0].get("max_tokens")) == 77
    assert wire.requests[0]["temperature"] == 0


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"endpoint": None}, "has no model"),
        ({"endpoint": ModelEndpoint("acme", "m", "http://127.0.0.1:1", "k")}, "provider 'acme' is not known"),
        ({"endpoint": ModelEndpoint("openai", "m")}, "no API key for provider openai"),
        ({"grants": Grants(allowed_tools=("browser",))}, "AGENT_ALLOWED_TOOLS names browser"),
        ({"extra_flags": ("--fast",)}, "AGENT_EXTRA_FLAGS has '--fast'"),
        ({"grants": Grants(skills_paths=(Path("/no/such"),))}, r"no \*/SKILL.md here"),
    ],
)
def test_what_cannot_be_honoured_is_refused(box: Sandbox, fields: dict[str, Any], says: str) -> None:
    endpoint = ModelEndpoint("openai", "m", "http://127.0.0.1:1", "k")
    with pytest.raises(ConfigError, match=says):
        ApiAgent().run(task_for(box, **({"endpoint": endpoint} | fields)))


def test_activity_is_told_as_it_happens(box: Sandbox) -> None:
    heard: list[tuple[str, dict[str, Any]]] = []
    turns = [Turn("Look.", [("bash", {"command": "echo hi"})]), Turn("ok")]
    play(box, "openai", turns, emit=lambda kind, fields: heard.append((kind, dict(fields))))
    assert [kind for kind, _ in heard] == [
        "model_request",
        "text",
        "tool_call",
        "output",
        "tool_call",
        "model_request",
        "text",
    ]
    assert heard[0][1]["tokens"]["input"] == USAGE["input"]
    assert heard[4][1]["status"] == "ok"

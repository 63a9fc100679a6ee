"""The Gemini adapter on recorded and on hostile output: no CLI, no sandbox."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents.base import (
    AgentTask,
    CallStatus,
    EndReason,
    Grants,
    Limits,
    McpGrant,
    ModelEndpoint,
    ToolKind,
    Usage,
)
from devops_bench.agents.clis.gemini import Gemini
from devops_bench.agents.frame.types import Left
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox

RECORDED = Path(__file__).parent / "recorded" / "gemini"
SESSION = ".gemini/tmp/workspace/chats/session-2026.jsonl"
GRANT = McpGrant("k8s", ("/bin/bash", "/run/agent/relay"), ("127.0.0.1", 1), "t", ("echo",))


def a_task(box: Sandbox, **grants: object) -> AgentTask:
    return AgentTask(
        prompt="Do it.",
        workspace=box.spec.workspace,
        home=box.spec.home,
        sandbox=box,
        endpoint=ModelEndpoint("google", "some-model", base_url="http://127.0.0.1:9", key="token"),
        grants=Grants(**grants),  # type: ignore[arg-type]
        limits=Limits(60, 7, 1 << 20),
        env={},
    )


@pytest.fixture
def bare_box(bare_mode, make_box) -> Sandbox:
    return make_box(bare_mode)


@pytest.fixture
def left(bare_box: Sandbox) -> Callable[..., Left]:
    def make(stdout: bytes | None = None, session: bytes | None = None, code: int = 0) -> Left:
        home = bare_box.spec.home
        data = (RECORDED / "session.jsonl").read_bytes() if session is None else session
        (home / SESSION).parent.mkdir(parents=True, exist_ok=True)
        (home / SESSION).write_bytes(data)
        out = (RECORDED / "stdout.jsonl").read_bytes() if stdout is None else stdout
        return Left(out, b"", code, False, home, 0.0, 1.0)

    return make


def test_a_recorded_run_becomes_steps(bare_box, left) -> None:
    reading = Gemini().read(left(), a_task(bare_box, mcp=GRANT))
    assert (reading.end, reading.raw_end, reading.errors) == (EndReason.COMPLETED, "stop", ())
    first, *_, last = reading.steps
    assert (first.message, first.reasoning, last.message) == ("I look first.", "Let me\nsee.", "Done.")
    told = [(call.name, call.status, call.kind) for step in reading.steps for call in step.tool_calls]
    assert told == [
        ("run_shell_command", CallStatus.ERROR, ToolKind.BUILTIN),  # exit 3, which the CLI calls a success
        ("write_file", CallStatus.OK, ToolKind.BUILTIN),
        ("mcp_k8s_echo", CallStatus.OK, ToolKind.MCP),
        ("activate_skill", CallStatus.OK, ToolKind.SKILL),
        ("no_such_tool", CallStatus.ERROR, ToolKind.BUILTIN),
        ("run_shell_command", CallStatus.BLOCKED, ToolKind.BUILTIN),
    ]
    echo = first.tool_calls[2]
    assert echo.args == {"text": "salut"} and "salut" in echo.result and 0 < echo.started <= echo.ended
    assert len({call.call_id for step in reading.steps for call in step.tool_calls}) == 6
    assert reading.skills_used == ("read-the-runbook",)


def test_thoughts_count_as_output(bare_box, left) -> None:
    reading = Gemini().read(left(), a_task(bare_box))
    assert reading.steps[0].usage == Usage(1000, 50, 200, None, 10, 1050)
    assert reading.usage is not None and reading.usage.reasoning == 10
    parts = [step.usage for step in reading.steps if step.usage]
    assert reading.usage.output == sum(part.output or 0 for part in parts)


def test_without_a_result_event_nothing_says_that_it_finished(bare_box, left) -> None:
    cut = b"".join((RECORDED / "stdout.jsonl").read_bytes().splitlines(keepends=True)[:-1])
    assert Gemini().read(left(cut, code=0), a_task(bare_box)).end is None


def test_output_that_was_cut_by_its_exit_is_a_success_if_the_session_holds_the_last_word(bare_box, left) -> None:
    whole = (RECORDED / "stdout.jsonl").read_bytes()
    cut = whole[: whole.index(b'"tool_result"') + 40]
    reading = Gemini().read(left(cut), a_task(bare_box))
    assert (reading.end, reading.raw_end) == (EndReason.COMPLETED, "stop")
    assert any("cannot be read" in error for error in reading.errors)
    assert Gemini().read(left(cut, code=143), a_task(bare_box)).end is None
    lines = (RECORDED / "session.jsonl").read_bytes().splitlines(keepends=True)
    unfinished = b"".join(line for line in lines if b'"Done."' not in line)
    assert Gemini().read(left(cut, unfinished), a_task(bare_box)).end is None, "the model had asked for a tool"


@pytest.mark.parametrize(
    ("message", "code", "end"),
    [
        ("The model response was blocked due to safety settings.", 0, EndReason.REFUSED),
        ("The model returned an empty response with no text or thoughts.", 0, EndReason.EMPTY),
        ("Something else", 1, EndReason.API_ERROR),
        ("Reached max session turns for this session.", 53, EndReason.MAX_TURNS),
    ],
)
def test_its_words_for_an_end(bare_box, left, message: str, code: int, end: EndReason) -> None:
    events = [{"type": "error", "message": message}, {"type": "result", "status": "error"}]
    out = b"\n".join(json.dumps(event).encode() for event in events)
    reading = Gemini().read(left(out, code=code), a_task(bare_box))
    assert reading.end is end and reading.errors == (message,)


@pytest.mark.parametrize(
    "session",
    [
        b"",
        b"{" * 100_000,
        b"\xff\xfe\n[1]\nnull\n",
        b'{"sessionId": {"a": 1}}\n',
        b'{"sessionId": "S"}\n{"type":"gemini","id":[],"content":5,"toolCalls":{"a":1},"tokens":[1],"thoughts":"x"}',
        b'{"sessionId": "S"}\n{"type":"gemini","id":"1","toolCalls":[1,null,{"name":7,"args":"}","result":[3],'
        b'"status":[],"timestamp":{}}],"tokens":{"input":-1,"output":1e400,"total":"x"},"timestamp":"99999999"}',
    ],
)
def test_a_session_file_full_of_lies_is_read_without_harm(bare_box, left, session: bytes) -> None:
    out = b'{"type":"init","session_id":"S"}\n{"type":"result","status":"success"}\n{nonsense\n'
    reading = Gemini().read(left(out, session), a_task(bare_box))
    assert reading.end is EndReason.COMPLETED
    assert any("cannot be read" in error for error in reading.errors)


def test_a_session_file_that_is_a_link_is_not_read(bare_box, left, tmp_path: Path) -> None:
    made = left()
    secret = tmp_path / "secret.jsonl"
    secret.write_bytes((RECORDED / "session.jsonl").read_bytes())
    os.unlink(made.home / SESSION)
    os.symlink(secret, made.home / SESSION)
    assert Gemini().read(made, a_task(bare_box)).steps == ()


def test_a_pipe_in_its_place_does_not_hang(bare_box, left) -> None:
    made = left()
    os.unlink(made.home / SESSION)
    os.mkfifo(made.home / SESSION)
    assert Gemini().read(made, a_task(bare_box)).steps == ()


def test_a_baseline_run_is_granted_nothing(bare_box) -> None:
    launch = Gemini().launch(a_task(bare_box), ("gemini",), ())
    settings = json.loads(launch.files[".gemini/settings.json"])
    assert set(settings["tools"]["core"]) == Gemini.builtin_tools
    assert settings["skills"]["enabled"] is False and settings["mcp"] == {"allowed": []}
    assert "mcpServers" not in settings and settings["general"]["maxAttempts"] == 1
    assert "token" not in " ".join(launch.argv) and launch.stdin == b"Do it."


def test_grants_are_in_the_settings(bare_box, tmp_path: Path) -> None:
    skill = Skill("a", "b", tmp_path)
    launch = Gemini().launch(a_task(bare_box, mcp=GRANT, allowed_tools=("glob", "echo")), ("gemini",), (skill,))
    settings = json.loads(launch.files[".gemini/settings.json"])
    assert set(settings["tools"]["core"]) == {"glob", "activate_skill", "mcp_k8s_*"}
    assert settings["mcpServers"]["k8s"]["command"] == "/bin/bash" and settings["skills"]["enabled"] is True


def test_what_it_reports_as_it_goes() -> None:
    lines = (RECORDED / "stdout.jsonl").read_bytes().splitlines()
    seen = [activity for line in lines if (activity := Gemini().follow(line))]
    phases = [(one.fields["name"], one.fields["phase"]) for one in seen if one.kind == "tool_call"]
    assert phases[0] == ("run_shell_command", "started") and ("mcp_k8s_echo", "ended") in phases
    assert "I look first." in "".join(one.fields["text"] for one in seen if one.kind == "text")
    assert Gemini().follow(b"garbage") is None

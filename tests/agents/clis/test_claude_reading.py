"""The Claude Code adapter on recorded and on hostile output: no CLI, no sandbox."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind, Usage
from devops_bench.agents.clis.claude import MCP_FILE, Claude
from devops_bench.agents.frame.types import Left
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox
from tests.agents.clis.reading import GRANT, LIES, RECORDED, a_task, left_behind

SESSION_ID = "f46d83db-0483-51da-ba53-4d21486e2251"
SESSION = f".claude/projects/-workspace/{SESSION_ID}.jsonl"
STDOUT = (RECORDED / "claude" / "stdout.jsonl").read_bytes()
RECORD = (RECORDED / "claude" / "session.jsonl").read_bytes()


@pytest.fixture
def box(bare_mode, make_box) -> Sandbox:
    return make_box(bare_mode)


@pytest.fixture
def left(box: Sandbox) -> Left:
    return left_behind(box.spec.home, STDOUT, **{SESSION: RECORD})


def test_a_recorded_run_becomes_steps(box: Sandbox, left: Left) -> None:
    reading = Claude().read(left, a_task(Claude(), box, mcp=GRANT))
    assert (reading.end, reading.raw_end, reading.errors) == (EndReason.COMPLETED, "end_turn", ())
    assert (reading.output, reading.served_models, reading.session) == ("Done.", ("scripted:s",), SESSION_ID)
    assert [step.message for step in reading.steps] == ["I look first.", "", "", "Done."]
    assert reading.steps[0].reasoning == "Hm."
    calls = [call for step in reading.steps for call in step.tool_calls]
    assert [(call.name, call.status, call.kind) for call in calls] == [
        ("Bash", CallStatus.ERROR, ToolKind.BUILTIN),
        ("mcp__k8s__echo", CallStatus.OK, ToolKind.MCP),
        ("Skill", CallStatus.OK, ToolKind.SKILL),
        ("no_such_tool", CallStatus.ERROR, ToolKind.BUILTIN),
    ]
    assert [dict(call.args) for call in calls[:2]] == [{"command": "echo hi; exit 3"}, {"text": "salut"}]
    assert [call.result for call in calls[:2]] == ["Exit code 3\nhi", "salut"]
    assert "Look at the log." in calls[2].result, "the skill's text follows its call"
    assert all(1_795_000_000 < call.started <= call.ended for call in calls)
    assert len({call.call_id for call in calls}) == 4
    assert (reading.skills_used, reading.mcp_servers) == (("read-the-runbook",), {"k8s": "connected"})


def test_tokens_are_the_final_ones_with_cache_and_thoughts(box: Sandbox, left: Left) -> None:
    reading = Claude().read(left, a_task(Claude(), box))
    assert reading.steps[0].usage == Usage(1000, 50, 200, 0, 10, 1050)
    assert reading.usage == Usage(4000, 200, 800, 0, 40, 4200)
    assert reading.cost_usd == pytest.approx(0.01696)


def test_without_its_session_file_only_the_tokens_of_steps_are_unknown(box: Sandbox) -> None:
    reading = Claude().read(left_behind(box.spec.home, STDOUT), a_task(Claude(), box))
    assert len(reading.steps) == 4 and reading.steps[0].usage is None and reading.usage is not None


def test_without_a_result_event_nothing_says_that_it_finished(box: Sandbox) -> None:
    cut = b"\n".join(STDOUT.splitlines()[:-1])
    reading = Claude().read(left_behind(box.spec.home, cut), a_task(Claude(), box))
    assert (reading.end, len(reading.steps)) == (None, 4)


def result(**fields: object) -> bytes:
    return json.dumps({"type": "result", "subtype": "success", **fields}).encode()


@pytest.mark.parametrize(
    ("event", "end", "raw"),
    [
        ({"is_error": True, "terminal_reason": "api_error", "api_error_status": 429}, EndReason.API_ERROR, "http_429"),
        (
            {"is_error": True, "terminal_reason": "image_error", "api_error_status": 413},
            EndReason.API_ERROR,
            "http_413",
        ),
        ({"is_error": True, "terminal_reason": "api_error"}, EndReason.API_ERROR, "api_error"),
        ({"is_error": True, "terminal_reason": "max_turns"}, EndReason.MAX_TURNS, "max_turns"),
        ({"is_error": True, "terminal_reason": "aborted"}, EndReason.CRASHED, "aborted"),
        ({"is_error": True}, EndReason.CRASHED, "error"),
        ({"stop_reason": "end_turn", "terminal_reason": "completed"}, EndReason.COMPLETED, "end_turn"),
    ],
)
def test_its_words_for_an_end(box: Sandbox, event: dict[str, object], end: EndReason, raw: str) -> None:
    left = left_behind(box.spec.home, result(result="What it says.", **event))
    reading = Claude().read(left, a_task(Claude(), box))
    assert (reading.end, reading.raw_end) == (end, raw)
    assert reading.output == ("What it says." if end is EndReason.COMPLETED else "")
    assert reading.errors == (() if end is EndReason.COMPLETED else ("What it says.",))


def test_what_the_cli_says_itself_is_no_step_of_the_model(box: Sandbox) -> None:
    said = {"type": "assistant", "message": {"model": "<synthetic>", "role": "assistant", "id": "m",
                                             "content": [{"type": "text", "text": "API Error"}]}}  # fmt: skip
    reading = Claude().read(left_behind(box.spec.home, json.dumps(said).encode()), a_task(Claude(), box))
    assert (reading.steps, reading.served_models) == ((), ())


def test_the_first_event_tells_of_mcp_servers_whatever_is_written_into_the_stream_later(box: Sandbox) -> None:
    def init(status: str) -> str:
        return json.dumps({"subtype": "init", "session_id": "s", "mcp_servers": [{"name": "k8s", "status": status}]})

    lines = f"{init('connected')}\n{init('failed')}\n".encode()
    reading = Claude().read(left_behind(box.spec.home, lines), a_task(Claude(), box))
    assert reading.mcp_servers == {"k8s": "connected"}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_read_without_harm(box: Sandbox, lie: str) -> None:
    shapes = (
        '{"type": "assistant", "timestamp": %s, "message": %s}',
        '{"type": "assistant", "message": {"role": "assistant", "id": %s, "model": %s, "content": %s}}',
        '{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": %s, "content": %s}]}}',
        '{"type": "assistant", "message": {"content": [{"type": "tool_use", "id": %s, "name": %s, "input": %s}]}}',
        '{"type": "system", "subtype": "init", "session_id": %s, "mcp_servers": %s}',
        '{"type": "result", "is_error": %s, "result": %s, "usage": %s, "errors": %s, "api_error_status": %s}',
    )
    lines = "\n".join(shape.replace("%s", lie) for shape in shapes).encode()
    left = left_behind(box.spec.home, lines, **{SESSION: lines})
    reading = Claude().read(left, a_task(Claude(), box))
    assert reading.end in {None, *EndReason}
    for line in lines.splitlines():
        Claude().follow(line)


def test_a_session_file_that_is_a_link_is_not_read(box: Sandbox, left: Left, tmp_path: Path) -> None:
    os.rename(left.home / SESSION, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", left.home / SESSION)
    assert Claude().read(left, a_task(Claude(), box)).steps[0].usage is None


def test_a_baseline_run_is_granted_nothing(box: Sandbox) -> None:
    launch = Claude().launch(a_task(Claude(), box), ("claude",), ())
    argv = list(launch.argv)
    assert argv[argv.index("--tools") + 1] == "Bash,Edit,Glob,Grep,Read,Write"
    assert {"--strict-mcp-config", "--setting-sources=", "--disable-slash-commands"} <= set(argv)
    assert "--mcp-config" not in argv and launch.files == {}
    assert argv[argv.index("--max-turns") + 1] == "7"
    assert launch.env["CLAUDE_CODE_MAX_RETRIES"] == "0" and launch.env["ENABLE_TOOL_SEARCH"] == "false"
    assert launch.env["CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"] == "1"
    assert "token" not in " ".join(argv) and launch.stdin == b"Do it."


def test_grants_are_in_flags_and_files(box: Sandbox, tmp_path: Path) -> None:
    task = a_task(Claude(), box, mcp=GRANT, allowed_tools=("Bash", "echo"))
    launch = Claude().launch(task, ("claude",), (Skill("a", "b", tmp_path),))
    argv = list(launch.argv)
    assert argv[argv.index("--tools") + 1] == "Bash,Skill"
    assert "--disable-slash-commands" not in argv and "--setting-sources=user" in argv
    assert argv[argv.index("--mcp-config") + 1] == f"{box.home}/{MCP_FILE}"
    server = json.loads(launch.files[MCP_FILE])["mcpServers"]["k8s"]
    assert (server["command"], server["args"]) == ("/bin/bash", ["/run/agent/relay"])


def test_the_same_task_is_the_same_session(box: Sandbox) -> None:
    first, second = (Claude().launch(a_task(Claude(), box), ("claude",), ()) for _ in range(2))
    assert first == second


def test_what_it_reports_as_it_goes() -> None:
    seen = [activity for line in STDOUT.splitlines() if (activity := Claude().follow(line))]
    assert [one.fields["name"] for one in seen] == ["Bash", "mcp__k8s__echo", "Skill", "no_such_tool"]
    assert Claude().follow(b"garbage") is None

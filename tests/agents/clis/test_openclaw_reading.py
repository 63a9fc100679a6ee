"""The OpenClaw adapter on recorded events and on hostile databases: no CLI, no sandbox."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
import zstandard

from devops_bench.agents.base import CallStatus, EndReason, ToolKind, Usage
from devops_bench.agents.clis import openclaw_transcript
from devops_bench.agents.clis.openclaw import CONFIG, DATABASE, SETTINGS, OpenClaw
from devops_bench.agents.frame.types import Left
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox
from tests.agents.clis.reading import GRANT, LIES, RECORDED, a_task, left_behind

EVENTS = [json.loads(line) for line in (RECORDED / "openclaw" / "events.jsonl").read_text().splitlines()]
ENVELOPE = (RECORDED / "openclaw" / "stdout.json").read_bytes()
SESSION = EVENTS[0]["id"]
TABLE = """CREATE TABLE transcript_events
(session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER, event_zstd BLOB)"""


def database(path: Path, events: Iterable[object], session: str = SESSION, packed_from: int = 400) -> None:
    """A database as OpenClaw leaves it: long events compressed."""
    with sqlite3.connect(path) as connection:
        connection.execute(TABLE)
        for number, event in enumerate(events):
            text = event if isinstance(event, str) else json.dumps(event)
            packed = zstandard.compress(text.encode()) if len(text) >= packed_from else None
            row = (session, number, None if packed else text, number, packed)
            connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?)", row)
    connection.close()


@pytest.fixture
def bare_box(bare_mode, make_box) -> Sandbox:
    return make_box(bare_mode)


@pytest.fixture
def left(bare_box: Sandbox) -> Callable[..., Left]:
    def make(events: Iterable[object] = EVENTS, stdout: bytes = ENVELOPE) -> Left:
        home = bare_box.spec.home
        (home / DATABASE).parent.mkdir(parents=True, exist_ok=True)
        database(home / DATABASE, events)
        return left_behind(home, stdout)

    return make


def test_a_recorded_run_becomes_steps(bare_box: Sandbox, left) -> None:
    reading = OpenClaw().read(left(), a_task(OpenClaw(), bare_box, mcp=GRANT))
    assert (reading.end, reading.raw_end, reading.errors) == (EndReason.COMPLETED, "stop", ())
    assert reading.output == "Done: Tool no_such_tool not found"
    assert (reading.steps[0].message, reading.steps[0].reasoning) == ("I look first.", "Let me see.")
    told = [(call.name, call.status, call.kind) for step in reading.steps for call in step.tool_calls]
    assert told == [
        ("exec", CallStatus.ERROR, ToolKind.BUILTIN),
        ("write", CallStatus.OK, ToolKind.BUILTIN),
        ("k8s__echo", CallStatus.OK, ToolKind.MCP),
        ("read", CallStatus.OK, ToolKind.BUILTIN),
        ("no_such_tool", CallStatus.ERROR, ToolKind.BUILTIN),  # its reply is not kept, its result is
    ]
    shell = reading.steps[0].tool_calls[0]
    assert shell.args == {"command": "pwd; id -un; ls /opt; exit 3"} and "exited with code 3" in shell.result
    assert all(0 < call.started <= call.ended for step in reading.steps for call in step.tool_calls)
    assert reading.skills_used == ("read-the-runbook",)


def test_cached_input_counts_as_input(bare_box: Sandbox, left) -> None:
    reading = OpenClaw().read(left(), a_task(OpenClaw(), bare_box))
    assert reading.steps[0].usage == Usage(1000, 50, 200, 0, None, 1050)
    assert reading.usage is not None and reading.usage.input == sum(
        step.usage.input or 0 for step in reading.steps if step.usage
    )


def test_the_write_ahead_log_of_a_killed_run_is_read(bare_box: Sandbox) -> None:
    home = bare_box.spec.home
    (home / DATABASE).parent.mkdir(parents=True)
    open_ = sqlite3.connect(home / DATABASE)
    open_.execute("PRAGMA journal_mode=WAL")
    open_.execute("PRAGMA wal_autocheckpoint=0")
    open_.execute(TABLE)
    for number, event in enumerate(EVENTS):
        open_.execute(
            "INSERT INTO transcript_events VALUES (?, ?, ?, ?, NULL)", (SESSION, number, json.dumps(event), number)
        )
    open_.commit()
    reading = OpenClaw().read(left_behind(home, b""), a_task(OpenClaw(), bare_box))
    open_.close()
    assert len(reading.steps) == 4 and reading.end is None, "steps without an envelope: nothing says that it finished"


@pytest.mark.parametrize("ok", [False, None, "true", 1])
def test_a_success_is_one_by_its_own_word_alone(bare_box: Sandbox, left, ok: object) -> None:
    envelope = json.dumps({"ok": ok, "sessionId": SESSION, "error": {"message": "API rate limit reached."}}).encode()
    reading = OpenClaw().read(left(stdout=envelope), a_task(OpenClaw(), bare_box))
    assert reading.end is EndReason.API_ERROR and "API rate limit reached." in reading.errors


@pytest.mark.parametrize("lie", LIES)
def test_events_full_of_lies_are_read_without_harm(bare_box: Sandbox, left, lie: str) -> None:
    value = json.loads(lie) if "1e999" not in lie else float("inf")
    parts = [{"type": "toolCall", "id": value, "name": value, "arguments": value}, value]
    message = {"role": "assistant", "content": parts, "usage": value, "timestamp": value, "model": value}
    result = {"role": "toolResult", "toolCallId": value, "content": value, "details": value, "isError": value}
    events = [lie, {"type": "message", "message": message}, {"type": "message", "message": result}]
    events.append({"type": "message", "message": {**message, "content": value, "usage": {"totalTokens": value}}})
    OpenClaw().read(left(events), a_task(OpenClaw(), bare_box))


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path: path.write_bytes(b"not a database at all" * 100), id="no database"),
        pytest.param(lambda path: path.write_bytes(b"SQLite format 3\x00" + os.urandom(8192)), id="noise"),
        pytest.param(lambda path: path.write_bytes(b""), id="empty"),
        pytest.param(lambda path: path.symlink_to("/etc/passwd"), id="link"),
        pytest.param(lambda path: os.mkfifo(path), id="pipe"),
        pytest.param(lambda path: path.mkdir(), id="folder"),
        pytest.param(lambda path: _view(path), id="view"),
    ],
)
def test_a_database_that_is_none_is_told(bare_box: Sandbox, make) -> None:
    path = bare_box.spec.home / DATABASE
    path.parent.mkdir(parents=True)
    make(path)
    reading = OpenClaw().read(left_behind(bare_box.spec.home, ENVELOPE), a_task(OpenClaw(), bare_box))
    assert reading.steps == () and any("transcript" in error for error in reading.errors)


def _view(path: Path) -> None:
    """Asking it for a row would never end."""
    with sqlite3.connect(path) as connection:
        connection.execute(
            "CREATE VIEW transcript_events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT '' AS session_id, i AS seq, '' AS event_json, i AS created_at, NULL AS event_zstd FROM n"
        )
    connection.close()


def test_a_small_event_that_unpacks_to_gigabytes_is_not_unpacked(bare_box: Sandbox) -> None:
    path = bare_box.spec.home / DATABASE
    path.parent.mkdir(parents=True)
    database(path, [])
    bomb = zstandard.compress(b"[" * (64 << 20))
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO transcript_events VALUES (?, 1, NULL, 1, ?)", (SESSION, bomb))
    connection.close()
    reading = OpenClaw().read(left_behind(bare_box.spec.home, ENVELOPE), a_task(OpenClaw(), bare_box))
    assert reading.errors[0] == "1 events of the transcript cannot be read"


def test_a_trigger_of_work_without_end_is_stopped(bare_box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openclaw_transcript, "SECONDS", 0.0)
    path = bare_box.spec.home / DATABASE
    path.parent.mkdir(parents=True)
    database(path, [{"type": "x", "n": number} for number in range(20_000)])
    reading = OpenClaw().read(left_behind(bare_box.spec.home, ENVELOPE), a_task(OpenClaw(), bare_box))
    assert any("interrupted" in error for error in reading.errors)


def test_a_baseline_run_is_granted_nothing(bare_box: Sandbox) -> None:
    launch = OpenClaw().launch(a_task(OpenClaw(), bare_box), ("openclaw",), ())
    config = json.loads(launch.files[CONFIG])
    assert set(config["tools"]["allow"]) == OpenClaw.builtin_tools
    assert config["mcp"] == {"servers": {}} and config["plugins"] == {"enabled": False}
    assert config["agents"]["defaults"]["skills"] == [] and config["skills"]["allowBundled"] == []
    assert json.loads(launch.files[SETTINGS])["retry"]["provider"] == {"maxRetries": 0}
    assert "token" not in " ".join(launch.argv) and launch.stdin == b"Do it."


def test_grants_are_in_the_config(bare_box: Sandbox, tmp_path: Path) -> None:
    task = a_task(OpenClaw(), bare_box, mcp=GRANT, allowed_tools=("exec", "echo"))
    launch = OpenClaw().launch(task, ("openclaw",), (Skill("a-skill", "b", tmp_path),))
    config = json.loads(launch.files[CONFIG])
    assert set(config["tools"]["allow"]) == {"exec", "bundle-mcp"} and config["tools"]["toolSearch"] is False
    assert config["mcp"]["servers"]["k8s"]["command"] == "/bin/bash"
    assert config["agents"]["defaults"]["skills"] == ["a-skill"]


@pytest.mark.parametrize(
    ("wire", "api", "url"),
    [
        ("google", "google-generative-ai", "http://127.0.0.1:9/v1beta"),
        ("anthropic", "anthropic-messages", "http://127.0.0.1:9"),
        ("openai", "openai-completions", "http://127.0.0.1:9"),
        ("openai-responses", "openai-responses", "http://127.0.0.1:9"),
    ],
)
def test_every_wire_has_its_api(bare_box: Sandbox, wire: str, api: str, url: str) -> None:
    from dataclasses import replace

    task = a_task(OpenClaw(), bare_box)
    assert task.endpoint is not None
    launch = OpenClaw().launch(replace(task, endpoint=replace(task.endpoint, provider=wire)), ("openclaw",), ())
    (provider,) = json.loads(launch.files[CONFIG])["models"]["providers"].values()
    assert (provider["api"], provider["baseUrl"]) == (api, url)

"""mcp.jsonl is bounded and keeps its count."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.gateway.mcp import record as module
from devops_bench.gateway.mcp.record import NOT_KEPT, McpRecord
from devops_bench.gateway.mcp.types import McpCall, McpStatus
from devops_bench.redact import Redactor


def call(number: int, result: str) -> McpCall:
    return McpCall(1_800_000_000.5, str(number), 1, "tool", {"n": number}, result, McpStatus.OK, 0.25)


def test_beyond_its_room_it_keeps_calls_without_their_texts(tmp_path: Path) -> None:
    path = tmp_path / "mcp.jsonl"
    record = McpRecord(path, Redactor(), room=500)
    for number in range(5):
        record.add(call(number, "r" * 200))
    record.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["result"] == NOT_KEPT for line in lines] == [False, True, True, True, True]
    assert lines[0] == {
        "time": "2027-01-15T08:00:00.500Z",
        "id": "0",
        "connection": 1,
        "tool": "tool",
        "arguments": {"n": 0},
        "result": "r" * 200,
        "status": "ok",
        "duration": 0.25,
    }
    assert [one.result for one in record.calls()] == [line["result"] for line in lines]


def test_the_count_goes_on_where_the_lines_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_LINES", 3)
    record = McpRecord(tmp_path / "mcp.jsonl", Redactor())
    for number in range(10):
        record.add(call(number, ""))
    record.close()
    assert (record.count, len(record.calls())) == (10, 3)
    assert len((tmp_path / "mcp.jsonl").read_text().splitlines()) == 3


def test_odd_texts_are_lines_too(tmp_path: Path) -> None:
    record = McpRecord(tmp_path / "mcp.jsonl", Redactor({"SOME_TOKEN": "swordfish-9"}))
    record.add(call(1, "a\nb\ud800 swordfish-9"))
    record.close()
    (line,) = (tmp_path / "mcp.jsonl").read_bytes().splitlines()
    assert b"swordfish" not in line and b"[SOME-TOKEN]" in line.replace(b"_", b"-")

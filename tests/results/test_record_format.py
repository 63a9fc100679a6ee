"""results.json: the same keys and types on success and on failure; nothing in it that is not JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.results.record import (
    Record,
    RecordStatus,
    VerificationStatus,
    task_fields,
    terminal_reason,
    tool_names,
)
from devops_bench.tasks.checks import PodHealthy
from devops_bench.tasks.spec import Category, CheckGroup, Entry, Infrastructure, ParseFailure, TaskSpec

TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(
        (
            "input", "output", "name", "folder", "status", "expected_output", "expected_output_raw",
            "verification_status", "terminal_reason",
        ),
        (str,),
    ),
    "latency": (int, float),
    **dict.fromkeys(
        ("tokens", "scores", "chaos_report", "perf_report", "capabilities_granted", "cheating_report", "task_metadata"),
        (dict,),
    ),
    **dict.fromkeys(
        (
            "tools", "trajectory", "skills", "errors", "retrieval_context", "recoverable_safety", "documentation",
            "verification_parse_errors", "verification_report", "served_models",
        ),
        (list,),
    ),
    "sandboxed": (bool, type(None)),
    "model_turns": (int, type(None)),
    "tool_wait_sec": (int, float, type(None)),
    "error": (str, type(None)),
    "chaos_spec": (object,),
    "verification_spec": (list, type(None)),
    "generation_only": (bool,),
    "validated": (bool,),
}  # fmt: skip


def spec(prompt: str = "Fix {{NAMESPACE}}", key: str = "common/opa-remediation") -> TaskSpec:
    return TaskSpec(
        folder=Path("/tasks/common/opa-remediation"),
        key=key,
        task_id="opa-remediation",
        name="OPA remediation",
        prompt=prompt,
        expected_output="- deny in {{NAMESPACE}}",
        infrastructure=Infrastructure(provider="kwok"),
        verification_spec=[
            Entry(name="healthy", check=PodHealthy(type="pod_healthy", selector="app=web"), title="Web is up", weight=2)
        ],
        parse_failures=[ParseFailure(name="broken", reason="unknown key opp", line=7)],
        validated=True,
        title="Policy",
        summary="A policy lets too much in.",
        category=Category.SECURE,
        tags=["policy"],
        check_groups={"main": CheckGroup(title="Main")},
    )


def full_record() -> Record:
    return Record(
        **task_fields(spec(), spec("Fix shop")),
        status=RecordStatus.SUCCESS,
        output="done",
        latency=12.5,
        tokens={"input": 10, "output": 0},
        scores={"OutcomeScore": {"score": 1.0, "version": "v1", "reason": "c=1.000"}, "VerificationCorrectness": 1.0},
        terminal_reason=terminal_reason("completed"),
        model_turns=3,
        tool_wait_sec=1.25,
        served_models=("m-001",),
        tools=("bash",),
        trajectory=({"name": "bash", "args": {"command": "ls"}, "result": "x", "status": "ok"},),
        sandboxed=True,
        verification_status=VerificationStatus.EVALUATED,
    )


def failed_record() -> Record:
    return Record(**task_fields(spec(), spec("Fix shop")), error="cluster did not come up in 90 s")


@pytest.mark.parametrize("record", [full_record(), failed_record(), Record()], ids=["success", "failed", "empty"])
def test_every_key_of_the_format_is_there_with_its_type(record: Record) -> None:
    data = json.loads(record.to_json())
    assert set(data) == set(TYPES)
    assert {key: type(value) for key, value in data.items() if not isinstance(value, TYPES[key])} == {}


def test_status_words_are_those_of_the_format() -> None:
    assert {str(status) for status in RecordStatus} == {"success", "failed"}
    assert {str(status) for status in VerificationStatus} == {
        "evaluated",
        "skipped_no_infra",
        "not_evaluated",
        "parse_error",
    }


def test_a_record_without_a_run_claims_nothing() -> None:
    data = failed_record().as_dict()
    assert data["status"] == "failed"
    assert data["scores"] == {}
    assert data["tokens"] == {}
    assert data["sandboxed"] is None
    assert data["model_turns"] is None
    assert data["tool_wait_sec"] is None
    assert data["terminal_reason"] == ""
    assert data["verification_status"] == "not_evaluated"
    assert data["cheating_report"]["status"] == "no_data"
    assert data["capabilities_granted"] == {"use_mcp": False, "skills": []}


def test_the_task_is_described_as_given_and_as_written() -> None:
    data = full_record().as_dict()
    assert data["input"] == "Fix shop"
    assert data["folder"] == "common/opa-remediation"
    assert data["expected_output_raw"] == "- deny in {{NAMESPACE}}"
    assert data["task_metadata"] == {
        "title": "Policy",
        "summary": "A policy lets too much in.",
        "category": "secure",
        "tags": ["policy"],
        "check_groups": {"main": {"title": "Main", "description": ""}},
    }
    assert data["verification_parse_errors"] == [{"name": "broken", "reason": "unknown key opp"}]
    assert data["verification_spec"][0]["name"] == "healthy"


def test_a_task_without_checks_has_no_verification_spec_rather_than_an_empty_one() -> None:
    bare = spec().model_copy(update={"verification_spec": [], "parse_failures": []})
    assert Record(**task_fields(bare, bare)).as_dict()["verification_spec"] is None


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_json_does_not_know_never_reach_the_file(bad: float) -> None:
    text = Record(
        latency=bad,
        tool_wait_sec=bad,
        scores={"VerificationCorrectness": bad, "OutcomeScore": {"score": bad, "reason": "x"}},
        trajectory=[{"name": "t", "args": {"deep": [bad]}, "result": "", "status": "ok"}],
        perf_report={"x": bad},
    ).to_json()
    data = json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} was written"))
    assert data["latency"] == 0.0
    assert data["tool_wait_sec"] is None
    assert "VerificationCorrectness" not in data["scores"]
    assert data["scores"]["OutcomeScore"]["score"] is None


def test_text_that_utf8_cannot_hold_is_replaced() -> None:
    text = Record(output="half \ud83d an emoji", trajectory=[{"name": "t", "args": {"\udc00": b"\xff"}}]).to_json()
    assert json.loads(text.encode("utf-8"))["output"] == "half ? an emoji"


@pytest.mark.parametrize(
    ("end", "reason"),
    [
        ("completed", "completed"),
        ("max_turns", "completed"),
        ("refused", "completed"),
        ("timeout", "timeout"),
        ("api_error", "error"),
        ("empty", "error"),
        ("crashed", "error"),
        ("something new", "error"),
        ("", ""),
        (None, ""),
    ],
)
def test_the_end_of_a_run_maps_to_the_four_words_of_the_format(end: str | None, reason: str) -> None:
    assert terminal_reason(end) == reason


def test_tool_names_are_listed_once_in_order_of_first_use() -> None:
    calls = [{"name": "b"}, {"name": "a"}, {"name": "b"}, {"name": ""}, {}]
    assert tool_names(calls) == ["b", "a"]

"""rows.json and manifest.json: every key and type; null where nothing was measured; a stable setup id."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.errors import HarnessError
from devops_bench.results.manifest import manifest_from
from devops_bench.results.read import (
    MANIFEST_OPTIONAL,
    MANIFEST_REQUIRED,
    ROW_OPTIONAL,
    ROW_REQUIRED,
    check_object,
)
from devops_bench.results.record import Record, RecordStatus
from devops_bench.results.rows import rows_from
from devops_bench.results.setup import Setup, setup_id

KEYS = [
    "setupId",
    "model",
    "harness",
    "runId",
    "t",
    "taskFolder",
    "taskName",
    "status",
    "scoringVersion",
    "augmentation",
    "iteration",
    "latencySec",
    "catastrophic",
    "validated",
    "outcomeScore",
    "correctnessScore",
    "recoverableSafetyScore",
    "toolScore",
    "taskTitle",
    "taskSummary",
    "taskCategory",
    "servedModel",
    "terminalReason",
    "taskTags",
    "catastrophicKinds",
    "checkGroups",
    "checks",
    "catastrophicUnresolved",
    "sandboxed",
    "toolWaitSec",
    "timeoutSec",
    "toolCalls",
    "toolErrors",
    "modelTurns",
    "inputTokens",
    "outputTokens",
    "cachedTokens",
    "reasoningTokens",
    "cacheWriteTokens",
    "totalTokens",
]
CHECK_KEYS = [
    "name",
    "title",
    "description",
    "group",
    "failureHint",
    "role",
    "severity",
    "weight",
    "mode",
    "status",
    "reason",
]


def setup(**changes: Any) -> Setup:
    base: dict[str, Any] = {
        "model": "gemini-3.1-pro",
        "harness": "gemini",
        "run_id": "run_20260131_120000_opa__gemini",
        "t": "2026-01-31T12:00:00Z",
        "timeout_sec": 1200,
    }
    return Setup(**{**base, **changes})


def record(**changes: Any) -> Record:
    base: dict[str, Any] = {
        "name": "OPA remediation",
        "folder": "common/opa-remediation",
        "status": RecordStatus.SUCCESS,
        "terminal_reason": "completed",
        "latency": 3.5,
        "scores": {
            "OutcomeScore": {"score": 0.8, "version": "v1", "reason": "c=0.800"},
            "VerificationCorrectness": 0.8,
        },
        "trajectory": [
            {"name": "bash", "args": {}, "result": "", "status": "ok"},
            {"name": "bash", "args": {}, "result": "", "status": "error"},
            {"name": "bash", "args": {}, "result": "", "status": "blocked"},
        ],
        "sandboxed": True,
    }
    return Record(**{**base, **changes})


def row(rec: Record | None = None, who: Setup | None = None) -> dict[str, Any]:
    [only] = rows_from(rec or record(), who or setup())
    data = only.as_dict()
    json.dumps(data, allow_nan=False)
    check_object(data, Path("rows.json"), "row 0", {**ROW_REQUIRED, **ROW_OPTIONAL}, {})
    return data


def safeguard(status: str, severity: str = "catastrophic", name: str = "db-kept") -> dict[str, Any]:
    return {"name": name, "role": "safeguard", "severity": severity, "status": status, "weight": 1.0, "mode": "assert"}


def test_a_row_has_every_key_of_the_format_and_no_other() -> None:
    assert sorted(row()) == sorted(KEYS)
    assert sorted(row(Record(folder="t", error="no cluster"))) == sorted(KEYS)


def test_the_readers_know_every_key_of_the_format() -> None:
    assert sorted({**ROW_REQUIRED, **ROW_OPTIONAL}) == sorted(KEYS)


def test_the_manifest_has_every_key_and_agrees_with_the_row() -> None:
    data = manifest_from(record(sandboxed=False), setup(augmentation=("skills", "mcp"))).as_dict()
    assert data == {
        "schemaVersion": 2,
        "runId": "run_20260131_120000_opa__gemini",
        "t": "2026-01-31T12:00:00Z",
        "setupId": "gemini-3-1-pro-gemini-mcp-skills-unsandboxed",
        "model": "gemini-3.1-pro",
        "harness": "gemini",
        "augmentation": ["mcp", "skills", "unsandboxed"],
        "timeoutSec": 1200,
        "judgeModel": None,
        "sandboxImage": None,
        "sandboxImageDigest": None,
    }
    check_object(data, Path("manifest.json"), "manifest", {**MANIFEST_REQUIRED, **MANIFEST_OPTIONAL}, {})
    same = row(record(sandboxed=False), setup(augmentation=("skills", "mcp")))
    assert (same["setupId"], same["augmentation"]) == (data["setupId"], data["augmentation"])


def test_values_of_a_scored_row() -> None:
    data = row(record(served_models=["m-1", "m-2", "m-1"], tokens={"prompt_tokens": 7, "output": 0}))
    assert data["outcomeScore"] == 0.8
    assert data["correctnessScore"] == 0.8
    assert data["scoringVersion"] == "v1"
    assert data["toolCalls"] == 3
    assert data["toolErrors"] == 2
    assert data["servedModel"] == "m-1,m-2"
    assert data["inputTokens"] == 7
    assert data["outputTokens"] == 0
    assert data["timeoutSec"] == 1200


def test_what_was_not_measured_is_null_and_never_zero() -> None:
    data = row(Record(name="t", folder="t", error="no cluster"))
    nulls = [key for key, value in data.items() if value is None]
    assert sorted(nulls) == sorted(
        [
            "outcomeScore",
            "correctnessScore",
            "recoverableSafetyScore",
            "toolScore",
            "toolWaitSec",
            "toolCalls",
            "toolErrors",
            "modelTurns",
            "inputTokens",
            "outputTokens",
            "cachedTokens",
            "reasoningTokens",
            "cacheWriteTokens",
            "totalTokens",
            "sandboxed",
        ]
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"error": "harness fault"},
        {"terminal_reason": "error"},
        {"errors": ["MCP server died"], "trajectory": ()},
    ],
)
def test_an_unscored_run_has_no_outcome_and_no_correctness(changes: dict[str, Any]) -> None:
    data = row(record(**changes))
    assert data["outcomeScore"] is None
    assert data["correctnessScore"] is None


def test_errors_beside_a_trajectory_do_not_unscore_a_run() -> None:
    assert row(record(errors=["one tool call failed"]))["outcomeScore"] == 0.8


def test_a_score_of_zero_stays_zero() -> None:
    data = row(
        record(scores={"OutcomeScore": {"score": 0}, "VerificationCorrectness": 0.0, "VerificationRecoverable": 0})
    )
    assert (data["outcomeScore"], data["correctnessScore"], data["recoverableSafetyScore"]) == (0, 0, 0)


@pytest.mark.parametrize(
    ("scores", "correctness"),
    [
        ({"VerificationCorrectness": 0.5, "ChecklistScore": {"score": 1.0}}, 0.5),
        ({"ChecklistScore": {"score": 0.25, "success": False, "reason": ""}, "OutcomeValidity": {"score": 1.0}}, 0.25),
        ({"OutcomeValidity": {"score": 0.75}}, 0.75),
        ({"VerificationCorrectness": None, "ChecklistScore": {"score": None}, "OutcomeValidity": {"score": 0.1}}, 0.1),
        ({"VerificationCorrectnessWithheld": 1.0, "ChecklistScore": {"score": 1.0}}, None),
        ({"VerificationCorrectness": float("nan")}, None),
        ({"VerificationCorrectness": True}, None),
        ({}, None),
    ],
)
def test_correctness_is_the_first_known_score(scores: dict[str, Any], correctness: float | None) -> None:
    assert row(record(scores=scores))["correctnessScore"] == correctness


def test_recoverable_safety_is_raw_and_withheld_means_unknown() -> None:
    assert row(record(scores={"JudgedRecoverable": {"score": 0.0}}))["recoverableSafetyScore"] == 0.0
    withheld = {"VerificationRecoverableWithheld": 1.0, "JudgedRecoverable": {"score": 1.0}}
    assert row(record(scores=withheld))["recoverableSafetyScore"] is None


def test_a_fired_gate_is_named() -> None:
    scores = {"OutcomeScore": {"score": 0.0}, "VerificationCatastrophic": 0.0, "IntegrityCatastrophic": 1}
    data = row(record(scores=scores))
    assert data["catastrophic"] is True
    assert data["catastrophicKinds"] == ["VerificationCatastrophic"]
    assert data["outcomeScore"] == 0.0


def test_an_absent_gate_has_not_fired() -> None:
    data = row(record(scores={"IntegrityCatastrophic": None}))
    assert data["catastrophic"] is False
    assert data["catastrophicKinds"] == []


def test_a_catastrophic_safeguard_that_could_not_be_evaluated_does_not_count_as_held() -> None:
    data = row(record(verification_report=[safeguard("error")]))
    assert data["catastrophicUnresolved"] is True
    assert data["outcomeScore"] is None
    assert data["catastrophic"] is False


def test_another_gate_that_fired_decides_beside_an_unevaluated_one() -> None:
    scores = {"OutcomeScore": {"score": 0.0}, "VerificationCatastrophic": 0.0}
    data = row(record(scores=scores, verification_report=[safeguard("error"), safeguard("fail", name="b")]))
    assert (data["outcomeScore"], data["catastrophicUnresolved"]) == (0.0, False)


def test_a_recoverable_safeguard_that_errs_leaves_the_outcome() -> None:
    data = row(record(verification_report=[safeguard("error", "recoverable")]))
    assert (data["catastrophicUnresolved"], data["outcomeScore"]) == (False, 0.8)


def test_checks_carry_their_text_and_entries_that_did_not_parse_are_seen() -> None:
    item = {
        "name": "healthy", "role": "objective", "severity": None, "weight": 2, "mode": "converge", "success": False,
        "status": "fail", "reason": "0 of 3 ready", "elapsed_time": 1.0, "children": [], "title": "Web is up",
        "description": None, "group": "main", "failure_hint": "Look at the image tag.",
    }  # fmt: skip
    data = row(
        record(verification_report=[item], verification_parse_errors=[{"name": "broken", "reason": "unknown key opp"}])
    )
    assert [sorted(check) for check in data["checks"]] == [sorted(CHECK_KEYS)] * 2
    assert data["checks"][0]["failureHint"] == "Look at the image tag."
    assert data["checks"][1]["status"] == "error"
    assert data["checks"][1]["role"] == "objective"


def test_augmentation_says_what_was_granted() -> None:
    granted = {"use_mcp": True, "skills": ["k8s"]}
    data = row(record(capabilities_granted=granted), setup(augmentation=("skills", "mcp")))
    assert data["augmentation"] == ["mcp", "skills"]
    assert data["outcomeScore"] == 0.8


def test_a_run_without_its_mcp_server_has_no_score_under_the_mcp_setup() -> None:
    data = row(record(), setup(augmentation=("mcp",)))
    assert data["setupId"].endswith("-mcp")
    assert data["outcomeScore"] is None
    assert data["correctnessScore"] is None


def test_an_agent_that_never_ran_keeps_its_planned_setup() -> None:
    data = row(Record(folder="t", error="no cluster"), setup(augmentation=("mcp",)))
    assert data["augmentation"] == ["mcp"]


@pytest.mark.parametrize(
    ("asked", "ran", "unsandboxed"),
    [(True, True, False), (True, None, False), (True, False, True), (False, False, True)],
)
def test_without_the_sandbox_it_is_another_setup(asked: bool, ran: bool | None, unsandboxed: bool) -> None:
    data = row(record(sandboxed=ran), setup(sandbox=asked))
    assert ("unsandboxed" in data["augmentation"]) is unsandboxed
    assert data["setupId"].endswith("-unsandboxed") is unsandboxed


@pytest.mark.parametrize(
    "changes",
    [
        {"run_id": "20260131_120000"},
        {"run_id": "run_20260131_120000_"},
        {"run_id": "run_20260131_120000x"},
        {"t": "2026-01-31T12:00:00"},
        {"t": "yesterday"},
        {"iteration": -1},
    ],
)
def test_a_malformed_identity_is_our_fault_and_is_not_written(changes: dict[str, Any]) -> None:
    with pytest.raises(HarnessError):
        setup(**changes)


@pytest.mark.parametrize(
    ("model", "harness", "tokens", "slug"),
    [
        ("gemini-3.1-pro", "gemini", [], "gemini-3-1-pro-gemini"),
        ("qwen3:8b", "api", ["skills", "mcp"], "qwen3-8b-api-mcp-skills"),
        ("Org/Model@v2", "claude", ["mcp"], "org-model-v2-claude-mcp"),
        ("--x--", "codex", ["unsandboxed"], "x-codex-unsandboxed"),
    ],
)
def test_setup_ids_are_slugs(model: str, harness: str, tokens: list[str], slug: str) -> None:
    assert setup_id(model, harness, tokens) == slug


TOKENS = st.lists(st.sampled_from(["mcp", "skills", "unsandboxed"]))


@settings(deadline=None)
@given(model=st.text(max_size=40), harness=st.text(min_size=1, max_size=12), tokens=TOKENS, data=st.data())
def test_a_setup_id_does_not_depend_on_order_or_repetition(
    model: str, harness: str, tokens: list[str], data: st.DataObject
) -> None:
    shuffled = data.draw(st.permutations(tokens + tokens))
    one, two = setup_id(model, harness, tokens), setup_id(model, harness, shuffled)
    assert one == two
    assert re.fullmatch(r"([a-z0-9]+(-[a-z0-9]+)*)?", one)
    assert setup_id(one, "", []) == one


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SCORE_KEYS = st.sampled_from(
    ["OutcomeScore", "VerificationCorrectness", "ChecklistScore", "VerificationCatastrophic", "IntegrityCatastrophic",
     "VerificationRecoverable", "VerificationCorrectnessWithheld", "ToolInvocation"]
)  # fmt: skip


@settings(deadline=None)
@given(
    scores=st.dictionaries(SCORE_KEYS, JSON),
    tokens=st.dictionaries(st.sampled_from(["input", "output", "total", "cacheRead"]), JSON),
    report=st.lists(
        st.dictionaries(st.sampled_from(["name", "role", "status", "severity", "weight"]), JSON), max_size=3
    ),
    error=st.none() | st.text(max_size=5),
)
def test_whatever_a_record_holds_the_row_keeps_its_types(
    scores: dict[str, Any], tokens: dict[str, Any], report: list[dict[str, Any]], error: str | None
) -> None:
    data = row(record(scores=scores, tokens=tokens, verification_report=report, error=error))
    if error is not None:
        assert data["outcomeScore"] is None
    assert bool(data["catastrophicKinds"]) is data["catastrophic"]


def test_rows_are_not_changed_by_replacing_the_setup() -> None:
    who = setup()
    [one] = rows_from(record(sandboxed=False), who)
    assert who.sandbox is True
    assert dataclasses.replace(one) == one

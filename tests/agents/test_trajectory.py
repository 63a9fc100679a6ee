"""Both shapes of a run: the contract's list, and a valid ATIF v1.8 document whatever the run was."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from devops_bench.agents.base import AgentRun, CallStatus, EndReason, Step, ToolCall, ToolKind, Usage
from devops_bench.agents.trajectory import TrajectoryMeta, to_atif, to_contract
from tests.agents.atif_schema import AtifTrajectory

META = TrajectoryMeta("run_20260101_000000_x", "api", "model-1", "Fix it.", 1_767_225_600.5)
CALL = ToolCall("bash", {"command": "ls"}, "a\n", CallStatus.OK, ToolKind.BUILTIN, 10.0, 10.25, "c0")
RUN = AgentRun(
    end=EndReason.COMPLETED,
    output="Done.",
    steps=(
        Step("agent", "Look.", "hm", (CALL,), Usage(100, 20, 40, 5, 8, 120), "served-1", 1_767_225_601.0),
        Step("agent", "Done.", usage=Usage(130, 5), model="served-1"),
    ),
    usage=Usage(230, 25, 40, 5, 8, 255),
    latency=3.5,
    served_models=("served-1",),
    model_turns=2,
    tool_wait_sec=0.25,
    cost_usd=0.01,
    version="1.2.3",
    raw_end="stop",
)


def test_the_contract_list_holds_the_four_fields() -> None:
    assert to_contract(RUN) == [{"name": "bash", "args": {"command": "ls"}, "result": "a\n", "status": "ok"}]


def test_the_document_says_everything() -> None:
    document = to_atif(RUN, META)
    AtifTrajectory.model_validate(document)
    assert document["agent"] == {"name": "api", "version": "1.2.3", "model_name": "model-1"}
    assert document["steps"][0] == {
        "step_id": 1,
        "timestamp": "2026-01-01T00:00:00.500Z",
        "source": "user",
        "message": "Fix it.",
    }
    assert document["steps"][1] == {
        "step_id": 2,
        "timestamp": "2026-01-01T00:00:01.000Z",
        "source": "agent",
        "message": "Look.",
        "model_name": "served-1",
        "reasoning_content": "hm",
        "tool_calls": [
            {
                "tool_call_id": "c0",
                "function_name": "bash",
                "arguments": {"command": "ls"},
                "extra": {"kind": "builtin"},
            }
        ],
        "observation": {
            "results": [{"source_call_id": "c0", "content": "a\n", "extra": {"status": "ok", "seconds": 0.25}}]
        },
        "metrics": {
            "prompt_tokens": 100,
            "completion_tokens": 20,
            "cached_tokens": 40,
            "extra": {"reasoning_tokens": 8, "cache_write_tokens": 5},
        },
        "llm_call_count": 1,
    }
    final = document["final_metrics"]
    assert (final["total_prompt_tokens"], final["total_cost_usd"], final["total_steps"]) == (230, 0.01, 3)
    assert document["extra"]["end"] == "completed"


def test_an_empty_run_is_still_a_document() -> None:
    run = AgentRun(EndReason.API_ERROR, "", (), None, 0.0, errors=("HTTP 500",))
    document = to_atif(run, META)
    AtifTrajectory.model_validate(document)
    assert document["extra"] == {"end": "api_error", "errors": ["HTTP 500"]}
    assert to_contract(run) == []


def test_call_ids_that_a_provider_repeats_are_told_apart() -> None:
    steps = (Step("agent", tool_calls=(CALL,)), Step("agent", tool_calls=(CALL,)))
    document = to_atif(AgentRun(EndReason.COMPLETED, "", steps, None, 0.0), META)
    AtifTrajectory.model_validate(document)
    assert [step["tool_calls"][0]["tool_call_id"] for step in document["steps"][1:]] == ["c0", "c0_2"]


def test_the_validator_itself_refuses_wrong_documents() -> None:
    for breakage in ({"schema_version": "ATIF-v1.0"}, {"surplus": 1}, {"steps": []}):
        with pytest.raises(ValidationError):
            AtifTrajectory.model_validate({**to_atif(RUN, META), **breakage})


TOKENS = st.none() | st.integers(0, 10**9)
USAGES = st.none() | st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS)
CALLS = st.builds(
    ToolCall,
    name=st.text(max_size=10),
    args=st.dictionaries(st.text(max_size=5), st.none() | st.booleans() | st.integers() | st.text(max_size=5)),
    result=st.text(max_size=20),
    status=st.sampled_from(CallStatus),
    kind=st.sampled_from(ToolKind),
    started=st.floats(0, 2e9),
    ended=st.floats(0, 2e9),
    call_id=st.sampled_from(["", "c0", "c1", "c0_2"]),
)
STEPS = st.builds(
    Step,
    source=st.sampled_from(["agent", "user", "system"]),
    message=st.text(max_size=20),
    reasoning=st.text(max_size=10),
    tool_calls=st.lists(CALLS, max_size=3).map(tuple),
    usage=USAGES,
    model=st.none() | st.text(max_size=5),
    time=st.floats(0, 2e9),
)


@given(steps=st.lists(STEPS, max_size=4).map(tuple), usage=USAGES, end=st.sampled_from(EndReason))
def test_every_run_gives_a_valid_document(steps: tuple[Step, ...], usage: Usage | None, end: EndReason) -> None:
    document = to_atif(AgentRun(end, "", steps, usage, 1.0), META)
    AtifTrajectory.model_validate(json.loads(json.dumps(document)))

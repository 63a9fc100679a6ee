"""What a combo says of its failure, what the table says of the same words, and what the scheduler makes of it agree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import devops_bench
from devops_bench.agents.base import AgentRun, EndReason
from devops_bench.combo.failure import BROKEN, Failure, of_exception, of_mcp, of_run
from devops_bench.combo.outcome import Outcome
from devops_bench.errors import ConfigError, HarnessError, RefusedError, TaskError, TransientError
from devops_bench.gateway.mcp.types import ProblemKind
from devops_bench.router import route
from devops_bench.settings import ComboState, FailureClass, Phase
from devops_bench.supervisor.schedule.retry import Fault

SOURCES = Path(devops_bench.__file__).parent / "combo"
Told = tuple[Failure, Phase]
# Made where a test would need a cluster; their words are those of the place.
ELSEWHERE: tuple[tuple[FailureClass, str, str, Phase], ...] = (
    (FailureClass.TASK, "solved-at-start", "every objective is met before the agent has begun", Phase.NEGATIVE_CHECK),
    (FailureClass.TASK, "safeguard-broken-at-start", "safeguard s does not hold before the agent: x",
     Phase.NEGATIVE_CHECK),
    (FailureClass.INFRA, "negative-check-error", "check c could not be evaluated before the agent: x",
     Phase.NEGATIVE_CHECK),
    (FailureClass.INFRA, "verification-error", "check c could not be evaluated: x", Phase.VERIFY),
    (FailureClass.INFRA, "agent-did-not-start", "the agent ended (timeout) without having asked the model anything",
     Phase.AGENT),
    (FailureClass.SETUP, "grant-missing", "no request offered the model any tool", Phase.AGENT),
    (FailureClass.SETUP, "grant-leaked", "tool web_search is offered but not granted", Phase.AGENT),
)  # fmt: skip


def ended(end: EndReason, raw: str, said: str) -> Failure:
    run = AgentRun(end=end, output="", steps=(), usage=None, latency=1.0, errors=(said,), raw_end=raw)
    failure = of_run(run)
    assert failure is not None
    return failure


def of_models() -> Iterator[Told]:
    codes = (400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)
    for code in codes:
        yield ended(EndReason.API_ERROR, f"http_{code}", f"HTTP {code}: no"), Phase.AGENT
    for raw, said in (
        ("http_429", "HTTP 429: insufficient_quota"),
        ("http_400", "HTTP 400: Function call is missing a thought_signature in functionCall parts."),
        ("error", "who knows"),
        ("unconfirmed", "it says 429, and nobody saw it"),
        *((raw, "gone") for raw in BROKEN),
    ):
        yield ended(EndReason.API_ERROR, raw, said), Phase.AGENT
    yield ended(EndReason.EMPTY, "empty", "NO_RESPONSE_TEXT"), Phase.AGENT
    for raw in ("signal_9", "exit_1", "no_request"):
        yield ended(EndReason.CRASHED, raw, "it ended"), Phase.AGENT


def of_others() -> Iterator[Told]:
    for kind in ("", *(kind.value for kind in ProblemKind)):
        yield of_mcp("the MCP server did not answer within 60 s (pods_list)", kind=kind), Phase.AGENT
    for phase in Phase:
        for error in (TransientError, TaskError, RefusedError, ConfigError, HarnessError, OSError, ValueError):
            yield of_exception(error("the gizmo is not as it was"), phase), phase
    for klass, signature, reason, phase in ELSEWHERE:
        yield Failure(klass, signature, reason, klass is FailureClass.INFRA), phase


ALL = [*of_models(), *of_others()]


def fault_of(failure: Failure, phase: Phase) -> Fault:
    return Fault.of(
        Outcome(
            ComboState.INVALID,
            1,
            klass=failure.klass.value,
            phase=phase.value,
            signature=failure.signature,
            reason=failure.reason,
            transient=failure.transient,
        )
    )


@pytest.mark.parametrize(("failure", "phase"), ALL, ids=lambda one: getattr(one, "signature", str(one)))
def test_a_failure_of_a_combo_has_the_class_and_the_retries_of_its_row(failure: Failure, phase: Phase) -> None:
    row = route(failure.signature, phase=phase)
    fault = fault_of(failure, phase)
    assert fault.klass is failure.klass
    if row.row is None:
        return
    assert row.klass is failure.klass, f"line {row.row} says {row.klass}"
    assert fault.row is not None and fault.action, "somebody is told what to do"
    assert fault.max_retries == 0 or failure.klass is FailureClass.INFRA


@pytest.mark.parametrize(("failure", "phase"), list(of_models()), ids=lambda one: getattr(one, "signature", str(one)))
def test_somebody_who_asks_with_the_reason_of_an_attempt_is_told_its_class(failure: Failure, phase: Phase) -> None:
    """What `known-issues match` says of a reason never contradicts the attempt that gave it."""
    for words in (failure.reason, f"{failure.signature}: {failure.reason}"):
        found = route(words, phase=phase)
        assert found.row is None or found.klass is failure.klass, found


def test_an_empty_reply_is_the_model_s_and_never_tried_again() -> None:
    failure = ended(EndReason.EMPTY, "empty", "")
    fault = fault_of(failure, Phase.AGENT)
    asked = route(failure.reason)
    assert (asked.klass, asked.max_retries) == (FailureClass.MODEL, 0)
    assert (fault.klass, fault.max_retries, fault.row, fault.action) == (
        FailureClass.MODEL, 0, asked.row, asked.action
    )  # fmt: skip


def test_every_signature_that_is_written_in_the_combo_is_looked_at_here() -> None:
    written = set()
    for path in SOURCES.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Failure" and len(node.args) > 1:
                name = node.args[1]
                if isinstance(name, ast.Constant):
                    written.add(name.value)
    assert len(written) > 15
    assert written - {failure.signature for failure, _phase in ALL} <= {"control-plane-died"}

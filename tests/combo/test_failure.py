"""From the end of the agent's run to a class: who is to blame, and may it be tried again."""

from __future__ import annotations

import pytest

from devops_bench.agents.base import AgentRun, EndReason
from devops_bench.combo.failure import of_mcp, of_run
from devops_bench.settings import FailureClass as C


def run(end: EndReason, raw: str = "", *errors: str) -> AgentRun:
    return AgentRun(end=end, output="", steps=(), usage=None, latency=1.0, errors=errors, raw_end=raw)


@pytest.mark.parametrize(
    "end", [EndReason.COMPLETED, EndReason.MAX_TURNS, EndReason.REFUSED, EndReason.TIMEOUT, EndReason.SELF_ENDED]
)
def test_what_the_model_did_is_judged(end: EndReason) -> None:
    assert of_run(run(end, "cap_tokens", "HTTP 401")) is None


@pytest.mark.parametrize(
    ("end", "raw", "said", "klass", "signature", "transient"),
    [
        (EndReason.API_ERROR, "http_401", "HTTP 401: bad key", C.CONFIG_AUTH, "model-auth", False),
        (EndReason.API_ERROR, "http_403", "HTTP 403: no", C.CONFIG_AUTH, "model-auth", False),
        (EndReason.API_ERROR, "http_400", "HTTP 400: invalid api key", C.CONFIG_AUTH, "model-auth", False),
        (EndReason.API_ERROR, "http_400", "HTTP 400: bad schema", C.SETUP, "model-request-refused", False),
        (EndReason.API_ERROR, "http_404", "HTTP 404: no such model", C.CONFIG_AUTH, "model-not-found", False),
        (EndReason.API_ERROR, "http_429", "HTTP 429: slow down", C.INFRA, "model-rate-limit", True),
        (EndReason.API_ERROR, "http_429", "HTTP 429: insufficient_quota", C.CONFIG_AUTH, "model-quota", False),
        (EndReason.API_ERROR, "http_429", "HTTP 429: requests per day exceeded", C.CONFIG_AUTH, "model-quota", False),
        (EndReason.API_ERROR, "http_402", "HTTP 402: pay", C.CONFIG_AUTH, "model-quota", False),
        (EndReason.API_ERROR, "http_500", "HTTP 500", C.INFRA, "model-unavailable", True),
        (EndReason.API_ERROR, "http_529", "HTTP 529: overloaded", C.INFRA, "model-unavailable", True),
        (EndReason.API_ERROR, "connection", "refused", C.INFRA, "model-connection", True),
        (EndReason.API_ERROR, "no_reply", "hang", C.INFRA, "model-no-reply", True),
        (EndReason.API_ERROR, "bad_reply", "garbage", C.INFRA, "model-bad-reply", True),
        (EndReason.API_ERROR, "error", "who knows", C.INFRA, "model-api-error", False),
        (EndReason.API_ERROR, "error", "overloaded", C.INFRA, "model-api-error", True),
        (EndReason.API_ERROR, "unconfirmed", "nobody else saw 429", C.SETUP, "agent-reports-unseen-error", False),
        (EndReason.EMPTY, "empty", "", C.MODEL, "empty-reply", False),
        (EndReason.CRASHED, "signal_9", "it ended (signal 9)", C.INFRA, "agent-killed", True),
        (EndReason.CRASHED, "exit_1", "it ended (exit 1)", C.SETUP, "agent-crashed", False),
        (EndReason.CRASHED, "no_request", "never asked", C.SETUP, "agent-asked-no-model", False),
    ],
)  # fmt: skip
def test_class_and_signature(end: EndReason, raw: str, said: str, klass: C, signature: str, transient: bool) -> None:
    failure = of_run(run(end, raw, said))
    assert failure is not None
    assert (failure.klass, failure.signature, failure.transient) == (klass, signature, transient)


def test_the_time_that_a_provider_asks_for_is_the_delay() -> None:
    for raw in ("http_429", "http_503"):
        failure = of_run(run(EndReason.API_ERROR, raw, "wait"), retry_after=17)
        assert failure is not None
        assert failure.delay == 17


def test_a_status_in_the_text_alone_is_not_believed_over_the_gateway_s() -> None:
    failure = of_run(run(EndReason.API_ERROR, "http_500", "HTTP 500: upstream said 401"))
    assert failure is not None
    assert failure.signature == "model-unavailable"


@pytest.mark.parametrize(("kind", "transient"), [("died", True), ("timeout", False), ("too_large", False)])
def test_a_failed_mcp_server_is_the_setup_s_fault(kind: str, transient: bool) -> None:
    failure = of_mcp("gone", kind=kind)
    assert failure.klass is C.SETUP
    assert failure.signature == f"mcp-server-{kind.replace('_', '-')}"
    assert failure.transient is transient

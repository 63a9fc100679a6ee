"""From what went wrong to a class and a signature.

The class decides whether an attempt counts and may be tried again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from devops_bench.agents.base import AgentRun, EndReason
from devops_bench.agents.frame.ends import UNCONFIRMED
from devops_bench.errors import BenchError, ConfigError, HarnessError, RefusedError, TaskError, TransientError
from devops_bench.router import route
from devops_bench.settings import FailureClass, Phase

AUTH = re.compile(r"\b(401|403|unauthori[sz]ed|permission.?denied|invalid.{0,20}api.?key|unauthenticated)\b", re.I)
QUOTA = re.compile(r"insufficient.?quota|billing|credit balance|per.?day|daily|spend.?(?:ing)?.?limit", re.I)
"""A limit that no waiting of minutes lifts: it is the account's, hence configuration."""
QUOTA_SIGNATURE = "model-quota"
BROKEN = {"connection": "model-connection", "no_reply": "model-no-reply", "bad_reply": "model-bad-reply"}
BUSY = re.compile(
    r"\b(429|5\d\d|rate.?limit|resource.?exhausted|overloaded|unavailable|timed? ?out|connection)\b", re.I
)


class Stopped(BaseException):
    """The combo was told to stop (SIGTERM). Not an Exception: no library may swallow it."""


class PlaneLost(BaseException):
    """The combo's control plane ended under it. Not an Exception: no library may swallow it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt cannot be judged.

    `transient`: the same may work when tried again, after `delay` seconds.
    """

    klass: FailureClass
    signature: str
    reason: str
    transient: bool = False
    delay: float = 0.0


class Invalid(Exception):
    """Raised inside an attempt when it cannot be judged."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


def of_exception(error: BaseException, phase: Phase) -> Failure:
    """The failure that an exception in `phase` means. HarnessErrors and unknown exceptions are ours."""
    if isinstance(error, Invalid):
        return error.failure
    if isinstance(error, PlaneLost):
        return Failure(FailureClass.INFRA, "control-plane-died", f"the control plane died in phase {phase}", True)
    text = error.message() if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
    return _known(_of_type(error, phase, " ".join(text.split())), phase)


def _known(failure: Failure, phase: Phase) -> Failure:
    """The same, with class and signature of the known issue that its words name; its own where none does."""
    found = route(failure.reason, phase=phase)
    return failure if found.row is None else replace(failure, klass=found.klass, signature=found.signature)


def _of_type(error: BaseException, phase: Phase, text: str) -> Failure:
    match error:
        case TransientError():
            return Failure(FailureClass.INFRA, f"{phase}-unavailable", text, True)
        case TaskError():
            return Failure(FailureClass.TASK, f"{phase}-task-error", text)
        case RefusedError():
            return Failure(FailureClass.SETUP, f"{phase}-refused", text)
        case ConfigError():
            return Failure(FailureClass.CONFIG_AUTH, f"{phase}-config", text)
        case HarnessError():
            return Failure(FailureClass.HARNESS, f"{phase}-harness", text)
        case OSError():
            return Failure(FailureClass.INFRA, f"{phase}-os-error", text, True)
        case _:
            return Failure(FailureClass.HARNESS, f"{phase}-{type(error).__name__}", text)


def of_run(run: AgentRun, *, retry_after: float | None = None) -> Failure | None:
    """None when the model's turn may be judged; else the failure.

    Turns, caps, refusals and timeouts are the model's doing. `retry_after`: seconds that the provider asked to wait.
    """
    # The frame puts its own finding first; our own agents say one thing only.
    said = " ".join((run.errors[0] if run.errors else run.raw_end or "no message").split())
    match run.end:
        case EndReason.API_ERROR:
            return _of_api(run.raw_end, said, retry_after)
        case EndReason.EMPTY:
            return Failure(FailureClass.MODEL, "empty-reply", "the model gave an empty reply")
        case EndReason.CRASHED:
            return _of_crash(run.raw_end, said)
        case _:
            return None


def _of_api(raw: str, said: str, retry_after: float | None) -> Failure:
    """By the words of `raw_end`: `http_<status>`, connection, no_reply, bad_reply; the text decides what they leave."""
    status = int(raw.removeprefix("http_")) if re.fullmatch(r"http_\d{3}", raw) else None
    delay = retry_after or 0.0
    if status in {401, 403} or (status in {None, 400} and AUTH.search(said)):
        return Failure(FailureClass.CONFIG_AUTH, "model-auth", f"the model's API refused the credentials: {said}")
    if status == 404:
        return Failure(FailureClass.CONFIG_AUTH, "model-not-found", f"the model's API does not know the model: {said}")
    if status == 402 or (status == 429 and QUOTA.search(said)):
        return Failure(FailureClass.CONFIG_AUTH, QUOTA_SIGNATURE, f"the account's quota is used up: {said}")
    if status == 429:
        what = f"the model's API limits the rate: {said}"
        return Failure(FailureClass.INFRA, "model-rate-limit", what, True, delay)
    if status is not None and (status >= 500 or status == 408):
        return Failure(FailureClass.INFRA, "model-unavailable", f"the model's API failed: {said}", True, delay)
    if status is not None and status >= 400:
        what = f"the model's API refused the request: {said}"
        return Failure(FailureClass.SETUP, "model-request-refused", what)
    if raw in BROKEN:
        return Failure(FailureClass.INFRA, BROKEN[raw], f"the model's API failed: {said}", True, delay)
    if raw == UNCONFIRMED:
        # The gateway saw no such failure: a fault of the CLI, or a lie in its output. Neither is worth another try.
        return Failure(FailureClass.SETUP, "agent-reports-unseen-error", said)
    busy = bool(BUSY.search(said))
    return Failure(FailureClass.INFRA, "model-api-error", f"the model's API failed: {said}", busy, delay)


def _of_crash(raw: str, said: str) -> Failure:
    """A program killed from outside may work next time; one that ends without a word is not set up right."""
    if raw.startswith("signal_"):
        return Failure(FailureClass.INFRA, "agent-killed", f"the agent was killed: {said}", True)
    if raw == "no_request":
        return Failure(FailureClass.SETUP, "agent-asked-no-model", said)
    return Failure(FailureClass.SETUP, "agent-crashed", f"the agent crashed: {said}")


def of_mcp(problem: str, *, kind: str = "") -> Failure:
    """The MCP server's fault, not the model's. `kind` is the gateway's word (died, timeout ...), for the signature."""
    signature = "-".join(word for word in ("mcp-server", kind.replace("_", "-")) if word)
    return Failure(FailureClass.SETUP, signature, f"the MCP server failed: {problem}", kind == "died")

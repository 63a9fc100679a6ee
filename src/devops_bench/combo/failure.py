"""From what went wrong to a class and a signature.

The class decides whether an attempt counts and may be tried again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from devops_bench.agents.base import AgentRun, EndReason
from devops_bench.errors import BenchError, ConfigError, HarnessError, RefusedError, TaskError, TransientError
from devops_bench.settings import FailureClass, Phase

AUTH = re.compile(r"\b(401|403|unauthori[sz]ed|permission.?denied|invalid.{0,20}api.?key|unauthenticated)\b", re.I)
BUSY = re.compile(
    r"\b(429|5\d\d|rate.?limit|resource.?exhausted|overloaded|unavailable|timed? ?out|connection)\b", re.I
)


class Stopped(BaseException):
    """The combo was told to stop (SIGTERM). Not an Exception: no library may swallow it."""


class PlaneLost(BaseException):
    """The combo's control plane ended under it. Not an Exception: no library may swallow it."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt cannot be judged."""

    klass: FailureClass
    signature: str
    reason: str
    transient: bool = False


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
    text = " ".join(text.split())
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


def of_run(run: AgentRun) -> Failure | None:
    """None when the model's turn may be judged; else the failure.

    Turns, refusals and timeouts are the model's doing.
    """
    said = " ".join((run.errors[-1] if run.errors else run.raw_end or "no message").split())
    if run.end is EndReason.API_ERROR:
        if AUTH.search(said):
            return Failure(FailureClass.CONFIG_AUTH, "model-auth", f"the model's API refused the credentials: {said}")
        return Failure(
            FailureClass.INFRA, "model-api-error", f"the model's API failed: {said}", bool(BUSY.search(said))
        )
    if run.end is EndReason.EMPTY:
        return Failure(FailureClass.MODEL, "empty-reply", "the model gave an empty reply")
    if run.end is EndReason.CRASHED:
        return Failure(FailureClass.SETUP, "agent-crashed", f"the agent crashed: {said}")
    return None

"""`script` and `answer`: what imported tasks are judged by."""

from __future__ import annotations

from devops_bench.tasks.checks import AnswerCheck, ScriptCheck
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed


def script(check: ScriptCheck, scope: Scope) -> Verdict:
    """Exit code 0 passes. Time that runs out fails: such scripts wait for what an unsolved task never brings."""
    run = scope.context.host_run
    if run is None:
        raise CannotEvaluate("this combo runs no scripts of the task")
    seconds = min(check.timeout_sec, scope.deadline.remaining() - 1)
    if seconds <= 0:
        return errored("no time was left to run it")
    try:
        code, said = run(check.file, seconds)
    except TimeoutError:
        return failed(f"{check.file} did not end within {seconds:.0f} s")
    except OSError as error:
        return errored(f"{check.file} could not be run: {error}")
    return passed(f"{check.file} ended with 0") if code == 0 else failed(f"{check.file} ended with {code}: {said}")


def answer(check: AnswerCheck, scope: Scope) -> Verdict:
    """`op` over the agent's final answer."""
    if scope.context.answer is None:
        return failed("the agent has not answered yet")
    return judge([Document("answer", scope.context.answer)], Expectation(None, check.op, check.value), "")

"""`command`: a program run inside the agent's sandbox, judged by its exit code and output."""

from __future__ import annotations

from devops_bench.tasks.checks import CommandCheck
from devops_bench.verification import structured
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed


def command(check: CommandCheck, scope: Scope) -> Verdict:
    """Exit code first, then `op` over stdout, or over what `path` finds in it.

    A run that outlives its time is an error: nothing was established.
    """
    program = check.command[0]
    runs = scope.commands()
    seconds = min(check.timeout_sec, scope.deadline.remaining())
    if seconds <= 0:
        return errored("no time was left to run it")
    try:
        code, stdout, stderr = runs.answer(check.command, check.timeout_sec, scope.deadline)
    except TimeoutError:
        return errored(f"{program} did not end within {seconds:g} s")
    except OSError as error:
        return errored(f"{program} could not be run: {error}")
    if code != check.expect_exit:
        said = (stderr.strip() or stdout.strip()).splitlines()
        return failed(f"{program} ended with {code}, not {check.expect_exit}" + (f": {said[-1]}" if said else ""))
    if check.op is None:
        return passed(f"{program} ended with {code}")
    want = Expectation(check.path, check.op, check.value, check.across_matches)
    if check.path is None:
        return judge([Document("stdout", stdout.removesuffix("\n"))], want, "")
    try:
        parts = structured.parse(stdout, f"what {program} prints", "json")
    except structured.Unreadable as error:
        return failed(str(error))
    return judge([Document("stdout", part) for part in parts], want, f"what {program} prints is null")

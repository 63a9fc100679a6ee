"""What imported tasks are judged by: a script of the task on the host, and the agent's last words."""

from __future__ import annotations

from dataclasses import replace

import pytest

from devops_bench.verification import Status, VerifyContext, assert_once

from .builders import LIMITS, entry

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR


def status(context: VerifyContext, kind: str, **fields: object) -> tuple[Status, str]:
    (result,) = assert_once([entry("e", kind, **fields)], context)
    return result.status, result.verdict.reason


@pytest.mark.parametrize(
    ("outcome", "wanted", "said"),
    [
        ((0, "fine"), PASS, "ended with 0"),
        ((3, "only two pods"), FAIL, "ended with 3: only two pods"),
        (TimeoutError(), FAIL, "did not end within"),
        (OSError("no such file"), ERROR, "could not be run"),
    ],
)
def test_a_script_passes_by_its_exit_code(outcome: tuple[int, str] | Exception, wanted: Status, said: str) -> None:
    ran: list[tuple[str, float]] = []

    def run(file: str, seconds: float) -> tuple[int, str]:
        ran.append((file, seconds))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    found = status(VerifyContext(host_run=run, limits=LIMITS), "script", file="foreign/verify.sh", timeout_sec=4)
    assert found[0] is wanted and said in found[1]
    assert ran == [("foreign/verify.sh", 4)]


def test_without_a_host_to_run_it_on_a_script_is_an_error() -> None:
    assert status(VerifyContext(limits=LIMITS), "script", file="x")[0] is ERROR


@pytest.mark.parametrize(
    ("answer", "fields", "wanted"),
    [
        ("blue has 3 pods", {"value": "blue has \\d"}, PASS),
        ("blue has no pods", {"value": "blue has \\d"}, FAIL),
        ("", {"value": ".+"}, FAIL),
        ("done", {"op": "contains", "value": "one"}, PASS),
        (None, {"value": ".*"}, FAIL),
        (None, {"op": "exists"}, FAIL),
        ("", {"op": "exists"}, PASS),
    ],
)
def test_an_answer_is_judged_once_it_is_given(answer: str | None, fields: dict[str, str], wanted: Status) -> None:
    context = replace(VerifyContext(limits=LIMITS), answer=answer)
    assert status(context, "answer", **fields)[0] is wanted

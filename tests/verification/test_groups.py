"""The algebra of groups: error is its own verdict and never turns into one of the other two."""

from __future__ import annotations

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.kube import Deadline
from devops_bench.verification import Status, Verdict, VerifyContext
from devops_bench.verification.evaluate import evaluate
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import conjunction, disjunction, rejection, tidy

from .builders import LIMITS, FakeSandbox, check

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
ANSWERS = {"pass": (0, "", ""), "fail": (1, "", ""), "error": TimeoutError()}


def made(*statuses: Status) -> list[Verdict]:
    return [Verdict(status, status.value) for status in statuses]


def run(kind: str, *names: str) -> tuple[Status, list[tuple[str, ...]]]:
    """A group of commands that pass, fail or error, and what was run."""
    sandbox = FakeSandbox(dict(ANSWERS))
    group = check(kind, checks=[{"type": "command", "command": [name]} for name in names])
    scope = Scope(VerifyContext(sandbox_run=sandbox, limits=LIMITS), None, Deadline.after(5))
    return evaluate(group, scope).status, sandbox.ran


@pytest.mark.parametrize("kind", ["sequence", "parallel", "all"])
@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("pass", "pass"), PASS),
        (("pass", "fail"), FAIL),
        (("pass", "error"), ERROR),
        (("fail", "fail"), FAIL),
        (("error", "error"), ERROR),
    ],
)
def test_a_conjunction_is_fail_over_error_over_pass(kind: str, names: tuple[str, ...], expected: Status) -> None:
    assert run(kind, *names)[0] is expected


@pytest.mark.parametrize("kind", ["parallel", "all"])
def test_a_fail_beside_an_error_is_a_fail_whatever_the_order(kind: str) -> None:
    assert run(kind, "error", "fail")[0] is FAIL
    assert run(kind, "fail", "error")[0] is FAIL


@pytest.mark.parametrize(
    ("names", "any_", "none"),
    [
        (("pass", "fail"), PASS, FAIL),
        (("error", "pass"), PASS, FAIL),
        (("error", "fail"), ERROR, ERROR),
        (("fail", "fail"), FAIL, PASS),
        (("error",), ERROR, ERROR),
    ],
)
def test_any_is_pass_over_error_over_fail_and_none_is_its_negation(
    names: tuple[str, ...], any_: Status, none: Status
) -> None:
    assert run("any", *names)[0] is any_
    assert run("none", *names)[0] is none


def test_a_sequence_stops_at_the_first_that_does_not_pass_and_the_others_do_not() -> None:
    assert run("sequence", "pass", "fail", "pass")[1] == [("pass",), ("fail",)]
    assert run("sequence", "error", "fail") == (ERROR, [("error",)])
    for kind in ("parallel", "all", "any", "none"):
        assert sorted(run(kind, "fail", "error", "pass")[1]) == [("error",), ("fail",), ("pass",)]


def test_a_child_that_hangs_costs_its_siblings_nothing() -> None:
    release = threading.Event()
    sandbox = FakeSandbox({"hang": lambda _seconds: release.wait(60) and (0, "", ""), "fail": (1, "", "")})
    group = check("all", checks=[{"type": "command", "command": [name]} for name in ("hang", "fail")])
    verdict = evaluate(group, Scope(VerifyContext(sandbox_run=sandbox, limits=LIMITS), None, Deadline.after(0.3)))
    release.set()
    assert [child.status for child in verdict.children] == [ERROR, FAIL]
    assert verdict.status is FAIL


def test_children_are_reported_by_name_or_type_in_order() -> None:
    sandbox = FakeSandbox(dict(ANSWERS))
    group = check(
        "all",
        name="both",
        checks=[{"type": "command", "command": ["pass"], "name": "first"}, {"type": "command", "command": ["fail"]}],
    )
    report = evaluate(
        group, Scope(VerifyContext(sandbox_run=sandbox, limits=LIMITS), None, Deadline.after(5))
    ).as_report()
    assert report["name"] == "both"
    assert [(c["name"], c["success"], c["status"], c["children"]) for c in report["children"]] == [
        ("first", True, "pass", []),
        ("command", False, "fail", []),
    ]


statuses = st.lists(st.sampled_from(list(Status)), min_size=1, max_size=6)


@given(statuses)
def test_the_order_of_children_changes_no_status(items: list[Status]) -> None:
    for order in itertools.islice(itertools.permutations(items), 24):
        for combine in (conjunction, disjunction, rejection):
            assert combine(made(*order)).status is combine(made(*items)).status


@given(statuses)
def test_none_is_the_negation_of_any_and_errors_stay_errors(items: list[Status]) -> None:
    negated = {PASS: FAIL, FAIL: PASS, ERROR: ERROR}
    assert rejection(made(*items)).status is negated[disjunction(made(*items)).status]
    # De Morgan: any of the negations is the negation of all.
    assert disjunction(made(*(negated[item] for item in items))).status is negated[conjunction(made(*items)).status]


@given(st.text())
def test_a_reason_is_one_bounded_printable_line(text: str) -> None:
    line = tidy(text)
    assert len(line) <= 500
    assert line.isprintable() or line == ""

"""From documents to a verdict: contract 7's rules on matches, across_matches and nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.tasks.checks import Across, Op
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.verdict import Status

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR
CPU = "spec.template.spec.containers[*].resources.limits.cpu"


def deployment(*limits: str | None) -> dict[str, Any]:
    """A Deployment whose containers have these CPU limits; None: no limits at all."""
    containers = [
        {"name": f"c{n}", **({"resources": {"limits": {"cpu": cpu}}} if cpu else {})} for n, cpu in enumerate(limits)
    ]
    return {"spec": {"replicas": 2, "template": {"spec": {"containers": containers}}}}


def verdict(bodies: list[Any], path: str | None, op: Op, value: Any = None, across: Across | None = None) -> Status:
    documents = [Document(f"d{n}", body) for n, body in enumerate(bodies)]
    return judge(documents, Expectation(path, op, value, across), "nothing there").status


def test_every_fails_a_container_that_lacks_the_field() -> None:
    """A query alone drops elements without the field, and "every" then passes what was never limited."""
    assert verdict([deployment("500m", None)], CPU, Op.LTE, "1", Across.EVERY) is FAIL
    assert verdict([deployment("500m", None)], CPU, Op.EXISTS, None, Across.EVERY) is FAIL
    assert verdict([deployment(None, None)], CPU, Op.LTE, "1", Across.EVERY) is FAIL
    assert verdict([deployment("500m", "1")], CPU, Op.LTE, "1", Across.EVERY) is PASS


def test_every_fails_an_object_that_lacks_the_field() -> None:
    assert verdict([{"spec": {"replicas": 2}}, {"spec": {}}], "spec.replicas", Op.EQ, 2, Across.EVERY) is FAIL
    assert verdict([deployment("1"), {"spec": {}}], CPU, Op.EXISTS, None, Across.EVERY) is FAIL


def test_every_of_no_element_is_not_vacuously_true() -> None:
    assert verdict([deployment()], CPU, Op.LTE, "1", Across.EVERY) is FAIL
    assert verdict([], CPU, Op.LTE, "1", Across.EVERY) is FAIL


def test_none_passes_an_element_that_lacks_the_field() -> None:
    assert verdict([deployment("2", None)], CPU, Op.GT, "4", Across.NONE) is PASS
    assert verdict([deployment("8", None)], CPU, Op.GT, "4", Across.NONE) is FAIL
    assert verdict([deployment(None)], CPU, Op.NE, "4", Across.NONE) is PASS
    # ... except where lacking it is what is asked about
    assert verdict([deployment("1", None)], CPU, Op.ABSENT, None, Across.NONE) is FAIL
    assert verdict([deployment("1", "2")], CPU, Op.ABSENT, None, Across.NONE) is PASS


def test_ne_passes_where_the_field_is_absent() -> None:
    privileged = "spec.containers[*].securityContext.privileged"
    pod = {"spec": {"containers": [{"name": "a"}, {"name": "b", "securityContext": {"privileged": False}}]}}
    assert verdict([pod], privileged, Op.NE, True, Across.EVERY) is PASS
    assert verdict([{"spec": {}}], "spec.hostNetwork", Op.NE, True) is PASS
    assert verdict([{"spec": {"hostNetwork": True}}], "spec.hostNetwork", Op.NE, True) is FAIL


@pytest.mark.parametrize("op", list(Op))
def test_several_matches_without_across_fail(op: Op) -> None:
    value = {Op.MATCHES: ".", Op.CONTAINS: ""}.get(op, 1)
    assert verdict([deployment("1", "1")], CPU, op, value) is FAIL
    assert verdict([{"spec": {"replicas": 1}}, {"spec": {"replicas": 1}}], "spec.replicas", op, value) is FAIL


def test_several_objects_without_a_path_need_across_too() -> None:
    assert verdict([{}, {}], None, Op.EXISTS) is FAIL
    assert verdict([{}, {}], None, Op.EXISTS, None, Across.EVERY) is PASS
    assert verdict([{}], None, Op.EXISTS) is PASS


@pytest.mark.parametrize("op", list(Op))
@pytest.mark.parametrize("path", [None, "spec.replicas"])
@pytest.mark.parametrize("across", [None, Across.EVERY, Across.NONE])
def test_no_object_fails_except_a_pathless_absent(op: Op, path: str | None, across: Across | None) -> None:
    value = {Op.MATCHES: "."}.get(op, 1)
    expected = PASS if op is Op.ABSENT and path is None else FAIL
    assert verdict([], path, op, value, across) is expected


def test_absent_is_about_a_field_when_there_is_a_path() -> None:
    assert verdict([{"spec": {}}], "spec.paused", Op.ABSENT) is PASS
    assert verdict([{"spec": {"paused": True}}], "spec.paused", Op.ABSENT) is FAIL
    assert verdict([{}], None, Op.ABSENT) is FAIL


def test_a_mistake_of_the_task_is_an_error_and_odd_data_is_a_fail() -> None:
    assert verdict([{"a": 1}], "a[", Op.EXISTS) is ERROR
    assert verdict([{"a": 1}], "a", Op.GT, "many") is ERROR
    assert verdict([{"a": 1}], "a", Op.MATCHES, "(") is ERROR
    assert verdict([{"a": "many"}], "a", Op.GT, 1) is FAIL


containers = st.lists(st.sampled_from(["100m", "1", "2", None]), max_size=5)


@given(st.lists(containers, min_size=1, max_size=4), st.randoms())
def test_the_order_of_objects_and_elements_changes_nothing(limits: list[list[str | None]], random: Any) -> None:
    shuffled = [list(row) for row in limits]
    for row in shuffled:
        random.shuffle(row)
    random.shuffle(shuffled)
    for across in Across:
        one = verdict([deployment(*row) for row in limits], CPU, Op.LTE, "1", across)
        two = verdict([deployment(*row) for row in shuffled], CPU, Op.LTE, "1", across)
        assert one is two


@given(st.lists(containers, min_size=1, max_size=4))
def test_every_agrees_with_a_plain_loop(limits: list[list[str | None]]) -> None:
    rows = [row or [None] for row in limits]
    expected = all(cpu in {"100m", "1"} for row in rows for cpu in row)
    found = verdict([deployment(*row) for row in limits], CPU, Op.LTE, "1", Across.EVERY)
    assert (found is PASS) is expected


@pytest.mark.parametrize("across", [None, *Across])
@pytest.mark.parametrize("op", [Op.EQ, Op.NE, Op.EXISTS, Op.ABSENT])
def test_what_a_secret_holds_never_reaches_a_reason(op: Op, across: Across | None) -> None:
    found = [Document("shop/db", {"data": {"password": "aHVudGVyMg=="}}, private=True)]
    verdict = judge(found, Expectation("data.password", op, "x", across), "nothing")
    assert "aHVudGVyMg" not in verdict.reason
    assert "shop/db" in verdict.reason or verdict.status is PASS


@pytest.mark.parametrize(
    ("body", "want", "reason"),
    [
        ("worker_connections 5\n", Expectation(None, Op.MATCHES, "_connections 9"),
         'web: wanted text matches "_connections 9", found "worker_connections 5\\n"'),
        ({"a": 1}, Expectation("a", Op.GTE, 3), "web: wanted a gte 3, found 1"),
        ({"a": 1}, Expectation("b", Op.EXISTS), "web: wanted b there, found nothing"),
        ({"a": 1}, Expectation(None, Op.ABSENT), "web: wanted absent, found it"),
        ({"a": 1}, Expectation(None, Op.CONTAINS, "b"), 'web: wanted object contains "b", found {"a": 1}'),
        ({"a": 1}, Expectation("a", Op.EQ, 3, Across.EVERY), "wanted a eq 3 for every one, 1 of 1 is not: web has 1"),
        ({"a": 1}, Expectation("a", Op.EQ, 1, Across.NONE), "wanted a eq 1 for none, 1 of 1 is: web has 1"),
    ],
)  # fmt: skip
def test_a_failed_comparison_says_what_was_wanted_and_what_was_found(
    body: object, want: Expectation, reason: str
) -> None:
    verdict = judge([Document("web", body)], want, "nothing there")
    assert (verdict.status, verdict.reason) == (FAIL, reason)

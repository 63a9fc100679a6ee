"""`audit`: counting what the API server recorded of the agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from devops_bench.kube import Deadline
from devops_bench.verification import Status, Verdict, VerifyContext
from devops_bench.verification.evaluate import evaluate
from devops_bench.verification.scope import Scope

from .builders import LIMITS, check

PASS, FAIL, ERROR = Status.PASS, Status.FAIL, Status.ERROR


def event(
    verb: str,
    resource: str,
    *,
    user: str = "agent",
    code: int = 200,
    uri: str = "/x",
    audit_id: str = "",
    **target: str,
) -> dict[str, Any]:
    event.count += 1  # type: ignore[attr-defined]
    return {
        "kind": "Event",
        "auditID": audit_id or f"id-{event.count}",  # type: ignore[attr-defined]
        "verb": verb,
        "user": {"username": user},
        "requestURI": uri,
        "objectRef": {"resource": resource, **target},
        "responseStatus": {"code": code},
    }


event.count = 0  # type: ignore[attr-defined]


def look(tmp_path: Path, events: list[Any], tail: str = "", **fields: Any) -> Verdict:
    log = tmp_path / "audit.log"
    log.write_text("".join(json.dumps(item) + "\n" for item in events) + tail)
    return evaluate(
        check("audit", **fields), Scope(VerifyContext(audit_log=log, limits=LIMITS), None, Deadline.after(5))
    )


EVENTS = [
    event("get", "pods", namespace="shop", name="a"),
    event("delete", "pods", namespace="shop", name="a"),
    event("delete", "pods", namespace="shop", name="b", code=403),
    event("delete", "pods", namespace="shop", name="c", uri="/api/v1/pods/c?dryRun=All"),
    event("create", "pods", namespace="shop", name="a", subresource="exec", code=101),
    event("patch", "deployments", namespace="shop", name="web", apiGroup="apps", user="agent-mcp"),
    event(
        "patch",
        "deployments",
        namespace="kube-system",
        name="dns",
        apiGroup="apps",
        user="system:serviceaccount:shop:made-by-agent",
    ),
    event("patch", "deployments", namespace="shop", name="web", apiGroup="apps", user="admin"),
]


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"verbs": ["delete"]}, 1),
        ({"verbs": ["delete"], "include_denied": True}, 2),
        ({"verbs": ["get", "delete"]}, 2),
        ({"resources": ["pods"]}, 2),
        ({"resources": ["pods/exec"]}, 1),
        ({"resources": ["pods/*"]}, 3),
        ({"resources": ["deployments.apps"]}, 2),
        ({"resources": ["deployments"], "namespaces": ["shop"]}, 1),
        ({"names": ["dns"]}, 1),
        ({"resources": ["*"]}, 5),
        ({}, 5),
    ],
)
def test_requests_are_filtered_and_denied_dry_and_foreign_ones_left_out(
    tmp_path: Path, fields: dict[str, Any], count: int
) -> None:
    assert look(tmp_path, EVENTS, **fields, min_count=count, max_count=count).status is PASS
    assert look(tmp_path, EVENTS, **fields, min_count=count + 1).status is FAIL
    assert look(tmp_path, EVENTS, **fields, max_count=count - 1).status is FAIL


def test_a_request_that_is_recorded_in_two_stages_counts_once(tmp_path: Path) -> None:
    watch = [event("watch", "pods", audit_id="same"), event("watch", "pods", audit_id="same")]
    assert look(tmp_path, watch, min_count=1, max_count=1).status is PASS


def test_a_torn_last_line_is_left_out_and_damage_elsewhere_is_an_error(tmp_path: Path) -> None:
    assert look(tmp_path, EVENTS[:1], tail='{"verb": "del', max_count=1).status is PASS
    assert look(tmp_path, [], tail="not json\n").status is ERROR
    assert look(tmp_path, [], tail="[1]\n").status is ERROR


def test_a_log_that_reached_its_limit_proves_only_what_it_holds(tmp_path: Path) -> None:
    events = [*EVENTS, {"kind": "Truncated"}]
    assert look(tmp_path, events, verbs=["delete"], max_count=0).status is FAIL
    assert look(tmp_path, events, verbs=["delete"], min_count=1).status is PASS
    assert look(tmp_path, events, verbs=["delete"], max_count=1).status is ERROR
    assert look(tmp_path, events, verbs=["delete"], min_count=2).status is ERROR


def test_without_a_log_nothing_is_established(tmp_path: Path) -> None:
    scope = Scope(VerifyContext(limits=LIMITS), None, Deadline.after(5))
    assert evaluate(check("audit"), scope).status is ERROR
    scope = Scope(VerifyContext(audit_log=tmp_path / "gone", limits=LIMITS), None, Deadline.after(5))
    assert evaluate(check("audit"), scope).status is ERROR

"""`access`: what an identity may do, asked of the API server's own authorizer, request by request."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from devops_bench.kube import KubeClient
from devops_bench.plaintext import counted
from devops_bench.tasks.checks import Access, Request
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed

MOST = 400  # reviews of one check
_REVIEWS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


def access(check: Access, scope: Scope) -> Verdict:
    """All of `can` is allowed, nothing of `cannot` is. An authorizer that could not decide is an error."""
    kube = scope.api()
    wanted = [(True, item) for item in attributes(check.can)] + [(False, item) for item in attributes(check.cannot)]
    if len(wanted) > MOST:
        return errored(f"{len(wanted)} reviews are more than {MOST}; ask about less")
    groups = [*check.groups, *default_groups(check.user)]
    wrong = []
    for allowed, item in wanted:
        status = _review(kube, check.user, groups, item, scope)
        if status.get("evaluationError") and not status.get("allowed"):
            return errored(f"{said(item)}: {status['evaluationError']}")
        if bool(status.get("allowed")) is not allowed:
            wrong.append(f"{'must' if allowed else 'may not'} {said(item)}")
    if wrong:
        return failed(f"{check.user}: {len(wrong)} of {counted(len(wanted), 'right')} wrong: {'; '.join(wrong[:3])}")
    return passed(f"{check.user}: {len(wanted)} of {counted(len(wanted), 'right')} as wanted")


def attributes(requests: Sequence[Request]) -> Iterator[dict[str, str]]:
    """resourceAttributes of every combination."""
    for request in requests:
        for resource in request.resources:
            plain, _, sub = resource.partition("/")
            name, _, group = plain.partition(".")
            for verb in request.verbs:
                base = {"verb": verb, "resource": name, "group": "*" if plain == "*" else group}
                base |= {"subresource": sub} if sub else {}
                base |= {"namespace": request.namespace} if request.namespace else {}
                for one in request.names or [""]:
                    yield base | ({"name": one} if one else {})


def default_groups(user: str) -> list[str]:
    """The groups that the API server itself gives to an identity of this name."""
    parts = user.split(":")
    if parts[:2] == ["system", "serviceaccount"] and len(parts) == 4:
        return ["system:serviceaccounts", f"system:serviceaccounts:{parts[2]}", "system:authenticated"]
    return ["system:authenticated"]


def said(item: dict[str, str]) -> str:
    """`patch deployments.apps/scale in shop`."""
    what = item["resource"] + (f".{item['group']}" if item["group"] not in {"", "*"} else "")
    what += f"/{item['subresource']}" if "subresource" in item else ""
    what += f" {item['name']}" if "name" in item else ""
    return f"{item['verb']} {what} " + (f"in {item['namespace']}" if "namespace" in item else "cluster-wide")


def _review(kube: KubeClient, user: str, groups: Sequence[str], item: dict[str, str], scope: Scope) -> dict[str, Any]:
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": user, "groups": list(groups), "resourceAttributes": item},
    }
    answer = kube.post(_REVIEWS, body, deadline=scope.deadline.within(scope.context.limits.call))
    status: dict[str, Any] = answer.get("status") or {}
    return status

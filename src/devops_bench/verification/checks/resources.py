"""`resource_property`: a field of one or more objects of a kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from devops_bench.kube import KubeUnknownKind
from devops_bench.kube.selectors import parse
from devops_bench.tasks.checks import Op, ResourceProperty
from devops_bench.verification.matching import Document, Expectation, judge
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import ALL_NAMESPACES
from devops_bench.verification.verdict import Verdict, errored, failed


def resource_property(check: ResourceProperty, scope: Scope) -> Verdict:
    """Read from this pass's list. A kind that the API server does not serve has no objects.

    Where it is an `absent` that would so pass, the kind must have been known when the baseline was taken: a misspelt
    kind must not hold for ever.
    """
    namespace = check.namespace or scope.context.namespace
    want = Expectation(check.path, check.op, check.value, check.across_matches)
    try:
        found = select(
            scope.cluster().objects(check.kind, namespace, scope.deadline), check.resource_name, check.selector
        )
    except KubeUnknownKind as gone:
        baseline = scope.context.baseline
        if check.op is Op.ABSENT and check.path is None and not (baseline and baseline.knew_kind(check.kind)):
            return errored(f"{gone.what}, nor was it there after setup: is it misspelt?")
        if check.op is Op.ABSENT and check.path is None:
            return judge([], want, gone.what)
        return failed(gone.what)
    return judge(documents(found), want, f"no {describe(check, namespace)}")


def select(objects: Sequence[dict[str, Any]], name: str | None, selector: str | None) -> list[dict[str, Any]]:
    """Those of the name and the labels. Raises ValueError for a malformed selector."""
    matches = parse(selector) if selector else None
    return [
        item
        for item in objects
        if (name is None or item["metadata"]["name"] == name)
        and (matches is None or matches(item["metadata"].get("labels") or {}))
    ]


def documents(objects: Sequence[dict[str, Any]]) -> list[Document]:
    """Objects with their names as `namespace/name`, in an order that does not depend on the server's."""
    named = [Document(_name(item), item, private=item.get("kind") == "Secret") for item in objects]
    return sorted(named, key=lambda document: document.name)


def _name(item: dict[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def describe(check: ResourceProperty, namespace: str) -> str:
    """For reasons: `deployments web in shop`."""
    what = f"{check.kind} {check.resource_name}" if check.resource_name else check.kind
    what += f" with {check.selector}" if check.selector else ""
    return what + (f" in {namespace}" if namespace != ALL_NAMESPACES else "")

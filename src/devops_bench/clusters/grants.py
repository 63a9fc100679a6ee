"""Give the agent its rights in a cluster: apply what `rbac` decides, remove what no longer holds, wait until it counts.

Called after a task's setup (namespaces and custom kinds exist then), and again whenever setup runs again: a namespace
that appears later is not the agent's until then.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.clusters import rbac
from devops_bench.clusters.base import Cluster
from devops_bench.errors import HarnessError, TransientError
from devops_bench.kube import KubeClient, KubeError, KubeInvalid, KubeNotFound
from devops_bench.tasks.spec import ClusterNeeds

USERS = ("agent", "agent-mcp")
EFFECT_TIMEOUT = 10.0  # seconds; the authorizer's caches follow within milliseconds
EFFECT_INTERVAL = 0.005


def grant_agent(cluster: Cluster, needs: ClusterNeeds, kube: KubeClient | None = None) -> None:
    """Grant the users `agent` and `agent-mcp` what `needs.agent_role` says; returns when the API server honours it.

    `kube` is an admin client to reuse. Raises TaskError for a wrong role, TransientError when the cluster fails. Does
    nothing for a cluster whose agent is confined otherwise (`existing`) or that has no API (`none`).
    """
    if cluster.provider != "kwok":
        return
    rules = rbac.parse(needs.agent_role)
    subjects = [{"apiGroup": rbac.GROUP, "kind": "User", "name": user} for user in USERS]
    if cluster.admin_kubeconfig is None:
        raise HarnessError(f"cluster {cluster.name} has no admin kubeconfig")
    if kube is not None:
        _grant(kube, rules, subjects)
        return
    with KubeClient.from_kubeconfig(cluster.admin_kubeconfig, cluster.kubectl) as own:
        _grant(own, rules, subjects)


def _grant(kube: KubeClient, rules: Sequence[rbac.AgentRule], subjects: Sequence[Mapping[str, str]]) -> None:
    namespaces = [item["metadata"]["name"] for item in kube.list("Namespace")]
    custom = [
        (item["spec"]["group"], item["spec"]["names"]["plural"])
        for item in kube.list("CustomResourceDefinition")
        if item["spec"]["scope"] == "Namespaced"
    ]
    wanted = rbac.grant(rules, kube.kinds(fresh=True).resources, namespaces, subjects, custom)
    kept = {_key(item) for item in wanted.objects}
    for kind in rbac.BINDINGS:  # a role that nothing binds any more gives nothing
        for item in kube.list(f"{kind}.{rbac.GROUP}", selector=rbac.SELECTOR):
            if _key(item) not in kept:
                kube.delete(f"{kind}.{rbac.GROUP}", item["metadata"]["name"], item["metadata"].get("namespace"))
    for manifest in wanted.objects:
        apply(kube, manifest)
    wait_effective(kube, USERS[0], wanted.reviews)


def apply(kube: KubeClient, item: Mapping[str, Any]) -> None:
    """Apply an RBAC object; a binding whose role changed is replaced, since `roleRef` cannot be changed."""
    metadata = item["metadata"]
    try:
        kube.apply(item)
    except KubeInvalid:
        kube.delete(f"{item['kind']}.{rbac.GROUP}", metadata["name"], metadata.get("namespace"))
        kube.apply(item)
    except KubeNotFound as error:
        raise TransientError(
            f"namespace {metadata.get('namespace')} went away while the agent got its rights"
        ) from error


def wait_effective(
    kube: KubeClient, user: str, reviews: Sequence[Mapping[str, str]], groups: Sequence[str] = ()
) -> None:
    """Block until every request in `reviews` is allowed to `user`. Raises TransientError at the deadline."""
    deadline = time.monotonic() + EFFECT_TIMEOUT
    for review in reviews:
        body = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"user": user, "groups": [*groups, "system:authenticated"], "resourceAttributes": dict(review)},
        }
        while not _allowed(kube, body):
            if time.monotonic() > deadline:
                raise TransientError(f"rights of {user} have no effect after {EFFECT_TIMEOUT:g} s: {dict(review)}")
            time.sleep(EFFECT_INTERVAL)


def _allowed(kube: KubeClient, body: Mapping[str, Any]) -> bool:
    try:
        return bool(kube.create(body).get("status", {}).get("allowed"))
    except KubeError as error:
        if error.status == 0:
            raise
        return False


def _key(item: Mapping[str, Any]) -> tuple[str, str | None, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace"), metadata["name"]

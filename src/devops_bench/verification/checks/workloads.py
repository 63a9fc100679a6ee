"""`pod_healthy` and `scaling_complete`: is what runs what was asked for?"""

from __future__ import annotations

from typing import Any

from devops_bench.plaintext import counted
from devops_bench.tasks.checks import PodHealthy, ScalingComplete
from devops_bench.verification.checks.resources import select
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import Verdict, failed, passed


def pod_healthy(check: PodHealthy, scope: Scope) -> Verdict:
    """Every pod of the selector is Running and Ready. No pod fails; a pod that is being deleted is not counted."""
    namespace = check.namespace or scope.context.namespace
    found = select(scope.cluster().objects("pods", namespace, scope.deadline), None, check.selector)
    pods = sorted(
        (pod for pod in found if not pod["metadata"].get("deletionTimestamp")),
        key=lambda pod: str(pod["metadata"]["name"]),
    )
    if not pods:
        return failed(f"no pod with {check.selector} in {namespace}")
    sick = [f"{pod['metadata']['name']} {trouble}" for pod in pods if (trouble := pod_trouble(pod))]
    if sick:
        return failed(f"{len(sick)} of {counted(len(pods), 'pod')} not healthy: {', '.join(sick[:3])}")
    return passed(f"{len(pods)} of {counted(len(pods), 'pod')} ready")


def pod_trouble(pod: dict[str, Any]) -> str:
    """Why a pod is not healthy, in a few words; empty when it is Running and Ready."""
    status = pod.get("status") or {}
    for container in status.get("containerStatuses") or []:
        waiting = (container.get("state") or {}).get("waiting")
        if waiting:
            return f"waits ({waiting.get('reason') or 'no reason'})"
    conditions = {item.get("type"): item for item in status.get("conditions") or []}
    ready = conditions.get("Ready") or {}
    if status.get("phase") == "Running" and ready.get("status") == "True":
        return ""
    scheduled = conditions.get("PodScheduled") or {}
    if scheduled.get("status") == "False":
        return f"is not scheduled ({scheduled.get('reason') or 'no reason'})"
    phase = status.get("phase") or "has no phase"
    return f"is {phase}" + (", not ready" if phase == "Running" else "")


def scaling_complete(check: ScalingComplete, scope: Scope) -> Verdict:
    """The rollout is complete (observed, all replicas updated and available) and ready replicas are within bounds."""
    namespace = check.namespace or scope.context.namespace
    found = select(scope.cluster().objects("deployments.apps", namespace, scope.deadline), check.deployment, None)
    if not found:
        return failed(f"no deployment {check.deployment} in {namespace}")
    item = found[0]
    status = item.get("status") or {}
    wanted = int((item.get("spec") or {}).get("replicas", 1))
    ready = int(status.get("readyReplicas") or 0)
    if int(status.get("observedGeneration") or 0) < int(item["metadata"].get("generation") or 0):
        return failed("the controller has not seen the latest change yet")
    if ready < check.min_replicas:
        return failed(f"{ready} ready replicas, at least {check.min_replicas} needed")
    if check.max_replicas is not None and max(wanted, ready) > check.max_replicas:
        return failed(f"{wanted} replicas wanted, {ready} ready, at most {check.max_replicas} allowed")
    for field, said in (("updatedReplicas", "updated"), ("replicas", "existing"), ("availableReplicas", "available")):
        count = int(status.get(field) or 0)
        if count != wanted:
            return failed(f"rollout not complete: {count} {said} replicas of {wanted}")
    return passed(f"{ready} of {wanted} replicas are ready")

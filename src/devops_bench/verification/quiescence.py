"""Tells when waiting longer cannot help: the cluster is at rest and no timer that could move it is pending.

At rest: one list of Leases carries the store's revision, which every write of any kind increases by one. If it grew by
exactly as many writes as Leases changed between two looks, nothing else was written: one small request a look, and it
sees every kind, custom ones included. Writes that remain unexplained may still be nobody's concern (Events, the API
server's own bookkeeping), so then the versions of all objects but Leases and Events are compared with those of the last
quiet look.

Pending timers are read off the objects (`longest_timer`): controllers and the scheduler wait silently in backoff, so
three quiet seconds prove nothing while a pod is unschedulable or a ReplicaSet is refused its pods.
"""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from devops_bench.kube import Deadline, KubeClient, KubeError

LOOK_EVERY = 0.5  # seconds between two looks; shorter than any Lease renewal


class RestWatcher:
    """Follows the store's revision. Not thread-safe."""

    def __init__(self, kube: KubeClient) -> None:
        self._kube = kube
        self._revision: int | None = None
        self._leases: dict[str, str] = {}
        self._versions: frozenset[tuple[str, str]] | None = None
        self._since = time.monotonic()
        self._silence: float | None = None  # seconds that prove something, as read since the last change

    def look(self, deadline: Deadline) -> bool:
        """True if something other than Leases and Events may have changed since the last look."""
        moved = True
        try:
            moved = self._moved(deadline)
        except (KubeError, ValueError):
            self._revision = self._versions = None
        if moved:
            self._since, self._silence = time.monotonic(), None
        return moved

    def _moved(self, deadline: Deadline) -> bool:
        found = self._kube.list_with_version("leases.coordination.k8s.io", metadata_only=True, deadline=deadline)
        before, self._revision = self._revision, int(found.resource_version)
        leases = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in found.items}
        renewed = sum(self._leases.get(uid) != version for uid, version in leases.items())
        renewed += sum(uid not in leases for uid in self._leases)
        self._leases = leases
        explained = before is not None and self._revision - before <= renewed
        if explained and self._versions is not None:
            return False
        if not explained and self._versions is None:
            return True  # busy: comparing all objects now would only add to it
        versions, known = object_versions(self._kube, deadline), self._versions
        self._versions = versions if explained or versions == known else None
        return not explained and versions != known

    @property
    def quiet_for(self) -> float:
        """Seconds since something was last seen to change."""
        return time.monotonic() - self._since

    def is_over(self, concerned: Collection[str], quiescence: float, call: float) -> bool:
        """Whether waiting longer cannot help what reads the kinds `concerned`: no write for `quiescence` seconds, nor
        for as long as any timer takes. `call` bounds a request (seconds).
        """
        if self.quiet_for < quiescence:
            return False
        if self._silence is None:
            self._silence = max(quiescence, read_timers(self._kube, concerned, call))
        return self.quiet_for >= self._silence

    def read_anew(self) -> None:
        """Timers may have changed although nothing moved."""
        self._silence = None


def object_versions(kube: KubeClient, deadline: Deadline) -> frozenset[tuple[str, str]]:
    """(uid, resourceVersion) of every stored object but Leases and Events: some 70 small lists, about 0.2 s."""
    found: set[tuple[str, str]] = set()
    for resource in kube.kinds(deadline=deadline).resources:
        if {"list", "watch"} <= resource.verbs and resource.plural not in {"leases", "events"}:
            name = f"{resource.plural}.{resource.group or 'core'}"
            for item in kube.list_with_version(name, metadata_only=True, deadline=deadline).items:
                found.add((str(item["metadata"].get("uid")), str(item["metadata"].get("resourceVersion"))))
    return frozenset(found)


TIMER_KINDS = (
    "pods",
    "replicasets.apps",
    "statefulsets.apps",
    "daemonsets.apps",
    "deployments.apps",
    "jobs.batch",
    "cronjobs.batch",
    "horizontalpodautoscalers.autoscaling",
    "persistentvolumeclaims",
    "namespaces",
)

_SCHEDULER_BACKOFF = 12.0  # podMaxBackoffSeconds is 10
_HPA_SYNC = 17.0  # horizontal-pod-autoscaler-sync-period is 15
_VOLUME_SYNC = 17.0  # pvclaimbinder-sync-period is 15
# The namespace controller tries again after 5, 10, 20, 40, then every 60 s: never later than it has tried so far.
_NAMESPACE_RETRY, _NAMESPACE_FIRST = 62.0, 7.0
_CRON = 65.0  # the next minute, and its Job's start


def longest_timer(objects: Mapping[str, Sequence[Mapping[str, Any]]], concerned: Iterable[str], now: float) -> float:
    """Seconds of silence that prove nothing for these objects; infinite while a controller retries in growing backoff.

    `objects` by the names of TIMER_KINDS; `concerned` are the kinds that the waiting entries read; `now` is epoch
    seconds.
    """
    waits = [0.0]
    for pod in objects.get("pods", ()):
        waits.append(_pod_timer(pod, now))
    for kind in ("replicasets.apps", "statefulsets.apps"):
        for item in objects.get(kind, ()):
            wanted = int((item.get("spec") or {}).get("replicas", 1))
            if int((item.get("status") or {}).get("replicas") or 0) < wanted and not _waits_in_order(item, kind):
                waits.append(math.inf)
    for item in objects.get("daemonsets.apps", ()):
        status = item.get("status") or {}
        if int(status.get("currentNumberScheduled") or 0) < int(status.get("desiredNumberScheduled") or 0):
            waits.append(math.inf)
    for item in objects.get("deployments.apps", ()):
        waits.append(float((item.get("spec") or {}).get("minReadySeconds") or 0))
    for item in objects.get("jobs.batch", ()):
        spec, status = item.get("spec") or {}, item.get("status") or {}
        if (
            status.get("failed")
            and not status.get("completionTime")
            and not spec.get("suspend")
            and not _job_failed(status)
        ):
            waits.append(math.inf)
    reads_jobs = any(kind.startswith(("job", "cronjob", "cj", "pod", "po.")) or kind == "po" for kind in concerned)
    if reads_jobs and any(not (item.get("spec") or {}).get("suspend") for item in objects.get("cronjobs.batch", ())):
        waits.append(_CRON)
    if objects.get("horizontalpodautoscalers.autoscaling"):
        waits.append(_HPA_SYNC)
    if any((item.get("status") or {}).get("phase") == "Pending" for item in objects.get("persistentvolumeclaims", ())):
        waits.append(_VOLUME_SYNC)
    for item in objects.get("namespaces", ()):
        if ending := item["metadata"].get("deletionTimestamp"):
            waits.append(min(_NAMESPACE_RETRY, max(0.0, now - _epoch(str(ending))) + _NAMESPACE_FIRST))
    return max(waits)


def _pod_timer(pod: Mapping[str, Any], now: float) -> float:
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        # The time by which it should be gone; held by a finalizer it may be past, and then nothing is to come.
        return max(0.0, _epoch(str(metadata["deletionTimestamp"])) - now + 2)
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            return 0.0 if condition.get("reason") == "SchedulingGated" else _SCHEDULER_BACKOFF
    return 0.0


def _waits_in_order(item: Mapping[str, Any], kind: str) -> bool:
    """An ordered StatefulSet makes its next pod only after the one before is ready: no timer, but that pod's health."""
    if kind != "statefulsets.apps" or (item.get("spec") or {}).get("podManagementPolicy") == "Parallel":
        return False
    status = item.get("status") or {}
    return int(status.get("readyReplicas") or 0) < int(status.get("replicas") or 0)


def _job_failed(status: Mapping[str, Any]) -> bool:
    return any(item.get("type") == "Failed" and item.get("status") == "True" for item in status.get("conditions") or [])


def _epoch(text: str) -> float:
    from datetime import datetime

    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        return 0.0


def read_timers(kube: KubeClient, concerned: Iterable[str], call_timeout: float) -> float:
    """`longest_timer` of the cluster now; infinite when it cannot be read: then nothing is known to be at rest."""
    deadline = Deadline.after(call_timeout)
    try:
        objects = {kind: kube.list(kind, deadline=deadline) for kind in TIMER_KINDS}
    except KubeError:
        return math.inf
    return longest_timer(objects, concerned, time.time())


def longest_stage_delay(stages: Iterable[Mapping[str, Any]]) -> float:
    """The longest delay (seconds, with jitter) of kwok Stage documents: a pod may sit still so long and yet move."""
    longest = 0.0
    for stage in stages:
        delay = (stage.get("spec") or {}).get("delay") or {}
        fixed = float(delay.get("durationMilliseconds") or 0)
        longest = max(longest, max(fixed, float(delay.get("jitterDurationMilliseconds") or 0)) / 1000)
    return longest

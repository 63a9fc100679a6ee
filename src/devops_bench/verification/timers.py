"""What may still happen although nothing is written: timers of controllers, scheduler and kubelets, off the objects.

They wait silently, so a few quiet seconds prove nothing while a pod is unschedulable or a ReplicaSet is refused its
pods. A timer is a silence that must be outlasted, a moment, or tries that go on in growing intervals. Of the last the
Events tell whether there was one since the last write: then the next ends the same. Not read: windows in which an
autoscaler holds still without saying so, and pods that a DaemonSet makes anew after they failed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from devops_bench.kube import Deadline, KubeClient, KubeError

Object = Mapping[str, Any]
Objects = Mapping[str, Sequence[Object]]
"""Objects by the names of TIMER_KINDS."""

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
    "nodes",
)

_SCHEDULER_BACKOFF = 12.0  # podMaxBackoffSeconds is 10
_SYNC = 17.0  # horizontal-pod-autoscaler-sync-period is 15
_OUR_SYNC = 7.0  # that, and pvclaimbinder-sync-period, are 5 in the embedded control plane
# The namespace controller tries again after 5, 10, 20, 40, then every 60 s: never later than it has tried so far.
_NAMESPACE_RETRY, _NAMESPACE_FIRST = 62.0, 7.0
_NODE_GONE = 43.0  # the embedded control plane removes pods of a node that is gone 20 to 40 s later
_JOB_BACKOFF, _JOB_BACKOFF_MAX = 10.0, 600.0  # DefaultJobPodFailureBackOff, MaxJobPodFailureBackOff
_LATE = 3.0  # seconds after its time by which a controller has acted
_SEEN = 1.5  # seconds by which a controller's caches, and policies in use, are behind a write
_MACROS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Silence:
    """Fewer `seconds` without a write prove nothing."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Moment:
    """Something happens by itself at `at` (epoch seconds)."""

    at: float


@dataclass(frozen=True, slots=True)
class Until:
    """Something happens by itself at `at` (epoch seconds) or at any time before."""

    at: float


@dataclass(frozen=True, slots=True)
class Retry:
    """The controller of the object `uid` tries again; `seconds` without a write prove as much as a try."""

    uid: str
    seconds: float = math.inf


Timer = Silence | Moment | Until | Retry


def pending(objects: Objects, concerned: Collection[str], now: float, *, kubelets: bool = False) -> list[Timer]:
    """The timers of these objects.

    `concerned` are the kinds that the waiting entries read; `now` is epoch seconds. `kubelets`: pods are run, not
    simulated.
    """
    found: list[Timer] = []
    for kind, read in _READERS.items():
        for item in objects.get(kind, ()):
            found += read(item)
    for item in objects.get("horizontalpodautoscalers.autoscaling", ()):
        found += _autoscaler(item, _SYNC if kubelets else _OUR_SYNC)
    for item in objects.get("persistentvolumeclaims", ()):
        if (item.get("status") or {}).get("phase") == "Pending":
            # A real volume is made elsewhere, while the controller says at each look that it waits.
            found.append(Silence(math.inf) if kubelets else Retry(_uid(item), _OUR_SYNC))
    nodes = {str(node["metadata"].get("name")): node for node in objects.get("nodes", ())}
    for pod in objects.get("pods", ()):
        found += _pod(pod)
        found += _placed(pod, nodes)
        if kubelets:
            found += _kubelet(pod)
    for item in objects.get("namespaces", ()):
        if ending := item["metadata"].get("deletionTimestamp"):
            age = max(0.0, now - _epoch(ending))
            found.append(Silence(min(_NAMESPACE_RETRY, age + _NAMESPACE_FIRST)))
    # What a CronJob's pods really do may be anything.
    if kubelets or any(kind.startswith(("job", "cronjob", "cj", "pod", "po.")) or kind == "po" for kind in concerned):
        for item in objects.get("cronjobs.batch", ()):
            found += _cron(item, now)
    return found


def read_timers(kube: KubeClient, concerned: Collection[str], call: float, *, kubelets: bool = False) -> list[Timer]:
    """`pending` of the cluster now; an endless one when it cannot be read: then nothing is known to be at rest."""
    deadline = Deadline.after(call)
    try:
        objects = {kind: kube.list(kind, deadline=deadline) for kind in TIMER_KINDS}
    except KubeError:
        return [Silence(math.inf)]
    return pending(objects, concerned, time.time(), kubelets=kubelets)


def all_over(timers: Iterable[Timer], kube: KubeClient, quiet: float, call: float, until: Deadline) -> bool:
    """Whether none of `timers` can move anything any more, after `quiet` seconds without a write.

    What happens after `until` helps nobody. `call` bounds a request (seconds).
    """
    now = time.time()
    retrying = set()
    for timer in timers:
        if isinstance(timer, Silence) and quiet < timer.seconds:
            return False
        if isinstance(timer, Moment) and now - _LATE < timer.at <= now + until.remaining():
            return False
        if isinstance(timer, Until) and now < timer.at:
            return False
        if isinstance(timer, Retry) and quiet < timer.seconds:
            retrying.add(timer.uid)
    return not retrying or retrying <= _tried(kube, now - quiet + _SEEN, call)


def _tried(kube: KubeClient, since: float, call: float) -> set[str]:
    """UIDs of the objects of which an Event tells since then; none when that cannot be read."""
    try:
        events = kube.list("events", deadline=Deadline.after(call))
    except KubeError:
        return set()
    return {str(event["involvedObject"].get("uid")) for event in events if _last(event) >= since}


def _last(event: Object) -> float:
    series = event.get("series") or {}
    times = (event.get("lastTimestamp"), event.get("eventTime"), series.get("lastObservedTime"))
    return max(_epoch(time) for time in times)


def _pod(pod: Object) -> Iterator[Timer]:
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        # Held by a finalizer it may be past its time, and then nothing is to come.
        yield Until(_epoch(metadata["deletionTimestamp"]) + _LATE)
        return
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            if condition.get("reason") != "SchedulingGated":
                yield Retry(_uid(pod), _SCHEDULER_BACKOFF)
            return


def _placed(pod: Object, nodes: Mapping[str, Object]) -> Iterator[Timer]:
    """Pods go some time after their node, or after a taint that they bear for a while."""
    spec = pod.get("spec") or {}
    if not (name := spec.get("nodeName")) or not nodes:
        return
    if (node := nodes.get(name)) is None:
        yield Silence(_NODE_GONE)
        return
    for taint in (node.get("spec") or {}).get("taints") or ():
        if taint.get("effect") == "NoExecute":
            borne = [one.get("tolerationSeconds") for one in spec.get("tolerations") or () if _bears(one, taint)]
            yield from (Silence(float(seconds) + _LATE) for seconds in borne if seconds is not None)


def _bears(toleration: Object, taint: Object) -> bool:
    same = toleration.get("operator") == "Exists" or (toleration.get("value") or "") == (taint.get("value") or "")
    return toleration.get("key") in {None, "", taint.get("key")} and same


def _kubelet(pod: Object) -> Iterator[Timer]:
    """A real kubelet pulls, probes, restarts and runs to the end in silence, for as long as it takes."""
    status, spec = pod.get("status") or {}, pod.get("spec") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return
    containers = status.get("containerStatuses") or ()
    settled = containers and all("running" in (one.get("state") or {}) and one.get("ready") for one in containers)
    if not settled or spec.get("restartPolicy", "Always") != "Always":
        yield Silence(math.inf)


def _replicas(item: Object) -> Iterator[Timer]:
    wanted = int((item.get("spec") or {}).get("replicas", 1))
    if int((item.get("status") or {}).get("replicas") or 0) < wanted:
        yield Retry(_uid(item))


def _stateful(item: Object) -> Iterator[Timer]:
    status = item.get("status") or {}
    ordered = (item.get("spec") or {}).get("podManagementPolicy") != "Parallel"
    # An ordered one makes its next pod only after the one before is ready: no timer, but that pod's health.
    if not ordered or int(status.get("readyReplicas") or 0) >= int(status.get("replicas") or 0):
        yield from _replicas(item)
    yield from _available(item)


def _daemons(item: Object) -> Iterator[Timer]:
    status = item.get("status") or {}
    if int(status.get("currentNumberScheduled") or 0) < int(status.get("desiredNumberScheduled") or 0):
        yield Retry(_uid(item))
    yield from _available(item)


def _available(item: Object) -> Iterator[Timer]:
    # A Deployment's progress deadline is no timer: all that comes of it is that it says so.
    if seconds := float((item.get("spec") or {}).get("minReadySeconds") or 0):
        yield Silence(seconds + _LATE)


def _job(item: Object) -> Iterator[Timer]:
    spec, status = item.get("spec") or {}, item.get("status") or {}
    ended = [one for one in status.get("conditions") or [] if one.get("status") == "True" and one.get("type") in _ENDS]
    if ended or status.get("completionTime"):
        if spec.get("ttlSecondsAfterFinished") is not None:
            times = (status.get("completionTime"), *(one.get("lastTransitionTime") for one in ended))
            yield Moment(max(_epoch(time) for time in times) + float(spec["ttlSecondsAfterFinished"]))
        return
    if spec.get("suspend"):
        return
    if spec.get("activeDeadlineSeconds") and status.get("startTime"):
        yield Moment(_epoch(status["startTime"]) + float(spec["activeDeadlineSeconds"]))
    wanted = int(spec.get("parallelism", 1))
    if spec.get("completions") is not None:
        wanted = min(wanted, int(spec["completions"]) - int(status.get("succeeded") or 0))
    if int(status.get("active") or 0) >= wanted:
        return
    if failed := int(status.get("failed") or 0):
        # At most: the controller counts failures since the last success. Each was written, so silence bounds it.
        yield Silence(min(_JOB_BACKOFF * 2 ** min(failed - 1, 10), _JOB_BACKOFF_MAX) + _LATE)
    else:
        yield Retry(_uid(item))


_ENDS = {"Complete", "Failed", "SuccessCriteriaMet", "FailureTarget"}


def _cron(item: Object, now: float) -> Iterator[Timer]:
    spec = item.get("spec") or {}
    if not spec.get("suspend"):
        start = next_run(str(spec.get("schedule", "")), spec.get("timeZone"), now - _LATE)
        yield Silence(math.inf) if start is None else Moment(start)


def next_run(schedule: str, zone: str | None, after: float) -> float | None:
    """When (epoch seconds) a CronJob's schedule is due next; None when its syntax does not tell.

    Without a zone it is the controller manager's own, which is not known: the earlier of UTC's and this machine's.
    """
    from zoneinfo import ZoneInfo

    from cronsim import CronSim, CronSimError  # only where there are CronJobs

    words = _MACROS.get(schedule, schedule).replace("?", "*").split()
    # Which of two restricted days counts differs between the implementations once a step is involved.
    if len(words) != 5 or any(word.startswith("*/") for word in (words[2], words[4])):
        return None
    begin = datetime.fromtimestamp(after, UTC)
    try:
        zones = [ZoneInfo(zone)] if zone else [UTC, begin.astimezone().tzinfo]
        return min([next(CronSim(" ".join(words), begin.astimezone(one))).timestamp() for one in zones])
    except (CronSimError, StopIteration, OSError, ValueError, LookupError):
        return None


def _autoscaler(item: Object, period: float) -> Iterator[Timer]:
    conditions = (item.get("status") or {}).get("conditions") or ()
    held = any(str(one.get("reason")).endswith("Stabilized") for one in conditions)
    yield Silence(math.inf) if held else Retry(_uid(item), period)


_READERS: Mapping[str, Callable[[Object], Iterable[Timer]]] = {
    "replicasets.apps": _replicas,
    "statefulsets.apps": _stateful,
    "daemonsets.apps": _daemons,
    "deployments.apps": _available,
    "jobs.batch": _job,
}


def _uid(item: Object) -> str:
    return str((item.get("metadata") or {}).get("uid"))


def _epoch(text: object) -> float:
    """0 for what is no time."""
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return 0.0


def longest_stage_delay(stages: Iterable[Mapping[str, Any]]) -> float:
    """The longest delay (seconds, with jitter) of kwok Stage documents: a pod may sit still so long and yet move."""
    longest = 0.0
    for stage in stages:
        delay = (stage.get("spec") or {}).get("delay") or {}
        fixed = float(delay.get("durationMilliseconds") or 0)
        longest = max(longest, max(fixed, float(delay.get("jitterDurationMilliseconds") or 0)) / 1000)
    return longest

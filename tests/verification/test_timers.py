"""What may still happen in silence, as read off objects and Events."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeClient, KubeUnavailable
from devops_bench.verification import longest_stage_delay
from devops_bench.verification import timers as module
from devops_bench.verification.timers import Moment, Retry, Silence, all_over, next_run, pending, read_timers
from tests.kube.plane import Plane

NOW = 1_700_000_000.0  # Tuesday, 22:13:20 in UTC
META = {"uid": "u"}


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": META, "status": status}


def ending(at: str) -> dict[str, Any]:
    return {"metadata": {"deletionTimestamp": at}}


def item(spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"metadata": META, "spec": spec, "status": status}


def attempt(**changes: Any) -> dict[str, Any]:
    """A failed pod of the Job `u`."""
    times = {"creationTimestamp": "2023-11-14T22:13:00Z", "ownerReferences": [{"uid": "u"}], **changes}
    return {
        "metadata": times,
        "status": {"containerStatuses": [{"state": {"terminated": {"finishedAt": "2023-11-14T22:13:10Z"}}}]},
    }


def unscheduled(reason: str) -> dict[str, Any]:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": reason}])


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ({}, []),
        ({"pods": [pod(phase="Running")]}, []),
        ({"pods": [unscheduled("Unschedulable")]}, [Retry("u", 12)]),
        ({"pods": [unscheduled("SchedulingGated")]}, []),
        ({"pods": [ending("2023-11-14T22:13:50Z")]}, [Moment(NOW + 33)]),
        ({"replicasets.apps": [item({"replicas": 3}, replicas=2)]}, [Retry("u")]),
        ({"replicasets.apps": [item({"replicas": 3}, replicas=3)]}, []),
        ({"replicasets.apps": [item({"replicas": 0})]}, []),
        ({"statefulsets.apps": [item({"replicas": 3}, replicas=1, readyReplicas=0)]}, []),
        ({"statefulsets.apps": [item({"replicas": 3}, replicas=1, readyReplicas=1)]}, [Retry("u")]),
        (
            {"statefulsets.apps": [item({"replicas": 3, "podManagementPolicy": "Parallel"}, replicas=1)]},
            [Retry("u")],
        ),
        ({"daemonsets.apps": [item({}, desiredNumberScheduled=2, currentNumberScheduled=1)]}, [Retry("u")]),
        ({"deployments.apps": [item({"minReadySeconds": 30})]}, [Silence(30)]),
        ({"horizontalpodautoscalers.autoscaling": [item({})]}, [Retry("u", 7)]),
        ({"persistentvolumeclaims": [item({}, phase="Pending")]}, [Retry("u", 7)]),
        ({"persistentvolumeclaims": [item({}, phase="Bound")]}, []),
        ({"namespaces": [ending("2023-11-14T22:13:00Z")]}, [Silence(27)]),
        ({"namespaces": [ending("2023-11-14T22:00:00Z")]}, [Silence(62)]),
    ],
)
def test_timers_that_controllers_keep_in_silence_are_read_off_the_objects(
    objects: dict[str, Any], expected: list[Any]
) -> None:
    assert [timer for timer in pending(objects, [], NOW) if timer != Silence(0)] == expected


@pytest.mark.parametrize(
    ("job", "pods", "expected"),
    [
        (item({}, active=1), [], []),
        (item({}), [], [Retry("u")]),
        (item({"parallelism": 3, "completions": 5}, active=1, succeeded=4), [], []),
        (item({"parallelism": 3, "completions": 5}, active=1, succeeded=3), [], [Retry("u")]),
        (item({"suspend": True}), [], []),
        (item({}, failed=1), [attempt()], [Moment(NOW - 10 + 10 + 3)]),
        (item({}, failed=3), [attempt()], [Moment(NOW - 10 + 40 + 3)]),
        (item({}, failed=30), [attempt()], [Moment(NOW - 10 + 600 + 3)]),
        (item({}, failed=1), [attempt(ownerReferences=[])], [Silence(math.inf)]),
        (item({}, failed=1, conditions=[{"type": "Failed", "status": "True"}]), [], []),
        (item({}, completionTime="2023-11-14T22:13:20Z"), [], []),
        (item({"ttlSecondsAfterFinished": 20}, completionTime="2023-11-14T22:13:20Z"), [], [Moment(NOW + 23)]),
        (
            item({"activeDeadlineSeconds": 60}, active=1, startTime="2023-11-14T22:13:20Z"),
            [],
            [Moment(NOW + 63)],
        ),
    ],
)  # fmt: skip
def test_a_job_tries_again_when_its_backoff_is_over(
    job: dict[str, Any], pods: list[dict[str, Any]], expected: list[Any]
) -> None:
    assert pending({"jobs.batch": [job], "pods": pods}, [], NOW) == expected


@pytest.mark.parametrize(
    ("spec", "concerned", "expected"),
    [
        ({"schedule": "15 22 * * *", "timeZone": "Etc/UTC"}, ["jobs"], [Moment(NOW + 100 + 3)]),
        ({"schedule": "0 4 * * *", "timeZone": "Etc/UTC"}, ["pods"], [Moment(NOW + 6 * 3600 - 800 + 3)]),
        ({"schedule": "15 22 * * *", "timeZone": "Etc/UTC"}, ["configmaps"], []),
        ({"schedule": "15 22 * * *", "suspend": True}, ["jobs"], []),
        ({"schedule": "@every 1h"}, ["jobs"], [Silence(65)]),
    ],
)
def test_a_cronjob_is_waited_for_when_it_is_due(
    spec: dict[str, Any], concerned: list[str], expected: list[Any]
) -> None:
    assert pending({"cronjobs.batch": [item(spec)]}, concerned, NOW) == expected


@pytest.mark.parametrize(
    ("schedule", "zone", "expected"),
    [
        ("@hourly", "Etc/UTC", "2023-11-14 23:00"),
        ("@weekly", "Etc/UTC", "2023-11-19 00:00"),
        ("0 6 * * MON-FRI", "Etc/UTC", "2023-11-15 06:00"),
        ("0 6 ? * 1", "Etc/UTC", "2023-11-20 06:00"),
        ("30 0 * * *", "Europe/Berlin", "2023-11-14 23:30"),
        ("0 0 1 * 3", "Etc/UTC", "2023-11-15 00:00"),
        ("0 0 */2 * 3", "Etc/UTC", None),
        ("@every 5m", "Etc/UTC", None),
        ("0 0 31 2 *", "Etc/UTC", None),
        ("* * * *", "Etc/UTC", None),
        ("0 0 * * *", "Nowhere/Town", None),
        ("", None, None),
    ],
)
def test_the_next_run_of_a_schedule(schedule: str, zone: str | None, expected: str | None) -> None:
    found = next_run(schedule, zone, NOW)
    assert (found and f"{datetime.fromtimestamp(found, UTC):%Y-%m-%d %H:%M}") == expected


def running(**container: Any) -> dict[str, Any]:
    probed = {"name": "c", "readinessProbe": {"initialDelaySeconds": 30, "periodSeconds": 5, "failureThreshold": 2}}
    spec = {"nodeName": "n", "containers": [probed]}
    return {"metadata": META, "spec": spec, "status": {"containerStatuses": [{"name": "c", **container}]}}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        (running(state={"running": {}}, ready=True), []),
        (running(state={"running": {}}, ready=False), [Silence(30 + 2 * 6)]),
        (running(state={"waiting": {"reason": "ContainerCreating"}}), [Silence(math.inf)]),
        (running(state={"waiting": {"reason": "ImagePullBackOff"}}), [Silence(math.inf)]),
        (
            running(
                state={"waiting": {"reason": "CrashLoopBackOff"}},
                lastState={"terminated": {"finishedAt": "2023-11-14T22:13:20Z"}},
                restartCount=3,
            ),
            [Moment(NOW + 40 + 10)],
        ),
        ({"metadata": META, "spec": {"nodeName": "n"}, "status": {}}, [Silence(math.inf)]),
        ({"metadata": META, "spec": {"nodeName": "n"}, "status": {"phase": "Succeeded"}}, []),
        ({"metadata": META, "spec": {}, "status": {}}, []),
    ],
)
def test_a_real_kubelet_pulls_probes_and_restarts_in_silence(pod: dict[str, Any], expected: list[Any]) -> None:
    assert pending({"pods": [pod]}, [], NOW, kubelets=True) == expected
    assert pending({"pods": [pod]}, [], NOW) == []


class Told:
    """A cluster that has nothing but Events, each of one object and time."""

    def __init__(self, events: dict[str, str]) -> None:
        self._events = events

    def list(self, kind: str, **_: Any) -> list[dict[str, Any]]:
        assert kind == "events"
        if not self._events:
            raise KubeUnavailable("down")
        return [{"involvedObject": {"uid": uid}, "lastTimestamp": time} for uid, time in self._events.items()]


@pytest.mark.parametrize(
    ("timers", "events", "quiet", "over"),
    [
        ([], {}, 3, True),
        ([Silence(30)], {}, 29, False),
        ([Silence(30)], {}, 30, True),
        ([Moment(NOW + 5)], {}, 3, False),
        ([Moment(NOW)], {}, 3, True),
        ([Moment(NOW + 61)], {}, 3, True),
        ([Retry("u")], {}, 3, False),
        ([Retry("u", 12)], {}, 12, True),
        ([Retry("u")], {"u": "2023-11-14T22:13:19Z"}, 3, True),
        ([Retry("u")], {"u": "2023-11-14T22:13:18Z"}, 3, False),
        ([Retry("u")], {"other": "2023-11-14T22:13:20Z"}, 3, False),
        ([Retry("u"), Retry("v")], {"u": "2023-11-14T22:13:19Z"}, 3, False),
    ],
)
def test_waiting_is_over_when_nothing_can_happen_in_its_time(
    monkeypatch: pytest.MonkeyPatch, timers: list[Any], events: dict[str, str], quiet: float, over: bool
) -> None:
    monkeypatch.setattr(module.time, "time", lambda: NOW)
    assert all_over(timers, Told(events), quiet, 10, Deadline.after(60)) is over  # type: ignore[arg-type]


def test_real_controllers_look_less_often() -> None:
    scaler = {"horizontalpodautoscalers.autoscaling": [item({})]}
    assert pending(scaler, [], NOW, kubelets=True) == [Retry("u", 17)]


def test_a_stage_may_hold_a_pod_still_for_its_delay_and_jitter() -> None:
    stages = [{"spec": {"delay": {"durationMilliseconds": 5000, "jitterDurationMilliseconds": 8000}}}, {"spec": {}}, {}]
    assert longest_stage_delay(stages) == 8
    assert longest_stage_delay([]) == 0


@pytest.mark.kwok
def test_timers_of_a_cluster_that_cannot_be_read_are_endless(plane: Plane, kube: KubeClient) -> None:
    assert Silence(math.inf) not in read_timers(kube, ["pods"], 30)
    with plane.frozen():
        assert read_timers(kube, ["pods"], 0.3) == [Silence(math.inf)]

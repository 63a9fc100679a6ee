"""What may still happen in silence, as read off objects and Events."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeClient, KubeUnavailable
from devops_bench.verification import longest_stage_delay
from devops_bench.verification import timers as module
from devops_bench.verification.timers import Moment, Retry, Silence, Until, all_over, next_run, pending, read_timers
from tests.kube.plane import Plane

NOW = 1_700_000_000.0  # Tuesday, 22:13:20 in UTC
META = {"uid": "u"}


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": META, "status": status}


def ending(at: str) -> dict[str, Any]:
    return {"metadata": {"deletionTimestamp": at}}


def item(spec: dict[str, Any], **status: Any) -> dict[str, Any]:
    return {"metadata": META, "spec": spec, "status": status}


def unscheduled(reason: str) -> dict[str, Any]:
    return pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": reason}])


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ({}, []),
        ({"pods": [pod(phase="Running")]}, []),
        ({"pods": [unscheduled("Unschedulable")]}, [Retry("u", 12)]),
        ({"pods": [unscheduled("SchedulingGated")]}, []),
        ({"pods": [ending("2023-11-14T22:13:50Z")]}, [Until(NOW + 33)]),
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
        ({"deployments.apps": [item({"minReadySeconds": 30})]}, [Silence(33)]),
        ({"daemonsets.apps": [item({"minReadySeconds": 30})]}, [Silence(33)]),
        ({"statefulsets.apps": [item({"minReadySeconds": 30, "replicas": 0})]}, [Silence(33)]),
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
    assert pending(objects, [], NOW) == expected


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (item({}, active=1), []),
        (item({}), [Retry("u")]),
        (item({"parallelism": 3, "completions": 5}, active=1, succeeded=4), []),
        (item({"parallelism": 3, "completions": 5}, active=1, succeeded=3), [Retry("u")]),
        (item({"suspend": True}), []),
        (item({}, failed=1), [Silence(13)]),
        (item({}, failed=3), [Silence(43)]),
        (item({}, failed=30), [Silence(603)]),
        (item({}, failed=1, conditions=[{"type": "Failed", "status": "True"}]), []),
        (item({}, completionTime="2023-11-14T22:13:20Z"), []),
        (item({"ttlSecondsAfterFinished": 20}, completionTime="2023-11-14T22:13:20Z"), [Moment(NOW + 20)]),
        (item({"activeDeadlineSeconds": 60}, active=1, startTime="2023-11-14T22:13:20Z"), [Moment(NOW + 60)]),
    ],
)
def test_a_job_tries_again_when_its_backoff_is_over(job: dict[str, Any], expected: list[Any]) -> None:
    assert pending({"jobs.batch": [job]}, [], NOW) == expected


@pytest.mark.parametrize(
    ("spec", "concerned", "expected"),
    [
        ({"schedule": "15 22 * * *", "timeZone": "Etc/UTC"}, ["jobs"], [Moment(NOW + 100)]),
        ({"schedule": "0 4 * * *", "timeZone": "Etc/UTC"}, ["pods"], [Moment(NOW + 6 * 3600 - 800)]),
        ({"schedule": "15 22 * * *", "timeZone": "Etc/UTC"}, ["configmaps"], []),
        ({"schedule": "15 22 * * *", "suspend": True}, ["jobs"], []),
        ({"schedule": "@every 1h"}, ["jobs"], [Silence(math.inf)]),
    ],
)
def test_a_cronjob_is_waited_for_when_it_is_due(
    spec: dict[str, Any], concerned: list[str], expected: list[Any]
) -> None:
    assert pending({"cronjobs.batch": [item(spec)]}, concerned, NOW) == expected


def test_what_a_real_cronjob_does_may_be_anything() -> None:
    due = {"cronjobs.batch": [item({"schedule": "15 22 * * *", "timeZone": "Etc/UTC"})]}
    assert pending(due, ["configmaps"], NOW, kubelets=True) == [Moment(NOW + 100)]


DEAD = {"key": "dead", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("node", "tolerations", "expected"),
    [
        ("n", [], []),
        ("other", [], [Silence(43)]),
        ("tainted", [], []),
        ("tainted", [{"key": "dead", "operator": "Exists"}], []),
        ("tainted", [{"key": "dead", "operator": "Exists", "tolerationSeconds": 20}], [Silence(23)]),
        ("tainted", [{"operator": "Exists", "tolerationSeconds": 20}], [Silence(23)]),
        ("tainted", [{"key": "dead", "value": "x", "tolerationSeconds": 20}], []),
        ("tainted", [{"key": "slow", "operator": "Exists", "tolerationSeconds": 20}], []),
        (None, [], []),
    ],
)
def test_pods_go_some_time_after_their_node(node: str | None, tolerations: list[Any], expected: list[Any]) -> None:
    nodes = [{"metadata": {"name": "n"}}, {"metadata": {"name": "tainted"}, "spec": {"taints": [DEAD]}}]
    placed = item({"nodeName": node, "tolerations": tolerations})
    assert pending({"pods": [placed], "nodes": nodes}, [], NOW) == expected


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


def started(spec: dict[str, Any], **container: Any) -> dict[str, Any]:
    return item({"nodeName": "n", **spec}, containerStatuses=[{"name": "c", **container}])


@pytest.mark.parametrize(
    ("pod", "settled"),
    [
        (started({}, state={"running": {}}, ready=True), True),
        (started({"restartPolicy": "Never"}, state={"running": {}}, ready=True), False),
        (started({}, state={"running": {}}, ready=False), False),
        (started({}, state={"waiting": {"reason": "ContainerCreating"}}), False),
        (started({}, state={"waiting": {"reason": "CrashLoopBackOff"}}), False),
        (item({"nodeName": "n"}), False),
        (item({"nodeName": "n"}, phase="Succeeded"), True),
        (item({}), True),
    ],
)
def test_a_real_kubelet_pulls_probes_and_restarts_in_silence(pod: dict[str, Any], settled: bool) -> None:
    assert pending({"pods": [pod]}, [], NOW, kubelets=True) == ([] if settled else [Silence(math.inf)])
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
        ([Moment(NOW - 2)], {}, 3, False),
        ([Moment(NOW - 3)], {}, 3, True),
        ([Moment(NOW + 61)], {}, 3, True),
        ([Until(NOW + 61)], {}, 3, False),
        ([Until(NOW)], {}, 3, True),
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
    claim = {"persistentvolumeclaims": [item({}, phase="Pending")]}
    assert pending(claim, [], NOW, kubelets=True) == [Silence(math.inf)]


def test_an_autoscaler_that_holds_still_may_go_on_at_any_time() -> None:
    held = item({}, conditions=[{"type": "AbleToScale", "status": "True", "reason": "ScaleDownStabilized"}])
    assert pending({"horizontalpodautoscalers.autoscaling": [held]}, [], NOW) == [Silence(math.inf)]


def test_a_stage_may_hold_a_pod_still_for_its_delay_and_jitter() -> None:
    stages = [{"spec": {"delay": {"durationMilliseconds": 5000, "jitterDurationMilliseconds": 8000}}}, {"spec": {}}, {}]
    assert longest_stage_delay(stages) == 8
    assert longest_stage_delay([]) == 0


@pytest.mark.kwok
def test_timers_of_a_cluster_that_cannot_be_read_are_endless(plane: Plane, kube: KubeClient) -> None:
    assert Silence(math.inf) not in read_timers(kube, ["pods"], 30)
    with plane.frozen():
        assert read_timers(kube, ["pods"], 0.3) == [Silence(math.inf)]

"""When waiting longer cannot help."""

from __future__ import annotations

import math
from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeClient, KubeList, KubeUnavailable, Resource
from devops_bench.kube.discovery import Kinds
from devops_bench.verification import longest_stage_delay
from devops_bench.verification.quiescence import RestWatcher, longest_timer, read_timers
from tests.kube.plane import Plane

NOW = 1_700_000_000.0


def pod(**status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "status": status}


UNSCHEDULED = pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}])
GATED = pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}])


@pytest.mark.parametrize(
    ("objects", "concerned", "expected"),
    [
        ({}, [], 0),
        ({"pods": [pod(phase="Running")]}, ["pods"], 0),
        ({"pods": [UNSCHEDULED]}, ["pods"], 12),
        ({"pods": [GATED]}, ["pods"], 0),
        ({"pods": [{"metadata": {"deletionTimestamp": "2023-11-14T22:13:50Z"}}]}, [], 32),
        ({"pods": [{"metadata": {"deletionTimestamp": "2023-11-14T22:00:00Z"}}]}, [], 0),
        ({"replicasets.apps": [{"spec": {"replicas": 3}, "status": {"replicas": 2}}]}, [], math.inf),
        ({"replicasets.apps": [{"spec": {"replicas": 3}, "status": {"replicas": 3}}]}, [], 0),
        ({"replicasets.apps": [{"spec": {"replicas": 0}, "status": {}}]}, [], 0),
        ({"statefulsets.apps": [{"spec": {"replicas": 3}, "status": {"replicas": 1, "readyReplicas": 0}}]}, [], 0),
        (
            {"statefulsets.apps": [{"spec": {"replicas": 3}, "status": {"replicas": 1, "readyReplicas": 1}}]},
            [],
            math.inf,
        ),
        ({"daemonsets.apps": [{"status": {"desiredNumberScheduled": 2, "currentNumberScheduled": 1}}]}, [], math.inf),
        ({"deployments.apps": [{"spec": {"minReadySeconds": 30}}]}, [], 30),
        ({"jobs.batch": [{"status": {"failed": 1}}]}, [], math.inf),
        ({"jobs.batch": [{"status": {"failed": 1, "conditions": [{"type": "Failed", "status": "True"}]}}]}, [], 0),
        ({"jobs.batch": [{"status": {"failed": 1, "completionTime": "x"}}]}, [], 0),
        ({"cronjobs.batch": [{"spec": {}}]}, ["jobs"], 65),
        ({"cronjobs.batch": [{"spec": {}}]}, ["configmaps"], 0),
        ({"cronjobs.batch": [{"spec": {"suspend": True}}]}, ["jobs"], 0),
        ({"horizontalpodautoscalers.autoscaling": [{}]}, [], 17),
        ({"persistentvolumeclaims": [{"status": {"phase": "Pending"}}]}, [], 17),
        ({"namespaces": [{"metadata": {"deletionTimestamp": "2023-11-14T22:13:00Z"}}]}, [], 27),
        ({"namespaces": [{"metadata": {"deletionTimestamp": "2023-11-14T22:00:00Z"}}]}, [], 62),
    ],
)
def test_timers_that_controllers_keep_in_silence_are_read_off_the_objects(
    objects: dict[str, Any], concerned: list[str], expected: float
) -> None:
    assert longest_timer(objects, concerned, NOW) == expected


def test_a_stage_may_hold_a_pod_still_for_its_delay_and_jitter() -> None:
    stages = [{"spec": {"delay": {"durationMilliseconds": 5000, "jitterDurationMilliseconds": 8000}}}, {"spec": {}}, {}]
    assert longest_stage_delay(stages) == 8
    assert longest_stage_delay([]) == 0


class Store:
    """A store's revisions, Leases and one other kind, as lists would show them."""

    def __init__(self) -> None:
        self.revision = 100
        self.leases = {"a": "90", "b": "91"}
        self.pods = {"p": "92"}
        self.down = False
        self.scans = 0

    def kinds(self, **_: Any) -> Kinds:
        verbs = frozenset({"list", "watch"})
        return Kinds.of(
            [
                Resource("", "v1", "Pod", "pods", True, verbs=verbs),
                Resource("", "v1", "Event", "events", True, verbs=verbs),
            ]
        )

    def list_with_version(self, kind: str, **_: Any) -> KubeList:
        if self.down:
            raise KubeUnavailable("down")
        self.scans += kind == "pods.core"
        found = {"leases.coordination.k8s.io": self.leases, "pods.core": self.pods}[kind]
        items = [{"metadata": {"uid": uid, "resourceVersion": version}} for uid, version in found.items()]
        return KubeList(items, str(self.revision))

    def write(self, where: dict[str, str], uid: str) -> None:
        self.revision += 1
        where[uid] = str(self.revision)


def test_renewed_leases_events_and_invisible_writes_are_rest_and_anything_else_is_not() -> None:
    store = Store()
    rest = RestWatcher(store)  # type: ignore[arg-type]

    def look() -> bool:
        return rest.look(Deadline.after(60))

    assert look(), "the first look knows nothing"
    assert not look()
    store.write(store.leases, "a")
    store.write(store.leases, "b")
    store.write(store.leases, "new")
    assert not look()
    del store.leases["new"]
    store.revision += 1
    assert not look()
    store.write(store.leases, "a")
    store.revision += 2  # an Event, or a key that no list shows
    assert not look()
    store.write(store.pods, "p")
    assert look()
    assert not look()
    store.write(store.pods, "q")
    store.write(store.leases, "a")
    assert look()
    assert not look()
    del store.pods["q"]
    store.revision += 1
    assert look()


def test_a_busy_store_is_not_compared_object_by_object() -> None:
    store = Store()
    rest = RestWatcher(store)  # type: ignore[arg-type]
    for _ in range(20):
        store.write(store.pods, "p")
        assert rest.look(Deadline.after(60))
    assert store.scans == 0


def test_what_cannot_be_read_is_not_at_rest() -> None:
    store = Store()
    rest = RestWatcher(store)  # type: ignore[arg-type]
    rest.look(Deadline.after(60))
    assert not rest.look(Deadline.after(60))
    store.down = True
    assert rest.look(Deadline.after(60))
    store.down = False
    assert rest.look(Deadline.after(60))
    assert not rest.look(Deadline.after(60))


@pytest.mark.kwok
def test_a_real_store_is_at_rest_while_only_leases_and_events_are_written(kube: KubeClient, namespace: str) -> None:
    deadline = Deadline.after(120)
    rest = RestWatcher(kube)
    while rest.quiet_for < 2:  # what a new namespace sets in motion
        rest.look(deadline)
        assert not deadline.passed
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}, "spec": {}}
    kube.create(lease, namespace)
    assert not rest.look(deadline)
    kube.patch("lease", "l", {"spec": {"holderIdentity": "y"}}, namespace)
    assert not rest.look(deadline)
    involved = {"kind": "Namespace", "name": namespace, "namespace": namespace}
    kube.create({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": involved}, namespace)
    assert not rest.look(deadline)
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}, namespace)
    assert rest.look(deadline)


@pytest.mark.kwok
def test_timers_of_a_cluster_that_cannot_be_read_are_endless(plane: Plane, kube: KubeClient) -> None:
    assert read_timers(kube, ["pods"], 30) < math.inf
    with plane.frozen():
        assert read_timers(kube, ["pods"], 0.3) == math.inf

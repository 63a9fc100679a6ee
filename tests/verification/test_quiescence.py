"""When waiting longer cannot help."""

from __future__ import annotations

from typing import Any

import pytest

from devops_bench.kube import Deadline, KubeClient, KubeList, KubeUnavailable, Resource
from devops_bench.kube.discovery import Kinds
from devops_bench.verification.quiescence import RestWatcher


class Store:
    """A store's revisions, Leases and one other kind, as lists would show them."""

    def __init__(self) -> None:
        self.revision = 100
        self.leases = {"a": "90", "b": "91"}
        self.pods = {"p": "92"}
        self.down = False
        self.broken = 0  # the status that lists of pods get
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
        if self.broken and kind == "pods.core":
            raise KubeUnavailable("unreadable", status=self.broken)
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


@pytest.mark.parametrize(("status", "rests"), [(500, True), (429, False), (503, False)])
def test_a_kind_whose_objects_cannot_be_read_stays_so_and_one_that_is_not_ready_does_not(
    status: int, rests: bool
) -> None:
    store = Store()
    rest = RestWatcher(store)  # type: ignore[arg-type]
    store.broken = status
    rest.look(Deadline.after(60))
    assert rest.look(Deadline.after(60)) is not rests


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

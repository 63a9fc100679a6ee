"""Tells when waiting longer cannot help: the cluster is at rest and no timer that could move it is pending.

At rest: one list of Leases carries the store's revision, which every write of any kind increases by one. If it grew by
exactly as many writes as Leases changed between two looks, nothing else was written: one small request a look, and it
sees every kind, custom ones included. Writes that remain unexplained may still be nobody's concern (Events, the API
server's own bookkeeping), so then the versions of all objects but Leases and Events are compared with those of the last
quiet look.

Timers that are pending (`timers`) are read off the objects once nothing is written.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from http import HTTPStatus

from devops_bench.kube import Deadline, KubeClient, KubeError
from devops_bench.verification.timers import Timer, all_over, read_timers

LOOK_EVERY = 0.5  # seconds between two looks; shorter than any Lease renewal


class RestWatcher:
    """Follows the store's revision; `kubelets`: the pods are run, not simulated. Not thread-safe."""

    def __init__(self, kube: KubeClient, *, kubelets: bool = False) -> None:
        self._kube = kube
        self._kubelets = kubelets
        self._revision: int | None = None
        self._leases: dict[str, str] = {}
        self._versions: frozenset[tuple[str, str]] | None = None
        self._since = time.monotonic()
        self._timers: list[Timer] | None = None  # as read since the last change

    def look(self, deadline: Deadline) -> bool:
        """True if something other than Leases and Events may have changed since the last look."""
        moved = True
        try:
            moved = self._moved(deadline)
        except (KubeError, ValueError):
            self._revision = self._versions = None
        if moved:
            self._since, self._timers = time.monotonic(), None
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

    def is_over(self, concerned: Collection[str], quiescence: float, call: float, until: Deadline) -> bool:
        """Whether waiting until then cannot help what reads the kinds `concerned`: no write for `quiescence` seconds,
        and no timer that could move anything. `call` bounds a request (seconds).
        """
        if self.quiet_for < quiescence:
            return False
        if self._timers is None:
            self._timers = read_timers(self._kube, concerned, call, kubelets=self._kubelets)
        return all_over(self._timers, self._kube, self.quiet_for, call, until)

    def read_anew(self) -> None:
        """Timers may have changed although nothing moved."""
        self._timers = None


def object_versions(kube: KubeClient, deadline: Deadline) -> frozenset[tuple[str, str]]:
    """(uid, resourceVersion) of every stored object but Leases and Events: some 70 small lists, about 0.2 s.

    A kind that the API server cannot read (its CRD has lost a version that is stored) counts as one that stays so.
    """
    found: set[tuple[str, str]] = set()
    for resource in kube.kinds(deadline=deadline).resources:
        if {"list", "watch"} <= resource.verbs and resource.plural not in {"leases", "events"}:
            name = f"{resource.plural}.{resource.group or 'core'}"
            try:
                items = kube.list_with_version(name, metadata_only=True, deadline=deadline).items
            except KubeError as error:
                if error.status != HTTPStatus.INTERNAL_SERVER_ERROR:
                    raise
                found.add((name, "unreadable"))
                continue
            for item in items:
                found.add((str(item["metadata"].get("uid")), str(item["metadata"].get("resourceVersion"))))
    return frozenset(found)

"""`reachable`: would a connection get through, by Services, endpoints and NetworkPolicies? Nothing is sent.

Pods that ended or are being deleted are no ends. No pod at either end fails, whichever answer was wanted: an empty
namespace must not look well isolated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from devops_bench.tasks.checks import Place, Reachable
from devops_bench.verification.checks.resources import select
from devops_bench.verification.netpol import End, Labels, decide, pod_end
from devops_bench.verification.scope import Scope
from devops_bench.verification.snapshot import ALL_NAMESPACES
from devops_bench.verification.verdict import Verdict, failed, passed


class Nowhere(ValueError):
    """An end, or its port, that does not exist; the message says which."""


@dataclass(frozen=True, slots=True)
class _World:
    pods: list[dict[str, Any]]
    namespaces: Mapping[str, Labels]
    scope: Scope

    def objects(self, kind: str, namespace: str | None = None) -> list[dict[str, Any]]:
        return self.scope.cluster().objects(kind, namespace or ALL_NAMESPACES, self.scope.deadline)

    def alive(self, namespace: str, selector: str | None) -> list[End]:
        mine = [pod for pod in self.pods if pod["metadata"].get("namespace") == namespace]
        return [pod_end(pod, self.namespaces) for pod in select(mine, None, selector) if _alive(pod)]


def reachable(check: Reachable, scope: Scope) -> Verdict:
    """Every source is tried with every target."""
    cluster, deadline = scope.cluster(), scope.deadline
    spaces = cluster.objects("namespaces", ALL_NAMESPACES, deadline)
    world = _World(
        cluster.objects("pods", ALL_NAMESPACES, deadline),
        {str(item["metadata"]["name"]): item["metadata"].get("labels") or {} for item in spaces},
        scope,
    )
    policies = world.objects("networkpolicies.networking.k8s.io")
    try:
        sources = _ends(check.source, world)
        targets = _targets(check, world)
    except Nowhere as nowhere:
        return failed(str(nowhere))
    wrong = []
    for source in sources:
        for target, port in targets:
            found = decide(policies, source, target, port, check.protocol)
            if found.allowed is not check.allowed:
                wrong.append(f"{source.name} to {target.name}:{port}: {found.by}")
    pairs = len(sources) * len(targets)
    said = "open" if check.allowed else "closed"
    if wrong:
        return failed(f"{len(wrong)} of {pairs} connections are not {said}: {'; '.join(wrong[:2])}")
    return passed(f"all {pairs} connections are {said}")


def _ends(place: Place, world: _World) -> list[End]:
    if place.address is not None:
        return [End(place.address, address=place.address)]
    namespace = str(place.namespace)
    if namespace not in world.namespaces:
        raise Nowhere(f"there is no namespace {namespace}")
    if place.labels is not None:
        return [End(f"a pod of {namespace}", namespace, place.labels, world.namespaces[namespace])]
    found = world.alive(namespace, place.selector)
    if not found:
        raise Nowhere(f"no pod {f'with {place.selector} ' if place.selector else ''}runs in {namespace}")
    return found


def _targets(check: Reachable, world: _World) -> list[tuple[End, int]]:
    place, port = check.target, check.port
    if place.service is not None:
        return _endpoints(str(place.namespace), place.service, port, check.protocol, world)
    found = []
    for end in _ends(place, world):
        number = end.ports.get((port, check.protocol)) if isinstance(port, str) else port
        if number is None:
            raise Nowhere(f"{end.name} has no port {port}/{check.protocol}")
        found.append((end, number))
    return found


def _endpoints(namespace: str, name: str, port: int | str, protocol: str, world: _World) -> list[tuple[End, int]]:
    """What a connection to the Service's port ends at: the ready endpoints of its slices."""
    services = select(world.objects("services", namespace), name, None)
    if not services:
        raise Nowhere(f"there is no Service {name} in {namespace}")
    ports = [
        item
        for item in (services[0].get("spec") or {}).get("ports") or []
        if (item.get("protocol") or "TCP") == protocol and port in {item.get("port"), item.get("name")}
    ]
    if not ports:
        raise Nowhere(f"Service {name} in {namespace} has no port {port}/{protocol}")
    wanted = ports[0].get("name") or ""
    slices = select(
        world.objects("endpointslices.discovery.k8s.io", namespace), None, f"kubernetes.io/service-name={name}"
    )
    by_name = {end.name: end for end in world.alive(namespace, None)}
    found: dict[tuple[str, int], tuple[End, int]] = {}
    for item in slices:
        numbers = [
            int(one["port"])
            for one in item.get("ports") or []
            if (one.get("name") or "") == wanted and (one.get("protocol") or "TCP") == protocol and one.get("port")
        ]
        for endpoint in item.get("endpoints") or []:
            if (endpoint.get("conditions") or {}).get("ready") is False:
                continue
            pod = by_name.get(f"{namespace}/{(endpoint.get('targetRef') or {}).get('name')}")
            for address in (endpoint.get("addresses") or [])[:1]:
                end = pod or End(str(address), address=str(address))
                found |= {(end.name, number): (end, number) for number in numbers}
    if not found:
        raise Nowhere(f"Service {name} in {namespace} has no ready endpoint for port {port}")
    return list(found.values())


def _alive(pod: dict[str, Any]) -> bool:
    phase = (pod.get("status") or {}).get("phase")
    return phase not in {"Succeeded", "Failed"} and not pod["metadata"].get("deletionTimestamp")

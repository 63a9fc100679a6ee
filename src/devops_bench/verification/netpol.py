"""NetworkPolicy as a function: may this connection be opened? Pure.

Semantics of networking.k8s.io/v1 (https://kubernetes.io/docs/concepts/services-networking/network-policies/): a pod is
isolated for a direction when a policy of its namespace selects it and names that direction; then only what a rule of
such a policy allows gets through, and rules add up. A connection needs the egress side of its source and the ingress
side of its target.

Where the API leaves the choice to the network plugin: an ipBlock matches a pod by its address, too (so 0.0.0.0/0 opens
pods as well); pods on the host's network are never isolated, and only an ipBlock matches them; a pod always
reaches itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from typing import Any

Labels = Mapping[str, str]
INGRESS, EGRESS = "Ingress", "Egress"


@dataclass(frozen=True, slots=True)
class End:
    """One end of a connection. Without `namespace` it is an address outside the cluster.

    `ports` maps (name, protocol) of a pod's container ports to numbers.
    """

    name: str
    namespace: str | None = None
    labels: Labels = field(default_factory=dict)
    namespace_labels: Labels = field(default_factory=dict)
    address: str | None = None
    host_network: bool = False
    ports: Mapping[tuple[str, str], int] = field(default_factory=dict)

    @property
    def selectable(self) -> bool:
        """Whether pod selectors can mean it."""
        return self.namespace is not None and not self.host_network


@dataclass(frozen=True, slots=True)
class Decision:
    """`by` names the policy that allows, or those that isolate without allowing."""

    allowed: bool
    by: str


def decide(policies: Sequence[Mapping[str, Any]], source: End, target: End, port: int, protocol: str) -> Decision:
    """Whether `source` may connect to `port` (a number) of `target`; `policies` are those of all namespaces."""
    if source == target and source.namespace is not None:
        return Decision(True, "a pod reaches itself")
    out = _side(policies, source, target, target, port, protocol, EGRESS)
    if not out.allowed:
        return out
    into = _side(policies, target, source, target, port, protocol, INGRESS)
    return into if not into.allowed or out.by == _OPEN else Decision(True, f"{out.by}; {into.by}")


_OPEN = "not isolated"


def _side(
    policies: Sequence[Mapping[str, Any]], mine: End, other: End, target: End, port: int, protocol: str, direction: str
) -> Decision:
    isolating = [policy for policy in policies if _isolates(policy, mine, direction)]
    if not isolating:
        return Decision(True, _OPEN)
    for policy in isolating:
        for rule in (policy.get("spec") or {}).get(direction.lower()) or []:
            peers = (rule or {}).get("from" if direction == INGRESS else "to") or []
            ports = (rule or {}).get("ports") or []
            if _peers_match(peers, policy, other) and _ports_match(ports, target, port, protocol):
                return Decision(True, f"{direction} by {_name(policy)}")
    return Decision(False, f"{direction} of {mine.name} is closed by {', '.join(_name(item) for item in isolating)}")


def directions(spec: Mapping[str, Any]) -> frozenset[str]:
    """policyTypes, with the API server's default: Ingress always, Egress if there are egress rules."""
    types = spec.get("policyTypes")
    if types:
        return frozenset(types)
    return frozenset({INGRESS, EGRESS} if spec.get("egress") else {INGRESS})


def _isolates(policy: Mapping[str, Any], end: End, direction: str) -> bool:
    spec = policy.get("spec") or {}
    return (
        end.selectable
        and policy["metadata"].get("namespace") == end.namespace
        and direction in directions(spec)
        and selects(spec.get("podSelector") or {}, end.labels)
    )


def _peers_match(peers: Sequence[Mapping[str, Any]], policy: Mapping[str, Any], other: End) -> bool:
    """An empty list is everybody."""
    return not peers or any(_peer_matches(peer, policy, other) for peer in peers)


def _peer_matches(peer: Mapping[str, Any], policy: Mapping[str, Any], other: End) -> bool:
    block = peer.get("ipBlock")
    if block is not None:
        return other.address is not None and in_block(block, other.address)
    pods, spaces = peer.get("podSelector"), peer.get("namespaceSelector")
    if not other.selectable or (pods is None and spaces is None):
        return False
    if spaces is None:
        near = other.namespace == policy["metadata"].get("namespace")
    else:
        near = selects(spaces, other.namespace_labels)
    return near and (pods is None or selects(pods, other.labels))


def in_block(block: Mapping[str, Any], address: str) -> bool:
    """Whether the address is in `cidr` and in none of `except`."""
    found = ip_address(address)

    def holds(cidr: str) -> bool:
        network = ip_network(cidr, strict=False)
        return network.version == found.version and found in network

    return holds(str(block["cidr"])) and not any(holds(str(cidr)) for cidr in block.get("except") or [])


def _ports_match(ports: Sequence[Mapping[str, Any]], target: End, port: int, protocol: str) -> bool:
    """An empty list is every port of every protocol. A name is the target's, so it never means an outside address."""
    return not ports or any(_port_matches(item, target, port, protocol) for item in ports)


def _port_matches(item: Mapping[str, Any], target: End, port: int, protocol: str) -> bool:
    if (item.get("protocol") or "TCP") != protocol:
        return False
    wanted = item.get("port")
    if wanted is None:
        return True
    if isinstance(wanted, str):
        return target.ports.get((wanted, protocol)) == port
    last = item.get("endPort")
    return int(wanted) <= port <= int(last) if last is not None else int(wanted) == port


def selects(selector: Mapping[str, Any], labels: Labels) -> bool:
    """A LabelSelector; an empty one selects everything."""
    wanted = selector.get("matchLabels") or {}
    return all(labels.get(key) == value for key, value in wanted.items()) and all(
        _expression(item, labels) for item in selector.get("matchExpressions") or []
    )


def _expression(item: Mapping[str, Any], labels: Labels) -> bool:
    key, values = str(item["key"]), item.get("values") or []
    match item["operator"]:
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f"label selector operator {other!r} is not known")


def _name(policy: Mapping[str, Any]) -> str:
    metadata = policy["metadata"]
    return f"{metadata.get('namespace')}/{metadata.get('name')}"


def pod_end(pod: Mapping[str, Any], namespaces: Mapping[str, Labels]) -> End:
    """A pod as one end; `namespaces` maps names to labels."""
    metadata, spec, status = pod["metadata"], pod.get("spec") or {}, pod.get("status") or {}
    space = str(metadata.get("namespace"))
    host = bool(spec.get("hostNetwork"))
    return End(
        name=f"{space}/{metadata['name']}",
        namespace=space,
        labels=metadata.get("labels") or {},
        namespace_labels=namespaces.get(space, {}),
        address=status.get("hostIP") if host else status.get("podIP"),
        host_network=host,
        ports=dict(_named_ports(spec)),
    )


def _named_ports(spec: Mapping[str, Any]) -> Iterable[tuple[tuple[str, str], int]]:
    sidecars = [item for item in spec.get("initContainers") or [] if item.get("restartPolicy") == "Always"]
    for container in [*(spec.get("containers") or []), *sidecars]:
        for port in container.get("ports") or []:
            if port.get("name"):
                yield (str(port["name"]), str(port.get("protocol") or "TCP")), int(port["containerPort"])

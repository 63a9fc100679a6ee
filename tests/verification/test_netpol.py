"""The NetworkPolicy evaluator against truth tables that were worked out by hand from the API's documentation."""

from __future__ import annotations

from typing import Any

import pytest

from devops_bench.verification.netpol import End, decide, directions, in_block, pod_end, selects

SPACES = {
    "shop": {"team": "shop"},
    "bank": {"team": "bank", "tier": "pci"},
    "dns": {"kubernetes.io/metadata.name": "dns"},
}


def end(namespace: str, app: str, address: str = "10.0.0.9", *, host: bool = False, **labels: str) -> End:
    ports = {("http", "TCP"): 8080, ("dns", "UDP"): 53, ("dns-tcp", "TCP"): 53}
    return End(f"{namespace}/{app}", namespace, {"app": app, **labels}, SPACES[namespace], address, host, ports)


WEB, API = end("shop", "web", "10.0.0.1"), end("shop", "api", "10.0.0.2")
LEDGER, DNS = end("bank", "ledger", "10.0.1.1"), end("dns", "coredns", "10.0.2.1")
HOST = end("shop", "agent", "192.168.0.5", host=True)
OUT, META = End("203.0.113.7", address="203.0.113.7"), End("169.254.169.254", address="169.254.169.254")


def policy(namespace: str = "shop", name: str = "p", **spec: Any) -> dict[str, Any]:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": spec}


def app(name: str) -> dict[str, Any]:
    return {"matchLabels": {"app": name}}


DENY_IN = policy(podSelector={}, policyTypes=["Ingress"])
DENY_OUT = policy(podSelector={}, policyTypes=["Egress"])
DENY_BOTH = policy(podSelector={}, policyTypes=["Ingress", "Egress"])


def ingress(*rules: Any, select: Any = None, **spec: Any) -> dict[str, Any]:
    return policy(podSelector=select or {}, ingress=list(rules), **spec)


def egress(*rules: Any, select: Any = None, **spec: Any) -> dict[str, Any]:
    return policy(podSelector=select or {}, egress=list(rules), policyTypes=["Egress"], **spec)


HTTP = {"port": 8080}
BANK = {"namespaceSelector": {"matchLabels": {"team": "bank"}}}
ANYWHERE: dict[str, Any] = {"namespaceSelector": {}}
WEBS, APIS, XS = ({"podSelector": app(name)} for name in ("web", "api", "x"))
ALL_BUT_META = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.0.0/16"]}}


def source(peers: list[Any]) -> dict[str, Any]:
    return ingress({"from": peers})


def dest(peers: list[Any]) -> dict[str, Any]:
    return egress({"to": peers})


def ports(items: list[Any]) -> dict[str, Any]:
    return ingress({"ports": items})


# what, policies, source, target, port, protocol, open
TABLE = [
    ("nothing", [], WEB, API, 8080, "TCP", True),
    ("default deny closes ingress", [DENY_IN], WEB, API, 8080, "TCP", False),
    ("and leaves egress open", [DENY_IN], WEB, LEDGER, 8080, "TCP", True),
    ("and egress to the outside", [DENY_IN], WEB, OUT, 443, "TCP", True),
    ("deny egress closes the way out", [DENY_OUT], WEB, OUT, 443, "TCP", False),
    ("deny egress leaves ingress from elsewhere", [DENY_OUT], LEDGER, WEB, 8080, "TCP", True),
    ("a policy is about its namespace only", [DENY_BOTH], LEDGER, DNS, 53, "UDP", True),
    ("a policy is about the pods that it selects", [ingress(select=app("api"))], WEB, WEB, 8080, "TCP", True),
    ("other pods of the namespace stay open", [ingress(select=app("api"))], API, WEB, 8080, "TCP", True),
    ("no ingress rules allow nothing", [ingress(select=app("api"))], WEB, API, 8080, "TCP", False),
    ("an empty rule allows everything", [ingress({})], LEDGER, API, 1, "SCTP", True),
    ("an empty from is everybody", [ingress({"from": [], "ports": [HTTP]})], OUT, API, 8080, "TCP", True),
    ("but only its ports", [ingress({"from": [], "ports": [HTTP]})], OUT, API, 8081, "TCP", False),
    ("a pod reaches itself", [DENY_BOTH], WEB, WEB, 8080, "TCP", True),
    # selectors of peers
    ("podSelector alone: same namespace", [source([WEBS])], WEB, API, 1, "TCP", True),
    ("podSelector alone: not another", [source([{"podSelector": {}}])], LEDGER, API, 1, "TCP", False),
    ("podSelector {} alone: all of it", [source([{"podSelector": {}}])], WEB, API, 1, "TCP", True),
    ("namespaceSelector {}: all namespaces", [source([ANYWHERE])], LEDGER, API, 1, "TCP", True),
    ("but nobody outside", [source([ANYWHERE])], OUT, API, 1, "TCP", False),
    ("both in one item: and", [source([{**BANK, **WEBS}])],
     LEDGER, API, 1, "TCP", False),
    ("both in one item: and, met", [source([{**BANK, "podSelector": app("ledger")}])],
     LEDGER, API, 1, "TCP", True),
    ("two items: or, by the first", [source([BANK, WEBS])],
     LEDGER, API, 1, "TCP", True),
    ("two items: or, by the second", [source([BANK, WEBS])],
     WEB, API, 1, "TCP", True),
    ("two items: or, by neither", [source([BANK, WEBS])],
     DNS, API, 1, "TCP", False),
    ("rules add up within a policy", [ingress({"from": [XS]}, {"from": [WEBS]})], WEB, API, 1, "TCP", True),
    ("policies add up", [DENY_IN, ingress({"from": [WEBS]}, select=app("api"))], WEB, API, 1, "TCP", True),
    ("peers and ports of one rule belong together",
     [ingress({"from": [WEBS], "ports": [HTTP]}, {"from": [XS], "ports": [{"port": 1}]})],
     WEB, API, 1, "TCP", False),
    # ports
    ("TCP is the default protocol", [ports([HTTP])], WEB, API, 8080, "UDP", False),
    ("a protocol alone is all its ports", [ports([{"protocol": "UDP"}])], WEB, API, 999, "UDP", True),
    ("and no other's", [ports([{"protocol": "UDP"}])], WEB, API, 999, "TCP", False),
    ("a named port is the target's", [ports([{"port": "http"}])], WEB, API, 8080, "TCP", True),
    ("a named port elsewhere is closed", [ports([{"port": "http"}])], WEB, API, 8081, "TCP", False),
    ("a name that the pod does not have", [ports([{"port": "grpc"}])], WEB, API, 8080, "TCP", False),
    ("a name has a protocol", [ports([{"port": "dns"}])], WEB, API, 53, "TCP", False),
    ("endPort: below", [ports([{"port": 8000, "endPort": 8079}])], WEB, API, 8080, "TCP", False),
    ("endPort: the last", [ports([{"port": 8000, "endPort": 8080}])], WEB, API, 8080, "TCP", True),
    ("endPort: the first", [ports([{"port": 8080, "endPort": 9000}])], WEB, API, 8080, "TCP", True),
    # egress
    ("egress by name asks the target", [egress({"ports": [{"port": "dns", "protocol": "UDP"}]})],
     WEB, DNS, 53, "UDP", True),
    ("egress by name never means outside", [egress({"ports": [{"port": "http"}]})], WEB, OUT, 8080, "TCP", False),
    ("DNS without TCP", [egress({"to": [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "dns"}}}],
                                 "ports": [{"port": 53, "protocol": "UDP"}]})], WEB, DNS, 53, "TCP", False),
    ("both sides are needed: ingress missing", [dest([APIS]), DENY_IN], WEB, API, 1, "TCP", False),
    ("both sides are needed: egress missing", [DENY_OUT, source([WEBS])], WEB, API, 1, "TCP", False),
    ("both sides there", [dest([APIS]), source([WEBS])],
     WEB, API, 1, "TCP", True),
    ("egress of another namespace", [dest([{"podSelector": app("ledger")}])], WEB, LEDGER, 1, "TCP", False),
    # blocks
    ("a block", [dest([{"ipBlock": {"cidr": "203.0.113.0/24"}}])], WEB, OUT, 443, "TCP", True),
    ("outside of it", [dest([{"ipBlock": {"cidr": "198.51.100.0/24"}}])], WEB, OUT, 443, "TCP", False),
    ("except", [dest([ALL_BUT_META])], WEB, META, 80, "TCP", False),
    ("not except", [dest([ALL_BUT_META])], WEB, OUT, 80, "TCP", True),
    ("a block holds pods by their address", [dest([{"ipBlock": {"cidr": "10.0.1.0/24"}}])],
     WEB, LEDGER, 1, "TCP", True),
    ("another family", [dest([{"ipBlock": {"cidr": "::/0"}}])], WEB, OUT, 1, "TCP", False),
    # pods on the host's network
    ("they are not isolated", [DENY_BOTH], HOST, OUT, 443, "TCP", True),
    ("selectors do not mean them", [source([{"podSelector": {}}])], HOST, API, 1, "TCP", False),
    ("blocks do", [source([{"ipBlock": {"cidr": "192.168.0.0/16"}}])], HOST, API, 1, "TCP", True),
]  # fmt: skip


@pytest.mark.parametrize(("policies", "source", "target", "port", "protocol", "is_open"), [row[1:] for row in TABLE],
                         ids=[row[0] for row in TABLE])  # fmt: skip
def test_truth_table(policies: Any, source: End, target: End, port: int, protocol: str, is_open: bool) -> None:
    found = decide(policies, source, target, port, protocol)
    assert found.allowed is is_open, found.by
    assert decide(list(reversed(policies)), source, target, port, protocol).allowed is is_open


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({}, {"Ingress"}),
        ({"egress": []}, {"Ingress"}),
        ({"egress": [{}]}, {"Ingress", "Egress"}),
        ({"ingress": [{}], "egress": [{}], "policyTypes": ["Egress"]}, {"Egress"}),
        ({"policyTypes": ["Ingress", "Egress"]}, {"Ingress", "Egress"}),
    ],
)
def test_directions_default_as_in_the_api_server(spec: dict[str, Any], wanted: set[str]) -> None:
    assert directions(spec) == wanted


@pytest.mark.parametrize(
    ("expression", "labels", "wanted"),
    [
        ({"key": "a", "operator": "In", "values": ["1", "2"]}, {"a": "2"}, True),
        ({"key": "a", "operator": "In", "values": ["1"]}, {}, False),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, {}, True),
        ({"key": "a", "operator": "NotIn", "values": ["1"]}, {"a": "1"}, False),
        ({"key": "a", "operator": "Exists"}, {"a": ""}, True),
        ({"key": "a", "operator": "Exists"}, {}, False),
        ({"key": "a", "operator": "DoesNotExist"}, {}, True),
        ({"key": "a", "operator": "DoesNotExist"}, {"a": "1"}, False),
    ],
)
def test_label_expressions(expression: dict[str, Any], labels: dict[str, str], wanted: bool) -> None:
    assert selects({"matchExpressions": [expression]}, labels) is wanted
    assert selects({"matchExpressions": [expression], "matchLabels": {"no": "such"}}, labels) is False


def test_addresses_at_the_edges_of_a_block() -> None:
    block = {"cidr": "10.0.0.0/30", "except": ["10.0.0.2/32"]}
    assert [in_block(block, f"10.0.0.{last}") for last in range(5)] == [True, True, False, True, False]


def test_a_pod_becomes_an_end_with_the_ports_of_its_containers_and_sidecars() -> None:
    pod = {
        "metadata": {"namespace": "bank", "name": "x", "labels": {"app": "x"}},
        "spec": {
            "containers": [{"ports": [{"name": "http", "containerPort": 80}, {"containerPort": 81}]}],
            "initContainers": [
                {"restartPolicy": "Always", "ports": [{"name": "dns", "protocol": "UDP", "containerPort": 53}]},
                {"ports": [{"name": "once", "containerPort": 1}]},
            ],
        },
        "status": {"podIP": "10.0.0.1", "hostIP": "192.168.0.1"},
    }
    found = pod_end(pod, SPACES)
    assert found.ports == {("http", "TCP"): 80, ("dns", "UDP"): 53}
    assert (found.namespace_labels, found.address) == (SPACES["bank"], "10.0.0.1")
    pod["spec"]["hostNetwork"] = True  # type: ignore[index]
    assert pod_end(pod, SPACES).address == "192.168.0.1"

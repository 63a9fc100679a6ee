"""The audit log holds what agents did, completely, and little else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.controlplane.planes import Plane, deployment

pytestmark = pytest.mark.kwok


@pytest.fixture(scope="module")
def shop(plane: Plane) -> Iterator[str]:
    """A namespace in which both agents may do everything."""
    plane.kubectl("create", "namespace", "audit")
    for user in ("agent", "agent-mcp"):
        plane.kubectl("-n", "audit", "create", "rolebinding", user, "--clusterrole=admin", f"--user={user}")
    yield "audit"


def since(plane: Plane, act: Callable[[], object]) -> list[dict[str, Any]]:
    """The events that `act` caused, read at the moment it returned."""
    before = len(plane.audit())
    act()
    return plane.audit()[before:]


def test_a_write_is_there_with_bodies_when_it_returns(plane: Plane, shop: str) -> None:
    (event,) = since(
        plane, lambda: plane.kubectl("-n", shop, "create", "configmap", "a", "--from-literal=k=v", user="agent")
    )
    assert event["user"]["username"] == "agent"
    assert (event["level"], event["verb"], event["stage"]) == ("RequestResponse", "create", "ResponseComplete")
    assert event["objectRef"] == {"resource": "configmaps", "namespace": shop, "name": "a", "apiVersion": "v1"}
    assert event["requestObject"]["data"] == {"k": "v"}
    assert event["responseObject"]["data"] == {"k": "v"}
    assert event["responseStatus"]["code"] == 201


def test_reads_are_there_without_bodies(plane: Plane, shop: str) -> None:
    (event,) = since(plane, lambda: plane.kubectl("-n", shop, "get", "secrets", user="agent-mcp"))
    assert event["user"]["username"] == "agent-mcp"
    assert (event["level"], event["verb"]) == ("Metadata", "list")
    assert "responseObject" not in event


def test_refused_requests_are_there(plane: Plane, shop: str) -> None:
    (event,) = since(plane, lambda: plane.kubectl("delete", "node", "gpu-0", user="agent", check=False))
    assert event["responseStatus"]["code"] == 403
    assert (event["verb"], event["objectRef"]["resource"]) == ("delete", "nodes")


def test_harness_and_components_are_not(plane: Plane, shop: str) -> None:
    def act() -> None:
        plane.apply({**deployment("web", "nginx", 2), "metadata": {"name": "web", "namespace": shop}})
        plane.kubectl("-n", shop, "rollout", "status", "deployment/web")
        plane.kubectl("-n", shop, "get", "pods", "--as=agent")

    assert since(plane, act) == []


def test_impersonating_somebody_does_not_hide_the_agent(plane: Plane, shop: str) -> None:
    plane.kubectl("create", "clusterrole", "actor", "--verb=impersonate", "--resource=users")
    plane.kubectl("create", "clusterrolebinding", "actor", "--clusterrole=actor", "--user=agent")
    events = since(plane, lambda: plane.kubectl("get", "nodes", "--as=admin", user="agent", check=False))
    assert [(e["user"]["username"], e["impersonatedUser"]["username"]) for e in events] == [("agent", "admin")]


def test_a_service_account_token_does_not_hide_the_agent(plane: Plane, shop: str) -> None:
    plane.kubectl("-n", shop, "create", "serviceaccount", "robot")
    plane.kubectl("-n", shop, "create", "rolebinding", "robot", "--clusterrole=edit", f"--serviceaccount={shop}:robot")
    minted: list[str] = []
    (event,) = since(
        plane, lambda: minted.append(plane.kubectl("-n", shop, "create", "token", "robot", user="agent").strip())
    )
    assert event["level"] == "Metadata"
    assert minted[0] not in str(plane.audit())

    command = ["-n", shop, "create", "configmap", "b", "--kubeconfig=/dev/null", "--server", plane.ready["server"]]
    events = since(plane, lambda: plane.kubectl(*command, "--insecure-skip-tls-verify", "--token", minted[0]))
    assert [e["user"]["username"] for e in events] == [f"system:serviceaccount:{shop}:robot"]


def test_a_full_log_ends_with_a_marker(start: Callable[..., Plane]) -> None:
    running = start("--audit-max-bytes", "6000")
    for number in range(12):
        running.kubectl("create", "namespace", f"n{number}", user="agent", check=False)
    *events, last = running.audit()
    assert last["kind"] == "Truncated"
    assert 3 <= len(events) < 12
    assert sum("requestObject" in event for event in events) < len(events)

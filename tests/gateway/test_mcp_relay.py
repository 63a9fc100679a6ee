"""The relay as a CLI starts it, inside the agent's sandbox and without one: both ways, whole, ending when it should."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.agents.base import McpGrant
from devops_bench.errors import HarnessError
from devops_bench.gateway.mcp import McpGateway
from devops_bench.sandbox import Sandbox
from devops_bench.sandbox.launch import descendants
from tests.boxes import MakeBox, bare_mode, make_box, mode
from tests.gateway.mcp_parts import RelayPeer, gateway, kill_servers, wait_for

__all__ = ["bare_mode", "make_box", "mode"]
pytestmark = pytest.mark.sandbox


@pytest.fixture
def made(mode_of: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[McpGateway]:
    with gateway(request.getfixturevalue(mode_of), tmp_path, str(tmp_path / "marker")) as it:
        yield it


@pytest.fixture(params=["mode", "bare_mode"], ids=["sandboxed", "bare"])
def mode_of(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def box(mode_of: str, request: pytest.FixtureRequest, make_box: MakeBox, made: McpGateway) -> Sandbox:
    return make_box(request.getfixturevalue(mode_of), reach=(made.endpoint,))


@pytest.fixture
def grant(made: McpGateway, box: Sandbox) -> McpGrant:
    return made.grant(box)


def test_a_conversation_through_the_relay(box: Sandbox, grant: McpGrant, made: McpGateway) -> None:
    with RelayPeer(box, grant) as client:
        client.hello()
        assert client.text("echo", text="through") == "through"
        assert client.end_of_input() == 0
        assert client.process.stderr is not None and client.process.stderr.read() == b""
    assert [call.tool for call in made.calls()] == ["echo"]


def test_nothing_on_the_command_line_is_secret(grant: McpGrant) -> None:
    assert not any(grant.token in word for word in grant.argv)
    assert grant.argv[0] == "/bin/bash"


def test_five_megabytes_go_both_ways(box: Sandbox, grant: McpGrant) -> None:
    with RelayPeer(box, grant) as client:
        client.hello()
        assert client.text("echo", text="z" * 5_000_000) == "z" * 5_000_000


def test_it_ends_with_an_error_when_the_server_is_killed(
    box: Sandbox, grant: McpGrant, made: McpGateway, tmp_path: Path
) -> None:
    with RelayPeer(box, grant) as client:
        client.hello()
        client.send({"id": "x", "method": "tools/call", "params": {"name": "hang"}})
        assert client.call("echo")["result"]
        assert kill_servers(str(tmp_path / "marker")) >= 1, "on a slow host a spare one stands by"
        assert json.loads(client.line(patience=5))["id"] == "x"
        assert client.line(patience=5) == b""
        assert client.process.wait(5) == 1
        assert client.process.stderr is not None
        assert b"the connection has ended" in client.process.stderr.read()
    assert made.problem is not None


def test_it_ends_with_an_error_when_the_gateway_is_gone(box: Sandbox, grant: McpGrant, made: McpGateway) -> None:
    made.__exit__()
    with RelayPeer(box, grant) as client:
        assert client.process.wait(30) == 1


@pytest.mark.parametrize("sig", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_all_of_it(box: Sandbox, grant: McpGrant, made: McpGateway, sig: signal.Signals) -> None:
    with RelayPeer(box, grant) as client:
        client.hello()
        leaf = client.started.tree.leaf
        parts = descendants(leaf)
        assert len(parts) >= 3
        os.kill(leaf, sig)
        assert client.process.stdin is not None
        client.process.stdin.close()
        wait_for(lambda: not any(_runs(pid) for pid in parts))
    wait_for(lambda: made.info()["cpu_sec"] is None or not made._serving._open)


def _runs(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


def test_waiting_takes_no_cpu(box: Sandbox, grant: McpGrant) -> None:
    with RelayPeer(box, grant) as client:
        client.hello()
        parts = descendants(client.started.tree.leaf)
        wait_for(lambda: all(_sleeps(pid) for pid in parts))
        before = [_ticks(pid) for pid in parts]
        for _round in range(20):
            assert client.text("echo", text="tick") == "tick"
        wait_for(lambda: all(_sleeps(pid) for pid in parts))
        spent = sum(_ticks(pid) for pid in parts) - sum(before)
        assert spent <= 20, "clock ticks of 10 ms for 20 calls: nothing turns round"


def _sleeps(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"


def _ticks(pid: int) -> int:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def test_a_sandbox_that_cannot_reach_the_gateway_is_a_mistake_of_ours(
    mode_of: str, request: pytest.FixtureRequest, make_box: MakeBox, made: McpGateway
) -> None:
    box = make_box(request.getfixturevalue(mode_of))
    if box.sandboxed:
        with pytest.raises(HarnessError, match="does not reach the MCP gateway"):
            made.grant(box)
    else:
        assert made.grant(box).argv

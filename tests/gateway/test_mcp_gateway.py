"""The MCP gateway over real server processes: what passes, what is recorded, what is reported when a server fails."""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devops_bench.errors import ConfigError
from devops_bench.gateway.mcp import McpGateway, McpLimits, McpStatus, McpUnavailable, ProblemKind
from devops_bench.redact import Redactor
from devops_bench.sandbox import SandboxMode
from tests.boxes import bare_mode, mode
from tests.gateway.mcp_parts import Heard, SocketPeer, gateway, kill_servers, servers, wait_for

__all__ = ["bare_mode", "mode"]
pytestmark = pytest.mark.sandbox


@pytest.fixture(params=["sandboxed", "bare"])
def any_mode(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue("mode" if request.param == "sandboxed" else "bare_mode")


@contextlib.contextmanager
def peer(made: McpGateway) -> Iterator[SocketPeer]:
    with SocketPeer(made.grant()) as client:
        client.hello()
        yield client


def lines(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "mcp.jsonl").read_text().splitlines()]


def test_the_grant_names_what_the_server_offers(any_mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(any_mode, tmp_path) as made:
        grant = made.grant()
        assert grant.server == "k8s"
        assert grant.tools[:3] == ("echo", "big", "die")
        assert grant.token not in repr(grant)
        assert made.problem is None
    assert not (tmp_path / "mcp").exists(), "the server's private files go with it"


def test_tools_on_several_pages_are_all_granted(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, "--pages") as made:
        assert len(made.grant().tools) == 10


def test_every_call_is_recorded_with_arguments_result_and_status(any_mode: SandboxMode, tmp_path: Path) -> None:
    heard = Heard()
    with gateway(any_mode, tmp_path, on_event=heard) as made, peer(made) as client:
        assert client.text("echo", text="hällo") == "hällo"
        assert client.call("fail")["result"]["isError"] is True
        first, second = made.calls()
    assert (first.tool, first.arguments, first.result, first.status) == ("echo", {"text": "hällo"}, "hällo", "ok")
    assert (second.tool, second.result, second.status, made.count) == ("fail", "it went wrong", McpStatus.ERROR, 2)
    kept = lines(tmp_path)
    assert [(line["id"], line["tool"], line["status"]) for line in kept] == [
        ("1", "echo", "ok"),
        ("2", "fail", "error"),
    ]
    assert kept[0]["arguments"] == {"text": "hällo"} and kept[0]["time"].endswith("Z")
    assert [fields.get("status") for kind, fields in heard.events if kind == "mcp_call"] == [None, "ok", None, "error"]
    assert (tmp_path / "mcp.jsonl").stat().st_mode & 0o777 == 0o600
    assert made.problems == ()


def test_secrets_do_not_reach_the_record(mode: SandboxMode, tmp_path: Path) -> None:
    redactor = Redactor({"SOME_API_KEY": "hunter2-hunter2"})
    with gateway(mode, tmp_path, redactor=redactor) as made, peer(made) as client:
        assert client.text("echo", text="hunter2-hunter2") == "hunter2-hunter2", "the conversation itself is unchanged"
    assert "hunter2" not in (tmp_path / "mcp.jsonl").read_text() + repr(made.calls())


def test_a_record_that_cannot_be_written_is_reported(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, record=Path("/dev/full")) as made, peer(made) as client:
        assert client.text("echo", text="unseen") == "unseen"
        assert made.problems[0].kind is ProblemKind.RECORD
        assert "No space left on device" in made.problems[0].text
    assert [call.result for call in made.calls()] == ["unseen"]


def test_messages_pass_byte_for_byte(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path) as made, peer(made) as client:
        client.raw(b'{ "jsonrpc":"2.0",  "id" : "odd id", "method":"x/y","params":{"z":1,"a":"\\u00e4"}}\n')
        said = client.line()
        # The server puts a blank after each comma and none after a colon; a gateway that rewrites would not.
        assert said.startswith(b'{"jsonrpc":"2.0", "id":"odd id", "result":{"was":{"jsonrpc":"2.0", "id":"odd id"')
        assert json.loads(said)["result"]["was"]["params"] == {"z": 1, "a": "ä"}


def test_batches_progress_and_requests_of_the_server_pass(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path) as made, peer(made) as client:
        calls = [
            {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "echo", "arguments": {"text": id}}}
            for id in ("a", "b")
        ]
        client.send(calls)
        assert [client.receive()["id"], client.receive()["id"]] == ["a", "b"]
        client.send({"id": 7, "method": "tools/call", "params": {"name": "ask"}})
        assert client.receive() == {"jsonrpc": "2.0", "id": "s1", "method": "roots/list"}
        client.send({"id": "s1", "result": {"roots": []}})
        assert json.loads(client.receive()["result"]["content"][0]["text"])["result"] == {"roots": []}
        params = {"name": "progress", "_meta": {"progressToken": "p"}}
        client.send({"id": 8, "method": "tools/call", "params": params})
        assert client.receive()["method"] == "notifications/progress"
        assert client.receive()["id"] == 8
        assert [call.tool for call in made.calls()] == ["echo", "echo", "ask", "progress"]


def test_five_megabytes_pass_whole_and_are_recorded_shortened(any_mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(any_mode, tmp_path) as made, peer(made) as client:
        assert len(client.text("big", bytes=5_000_000)) == 5_000_000
        assert client.text("echo", text="y" * 5_000_000) == "y" * 5_000_000
        first, second = made.calls()
    assert "characters left out" in first.result and len(first.result) < 70_000
    assert second.arguments["characters"] > 5_000_000
    assert (tmp_path / "mcp.jsonl").stat().st_size < 400_000


def test_lines_that_are_no_json_do_not_disturb_the_client(mode: SandboxMode, tmp_path: Path) -> None:
    heard = Heard()
    with gateway(mode, tmp_path, "--garbage", "--flood", on_event=heard) as made, peer(made) as client:
        assert client.text("echo", text="still here") == "still here"
    assert "noise" in heard.states() and made.problem is None


@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--die", r"it ended before it answered initialize \(exit 1\): no such cluster: check --context"),
        ("--hang", r"did not answer within 2 s"),
        ("--no-tools", r"it has no tools"),
    ],
)
def test_a_server_that_does_not_come_up_is_a_failed_setup(
    any_mode: SandboxMode, tmp_path: Path, flag: str, says: str
) -> None:
    limits = McpLimits(startup=2 if flag == "--hang" else 60)
    with gateway(any_mode, tmp_path, flag, limits=limits) as made:
        with pytest.raises(McpUnavailable, match=says) as caught:
            made.grant()
        assert "\n" not in str(caught.value)
        assert made.problems[0].kind is ProblemKind.START


def test_a_slow_server_is_up_before_the_cli_connects(mode: SandboxMode, tmp_path: Path) -> None:
    home = tmp_path / "mcp/home"
    home.mkdir(parents=True, mode=0o700)
    gate = home / "gate"
    os.mkfifo(gate)
    heard = Heard()
    with gateway(mode, tmp_path, "--gate", "/home/agent/gate", on_event=heard) as made:
        held = os.open(gate, os.O_RDWR)  # opens it for every instance from now on
        try:
            assert heard.states() == []
            made.grant()
            wait_for(lambda: len(list(home.glob("passed*"))) == 2)
            gate.unlink()  # whoever starts only now would never come up
            with peer(made) as client:
                assert client.text("echo", text="warm") == "warm"
        finally:
            os.close(held)


def test_a_server_that_dies_in_a_call_is_told_to_the_client_and_reported(any_mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(any_mode, tmp_path) as made, peer(made) as client:
        reply = client.call("die")
        assert "the MCP server ended (exit 3): the disk is on fire" in reply["error"]["message"]
        assert client.line() == b"", "and then the connection ends"
        assert [problem.kind for problem in made.problems] == [ProblemKind.DIED]
        assert [(call.tool, call.status) for call in made.calls()] == [("die", McpStatus.ERROR)]
        with peer(made) as again:
            assert again.text("echo", text="new server") == "new server"
        assert made.calls()[-1].connection == 2


def test_a_killed_server_is_noticed_at_once(any_mode: SandboxMode, tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    with gateway(any_mode, tmp_path, marker) as made, peer(made) as client:
        client.send({"id": "x", "method": "tools/call", "params": {"name": "hang"}})
        assert client.call("echo", text="it has heard the other")["result"]
        assert kill_servers(marker) >= 1, "on a slow host a spare one stands by"
        reply = json.loads(client.line(patience=5))
        assert reply["id"] == "x" and "the MCP server ended (exit 137)" in reply["error"]["message"]
        assert made.problem is not None


def test_a_call_has_a_limit(any_mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(any_mode, tmp_path, limits=McpLimits(call=0.5)) as made, peer(made) as client:
        reply = client.call("hang")
        assert reply["error"] == {"code": -32001, "message": "the MCP server did not answer within 0.5 s"}
        assert client.text("echo", text="on") == "on"
        assert [call.status for call in made.calls()] == [McpStatus.TIMEOUT, McpStatus.OK]
    assert made.problem is None, "the server lives: the model gave it long work"


def test_a_hanging_server_is_reported(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, limits=McpLimits(call=0.5, ping=0.5)) as made, peer(made) as client:
        assert "did not answer within 0.5 s" in client.call("freeze")["error"]["message"]
        wait_for(lambda: made.problems)
        assert made.problems[0].kind is ProblemKind.TIMEOUT
        assert made.problem == "the MCP server did not answer within 0.5 s (freeze), nor a ping"


def test_a_hanging_server_is_reported_though_the_client_leaves_before_it_is_known(
    mode: SandboxMode, tmp_path: Path
) -> None:
    with gateway(mode, tmp_path, limits=McpLimits(call=0.5, ping=2.0)) as made:
        with peer(made) as client:
            assert "did not answer within 0.5 s" in client.call("freeze")["error"]["message"]
        with peer(made) as another:
            assert another.text("echo", text="the other's end was heard") == "the other's end was heard"
    assert made.problem == "the MCP server did not answer within 0.5 s (freeze), nor a ping"


def test_a_server_that_was_only_slow_is_not_blamed_when_the_client_leaves(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, limits=McpLimits(call=0.5)) as made, peer(made) as client:
        assert "did not answer within 0.5 s" in client.call("hang")["error"]["message"]
    assert made.problem is None


def test_messages_have_a_limit_both_ways(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, limits=McpLimits(message=1 << 20, request=1 << 20)) as made:
        with peer(made) as client:
            assert "larger than 1048576 bytes" in client.call("big", bytes=2_000_000)["error"]["message"]
        assert made.problem is None, "the model asked for it"
        with peer(made) as client, contextlib.suppress(ConnectionError):
            client.raw(b"x" * (3 << 20))
            assert client.line() == b""
        assert made.problem is None, "what the client sends is not the server's fault"


def test_what_goes_wrong_on_a_connection_of_the_agent_s_voids_nothing(mode: SandboxMode, tmp_path: Path) -> None:
    heard = Heard()
    limits = McpLimits(call=0.5, ping=0.5)
    with gateway(mode, tmp_path, limits=limits, on_event=heard) as made, peer(made) as cli:
        made.agent_acts()
        with peer(made) as client:
            assert "exit 3" in client.call("die")["error"]["message"]
        with peer(made) as client:
            client.call("freeze")
            wait_for(lambda: made.info()["problems_of_others"] == 2)
        assert made.problem is None and heard.states().count("died") == 1, "told, but no reason to judge nothing"
        assert cli.text("echo", text="the CLI's own lives") == "the CLI's own lives"
        assert "exit 3" in cli.call("die")["error"]["message"]
        assert [problem.kind for problem in made.problems] == [ProblemKind.DIED], "its server died, whoever acts"


def test_only_allowed_tools_are_listed_and_called(mode: SandboxMode, tmp_path: Path) -> None:
    with gateway(mode, tmp_path, allowed_tools=("bash", "echo", "mcp__k8s__fail")) as made, peer(made) as client:
        assert made.grant().tools == ("echo", "fail")
        assert [tool["name"] for tool in client.ask("tools/list")["result"]["tools"]] == ["echo", "fail"]
        refused = client.call("run", code="out = 1")["result"]
        assert refused == {"content": [{"type": "text", "text": "the tool 'run' is not allowed here"}], "isError": True}
        assert client.text("echo", text="yes") == "yes"
        assert [call.status for call in made.calls()] == [McpStatus.BLOCKED, McpStatus.OK]


def test_allowed_tools_that_leave_none_are_a_mistake(mode: SandboxMode, tmp_path: Path) -> None:
    no_tool = pytest.raises(ConfigError, match="leaves no tool of the MCP server")
    with gateway(mode, tmp_path, allowed_tools=("bash",)) as made, no_tool:
        made.grant()


def test_the_guard_refuses_calls_and_a_broken_guard_refuses_all(mode: SandboxMode, tmp_path: Path) -> None:
    def guard(tool: str, args: Any) -> str | None:
        if tool == "fail":
            raise KeyError(tool)
        return "that cluster is not yours" if args.get("text") == "other" else None

    with gateway(mode, tmp_path, guard=guard) as made, peer(made) as client:
        assert client.text("echo", text="mine") == "mine"
        assert client.text("echo", text="other") == "that cluster is not yours"
        assert made.problem is None
        assert client.call("fail")["result"]["isError"] is True
        assert made.problems[0].kind is ProblemKind.GUARD
        assert [call.status for call in made.calls()] == [McpStatus.OK, McpStatus.BLOCKED, McpStatus.BLOCKED]


def test_connections_are_bounded(mode: SandboxMode, tmp_path: Path) -> None:
    heard = Heard()
    with (
        gateway(mode, tmp_path, limits=McpLimits(connections=2), on_event=heard) as made,
        contextlib.ExitStack() as all,
    ):
        for _number in range(2):
            all.enter_context(peer(made))
        with SocketPeer(made.grant()) as third:
            assert third.line() == b""
        assert heard.states()[-1] == "refused"


@pytest.mark.parametrize("token", ["", "wrong", "0" * 64])
def test_without_the_token_nobody_is_served(mode: SandboxMode, tmp_path: Path, token: str) -> None:
    with gateway(mode, tmp_path) as made, SocketPeer(made.grant(), token=token) as client:
        with contextlib.suppress(OSError):  # it may be closed already, which a shutdown calls "not connected"
            client.send({"id": 1, "method": "tools/list"})
            client.socket.shutdown(socket.SHUT_WR)
        assert client.line() == b""
        assert made.calls() == ()


def test_a_flood_of_strangers_is_turned_away(mode: SandboxMode, tmp_path: Path) -> None:
    limits = McpLimits(connections=1, strangers=3)
    with gateway(mode, tmp_path, limits=limits) as made, contextlib.ExitStack() as open_:
        grant = made.grant()
        silent = [open_.enter_context(socket.create_connection(grant.address, timeout=60)) for _number in range(10)]
        turned = [one for one in silent if _is_closed(one)]
        assert len(turned) >= 6
        for one in silent:
            one.close()
        wait_for(lambda: _served(made))


def _is_closed(one: socket.socket) -> bool:
    return bool(select.select([one], [], [], 1.0)[0]) and one.recv(1) == b""


def _served(made: McpGateway) -> bool:
    with SocketPeer(made.grant()) as client, contextlib.suppress(ConnectionError, AssertionError):
        client.hello()
        return client.text("echo", text="yes") == "yes"
    return False


def test_nothing_is_left_when_the_gateway_closes(any_mode: SandboxMode, tmp_path: Path) -> None:
    marker = str(tmp_path / "marker")
    with gateway(any_mode, tmp_path, marker) as made, SocketPeer(made.grant()) as client:
        client.hello()
        client.send({"id": "x", "method": "tools/call", "params": {"name": "hang"}})
        assert client.call("echo")["result"]
        assert servers(marker)
    assert servers(marker) == []
    assert [call.tool for call in made.calls()] == ["echo", "hang"], "a call without an answer is in the record too"
    assert made.info()["cpu_sec"] is None or made.info()["cpu_sec"] > 0

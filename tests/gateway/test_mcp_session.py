"""One connection as a state machine, with a clock of the test's own."""

from __future__ import annotations

import json
from typing import Any

from devops_bench.gateway.mcp.policy import Policy
from devops_bench.gateway.mcp.session import Moves, Session
from devops_bench.gateway.mcp.types import McpStatus, ProblemKind


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def session(clock: Clock | None = None, **rules: Any) -> Session:
    clock = clock or Clock()
    return Session(1, Policy(**rules), cap=1000, wall=clock, clock=clock)


def line(**item: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **item}).encode() + b"\n"


def call(id: Any, tool: str = "t", **args: Any) -> bytes:
    return line(id=id, method="tools/call", params={"name": tool, "arguments": args})


def reply(id: Any, text: str = "ok") -> bytes:
    return line(id=id, result={"content": [{"type": "text", "text": text}]})


def test_what_passes_passes_unchanged() -> None:
    one = session()
    odd = b'{"method" : "x","jsonrpc":"2.0", "id":5}\n'
    assert one.from_client(odd).to_server == [odd]
    answer = b'{ "id":5,"result":{} ,"jsonrpc":"2.0"}\n'
    assert one.from_server(answer).to_client == [answer]
    assert one.from_client(odd.rstrip(b"\n").replace(b"5", b"6")).to_server == [odd.replace(b"5", b"6")]


def test_a_call_is_recorded_when_its_answer_comes() -> None:
    clock = Clock()
    one = session(clock)
    assert one.from_client(call(1, a=2)).ended == []
    clock.now += 1.5
    (ended,) = one.from_server(reply(1, "done")).ended
    assert (ended.tool, ended.arguments, ended.result, ended.status) == ("t", {"a": 2}, "done", McpStatus.OK)
    assert (ended.time, ended.duration, ended.id, ended.connection) == (100.0, 1.5, "1", 1)
    assert one.waiting == 0


def test_an_id_in_use_is_refused_so_that_results_cannot_be_exchanged() -> None:
    one = session()
    one.from_client(call(1, "first"))
    moves = one.from_client(call(1, "second"))
    assert moves.to_server == []
    assert "in use" in moves.to_client[0].decode()
    assert [ended.status for ended in moves.ended] == [McpStatus.BLOCKED]
    assert one.from_client(call("1", "third")).to_server, "text and number are two ids"
    assert one.from_server(reply(1)).ended[0].tool == "first"
    assert one.from_server(reply("1")).ended[0].tool == "third"


def test_a_cancelled_call_that_is_answered_all_the_same_is_recorded_as_answered() -> None:
    one = session()
    one.from_client(call(1))
    cancel = line(method="notifications/cancelled", params={"requestId": 1})
    assert one.from_client(cancel).to_server == [cancel]
    (ended,) = one.from_server(reply(1, "it was done")).ended
    assert (ended.result, ended.status) == ("it was done", McpStatus.OK)


def test_a_cancelled_call_without_an_answer_has_no_time_limit() -> None:
    one = session()
    (request,) = one.from_client(call(1)).began
    one.from_client(line(method="notifications/cancelled", params={"requestId": 1}))
    assert one.expire(request, 5) == Moves()
    assert [ended.result for ended in one.end("over").ended] == ["[cancelled by the client]"]


def test_a_late_answer_is_dropped_after_the_time_limit() -> None:
    one = session()
    (request,) = one.from_client(call(1)).began
    moves = one.expire(request, 5)
    assert json.loads(moves.to_client[0])["error"]["code"] == -32001
    assert json.loads(moves.to_server[0])["params"]["requestId"] == 1
    assert moves.problems == [], "long work is not a hang"
    assert moves.ended[0].status is McpStatus.TIMEOUT
    assert one.from_server(reply(1)) == Moves()
    assert one.expire(request, 5) == Moves()
    assert "in use" in one.from_client(call(1)).to_client[0].decode(), "its id is never used again"


def test_a_server_that_answers_no_ping_either_hangs() -> None:
    one = session()
    (request,) = one.from_client(call(1)).began
    moves = one.expire(request, 5)
    ping = json.loads(moves.to_server[1])
    assert ping["method"] == "ping"
    (problem,) = one.silent(moves.pings[0]).problems
    assert problem == (ProblemKind.TIMEOUT, "the MCP server did not answer within 5 s (t), nor a ping")
    assert one.silent(moves.pings[0]) == Moves()


def test_a_client_that_leaves_after_waiting_in_vain_has_the_server_asked() -> None:
    clock = Clock()
    one = session(clock)
    one.from_client(call(1))
    clock.now += 9
    assert one.overdue(10) == Moves(), "it might have answered yet"
    clock.now += 3
    moves = one.overdue(10)
    assert json.loads(moves.to_server[0])["method"] == "ping" and one.asked(moves.pings[0])
    (problem,) = one.silent(moves.pings[0]).problems
    assert problem[0] is ProblemKind.TIMEOUT
    assert "did not answer for 12 s (t) until the agent ended, nor a ping" in problem[1]
    alive = one.overdue(10)
    assert one.from_server(line(id=json.loads(alive.to_server[0])["id"], result={})) == Moves()
    assert not one.asked(alive.pings[0]) and one.silent(alive.pings[0]) == Moves()


def test_the_answer_to_a_ping_of_ours_is_not_the_client_s() -> None:
    one = session()
    (request,) = one.from_client(call(1)).began
    moves = one.expire(request, 5)
    assert one.from_server(line(id=json.loads(moves.to_server[1])["id"], result={})) == Moves()
    assert one.silent(moves.pings[0]) == Moves()


def test_a_server_that_does_not_initialize_in_time_is_a_problem() -> None:
    one = session()
    (request,) = one.from_client(line(id=0, method="initialize", params={})).began
    moves = one.expire(request, 5)
    assert (moves.pings, moves.ended) == ([], [])
    assert moves.problems[0][1] == "the MCP server did not answer within 5 s (initialize)"


def test_the_limit_of_an_answered_request_does_nothing() -> None:
    one = session()
    (request,) = one.from_client(call(1)).began
    one.from_server(reply(1))
    (again,) = one.from_client(call(1)).began
    assert one.expire(request, 5) == Moves()
    assert one.expire(again, 5).ended


def test_a_refused_part_of_a_batch_does_not_hold_back_the_rest() -> None:
    one = session(guard=lambda tool, _args: "no" if tool == "bad" else None)
    items = [json.loads(part) for part in (call(1, "good"), call(2, "bad"), line(id=3, method="ping"))]
    moves = one.from_client(json.dumps(items).encode() + b"\n")
    assert [item["id"] for item in json.loads(moves.to_server[0])] == [1, 3]
    assert json.loads(moves.to_client[0])["result"]["isError"] is True
    assert [(ended.tool, ended.status) for ended in moves.ended] == [("bad", McpStatus.BLOCKED)]
    batch = json.dumps([json.loads(reply(1)), {"jsonrpc": "2.0", "id": 3, "result": {}}]).encode() + b"\n"
    moves = one.from_server(batch)
    assert moves.to_client == [batch]
    assert [ended.tool for ended in moves.ended] == ["good"]


def test_a_message_that_is_refused_is_visible_in_the_record() -> None:
    moves = session().from_client(b'{"jsonrpc":"2.0","id":9,"Method":"tools/call"}\n')
    assert moves.to_server == []
    assert json.loads(moves.to_client[0])["id"] == 9
    assert (moves.ended[0].tool, moves.ended[0].status) == ("", McpStatus.BLOCKED)


def test_tools_that_are_not_allowed_are_not_listed() -> None:
    one = session(tools=frozenset({"a"}))
    one.from_client(line(id=1, method="tools/list"))
    tools = [{"name": "a", "title": "A"}, {"name": "b"}]
    moves = one.from_server(line(id=1, result={"tools": tools, "nextCursor": "2"}))
    assert json.loads(moves.to_client[0])["result"] == {"tools": [{"name": "a", "title": "A"}], "nextCursor": "2"}


def test_a_reply_that_holds_the_server_s_credentials_is_withheld() -> None:
    one = session(needles=(b"c2VjcmV0LWtleQ",))
    one.from_client(call(1))
    moves = one.from_server(reply(1, "key: c2VjcmV0LWtleQ=="))
    assert b"c2VjcmV0" not in b"".join(moves.to_client)
    assert json.loads(moves.to_client[0])["result"]["isError"] is True
    assert moves.ended[0].status is McpStatus.BLOCKED
    assert "c2VjcmV0" not in moves.ended[0].result
    log = one.from_server(line(method="notifications/message", params={"data": "c2VjcmV0LWtleQ"}))
    assert b"c2VjcmV0" not in b"".join(log.to_client)


def test_the_end_tells_all_who_wait() -> None:
    one = session()
    one.from_client(call(1))
    one.from_client(line(id=2, method="resources/list"))
    moves = one.end("the server is gone")
    assert [json.loads(out)["id"] for out in moves.to_client] == [1, 2]
    assert [(ended.id, ended.status) for ended in moves.ended] == [("1", McpStatus.ERROR)]
    assert one.end("again") == Moves()


def test_noise_of_the_server_is_counted_and_left_out() -> None:
    one = session()
    for noise in (b"starting...\n", b"{}\n", b"[1]\n", b"\n"):
        assert one.from_server(noise) == Moves()
    assert one.ignored == 3

"""The gateway in front of a provider: what passes unchanged, what never passes, and how failures end a run."""

from __future__ import annotations

import gzip
import json
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from devops_bench.gateway.model import Patience
from devops_bench.models.http import Connection, Request
from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer
from devops_bench.redact import Redactor
from tests.models.clients import CLIENTS

from .provider import KEY, Provider, ask, chat, forwarding, resolved, wait_for

REPLY = (
    b'{"id":"x", "object":"chat.completion","model":"m-1-0601","choices":[ {"index":0,"finish_reason":"stop",'
    b'"message":{"role":"assistant","content":"caf\xc3\xa9"}}],"usage":{"prompt_tokens":7,"completion_tokens":2}}\n'
)
EVENTS = [
    b'data: {"model":"m-1","choices":[{"index":0,"delta":{"content":"one "}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"two"},"finish_reason":"stop"}]}\n\n',
    b'data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}\n\ndata: [DONE]\n\n',
]
SSE = "text/event-stream"


def replying(body: bytes = REPLY, **more: Any):
    return lambda connection, _request: connection.send(more.get("status", 200), body, extra=more.get("extra"))


def hanging(connection: Connection, _request: Request) -> None:
    connection.keep = False
    connection.wait_gone(60)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", sorted(CLIENTS))
def test_vendors_clients_reach_the_provider_with_the_real_key(wire: str, stream: bool) -> None:
    player = {"turns": [{"text": "I look.", "shell": "date"}, "It was {{last_result}}."]}
    with ScriptedServer({"m-1": scenario("m-1", player)}, token=KEY) as server:
        base = server.url + ("/v1" if wire.startswith("openai") else "")
        with (
            forwarding(resolved(base, wire), wire) as one,
            CLIENTS[wire](one.base_url(), "m-1", key=one.token) as client,
        ):
            first, last = client.play("go", stream, [["noon"]])
            seen, token = one.exchanges(), one.token
        assert first.calls[0][2] == {"command": "date"} and last.text == "It was noon."
        assert [e.text for e in seen] == ["I look.", "It was noon."] and not any(e.fault for e in seen)
        for request in server.requests:
            assert token not in json.dumps(dict(request.headers)) + request.body


def test_bytes_pass_as_they_are() -> None:
    body = b'{"model": "m-1",\n  "messages":[ {"role":"user","content":"\\u00e9 \xc3\xa9"} ], "x":1e2}'
    extra = {"X-Request-Id": "abc", "X-Odd": "a;b=c", "Set-Cookie": "s=1"}
    with Provider(replying(extra=extra)) as provider, forwarding(resolved(provider.url + "/v1")) as one:
        reply = ask(
            one, content=body, body="", path="/v1/chat/completions?beta=true&key=secret&fields=choices&%24alt=a%2Fb"
        )
        assert reply.content == REPLY
        assert reply.headers["x-request-id"] == "abc" and reply.headers["x-odd"] == "a;b=c"
        assert "set-cookie" not in reply.headers
        (request,) = provider.requests
        assert request.body == body and request.target == "/v1/chat/completions?beta=true&%24alt=a%2Fb"
        (exchange,) = one.exchanges()
    assert exchange.text == "café" and exchange.served_model == "m-1-0601" and exchange.tokens.total == 9


def test_headers_of_the_hop_and_of_the_client_stay_behind() -> None:
    with Provider(replying()) as provider, forwarding(resolved(provider.url)) as one:
        headers = {
            "x-api-key": "mine", "x-goog-api-key": "mine", "Cookie": "a=b", "Connection": "x-hop", "x-hop": "1",
            "TE": "trailers", "Proxy-Authorization": "Basic x", "X-Copy": f"Bearer {one.token}", "X-Stay": "yes",
            "Accept-Encoding": "br", "X-Goog-User-Project": "other", "OpenAI-Organization": "other",
            "OpenAI-Project": "other",
        }  # fmt: skip
        assert ask(one, headers=headers).status_code == 200
        got = provider.requests[0].headers
    assert got["x-stay"] == "yes" and got["authorization"] == f"Bearer {KEY}"
    assert got["accept-encoding"] == "identity" and got["host"] == f"127.0.0.1:{provider.port}"
    dropped = {"x-api-key", "x-goog-api-key", "cookie", "x-hop", "te", "proxy-authorization", "x-copy"}
    assert not dropped & set(got) and not [name for name in got if name.startswith(("x-goog-", "openai-"))]


def test_the_real_key_never_comes_back(tmp_path: Path) -> None:
    def echo(connection: Connection, request: Request) -> None:
        told = request.headers["authorization"]
        if "stream" in json.loads(request.body):
            connection.begin_fields(200, [("Content-Type", SSE), ("X-Echo", told)])
            event = json.dumps({"choices": [{"delta": {"content": told}, "finish_reason": "stop"}]}).encode()
            for at in range(0, len(event), 7):
                connection.chunk((b"data: " if at == 0 else b"") + event[at : at + 7])
            connection.chunk(b"\n\n")
            connection.end()
        elif len(provider.requests) < 4:
            body = json.dumps({"error": {"message": f"bad key {told}"}}).encode()
            connection.send(400, body, extra={"X-Echo": told})
        else:
            connection.send(200, REPLY.replace(b"caf", told.encode()), extra={"X-Echo": told})

    record = tmp_path / "record.jsonl"
    with (
        Provider(echo) as provider,
        forwarding(resolved(provider.url), record=record, redactor=Redactor()) as one,
    ):
        seen = [ask(one, chat(stream=True)), ask(one), ask(one, path="/v1/responses/input_tokens"), ask(one), ask(one)]
        texts = [f"{reply.headers}{reply.text}" for reply in seen]
        exchanges = repr(one.exchanges()) + str(one.end) + "".join(e.error for e in one.exchanges())
    assert [reply.status_code for reply in seen] == [200, 400, 404, 400, 200]
    assert all(KEY not in text for text in texts) and "[OPENAI_API_KEY]" in texts[0] and "bad key" in texts[1]
    assert "Bearer [OPENAI_API_KEY]" in seen[4].headers["x-echo"]
    assert KEY not in record.read_text() and KEY not in exchanges


def test_each_portion_of_a_stream_passes_before_the_next_comes() -> None:
    turns = [threading.Event() for _ in EVENTS]

    def slowly(connection: Connection, _request: Request) -> None:
        connection.begin(SSE)
        for turn, event in zip(turns, EVENTS, strict=True):
            assert turn.wait(30)
            connection.chunk(event)
        connection.end()

    with Provider(slowly) as provider, forwarding(resolved(provider.url)) as one:
        headers = {"Authorization": f"Bearer {one.token}"}
        with httpx.stream(
            "POST", f"{one.base_url()}/chat/completions", json=chat(stream=True), headers=headers, timeout=30
        ) as reply:
            portions, got = reply.iter_raw(), b""
            texts = []
            for turn, event in zip(turns, EVENTS, strict=True):
                turn.set()
                while not got.endswith(event):
                    got += next(portions)
                texts.append(one.exchanges()[0].text)
            assert got == b"".join(EVENTS)
    assert texts == ["one ", "one two", "one two"]


@pytest.mark.parametrize("begun", [False, True])
def test_a_client_that_vanishes_frees_the_provider(begun: bool) -> None:
    dropped = threading.Event()

    def thinking(connection: Connection, _request: Request) -> None:
        connection.keep = False
        if begun:
            connection.begin(SSE)
            connection.chunk(EVENTS[0])
        connection.wait_gone(60)
        dropped.set()

    with Provider(thinking) as provider, forwarding(resolved(provider.url)) as one:
        body = json.dumps(chat(stream=True)).encode()
        with socket.create_connection(one.address) as sock:
            head = (
                f"POST /v1/chat/completions HTTP/1.1\r\nx-api-key: {one.token}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            sock.sendall(head.encode() + body)
            wait_for(lambda: provider.requests)
            if begun:
                assert sock.recv(10)
        assert dropped.wait(30)
        wait_for(lambda: one.exchanges()[0].fault)
        assert one.exchanges()[0].fault == "gone" and one.end is None
        assert one.exchanges()[0].text == ("one " if begun else "")


def test_connections_are_kept_and_a_stale_one_is_replaced() -> None:
    connections: list[int] = []

    def handle(connection: Connection, _request: Request) -> None:
        connections.append(id(connection.socket))
        connection.send(200, REPLY)
        if len(connections) == 3:
            connection.drop()

    with Provider(handle) as provider, forwarding(resolved(provider.url)) as one:
        assert [ask(one).status_code for _ in range(5)] == [200] * 5
    assert len(set(connections)) == 2 and connections[0] == connections[2] != connections[3]


def test_large_bodies_pass_both_ways() -> None:
    big = b"x" * (60 << 20)
    answer = b'{"choices":[{"finish_reason":"stop","message":{"content":"' + b"y" * (30 << 20) + b'"}}]}'
    with Provider(replying(answer)) as provider, forwarding(resolved(provider.url)) as one:
        body = b'{"model":"m-1","messages":[{"role":"user","content":"' + big + b'"}]}'
        reply = ask(one, "", content=body)
        assert reply.content == answer and len(provider.requests[0].body) == len(body)
        assert len(one.exchanges()[0].text) == 256 << 10
        assert ask(one, "", content=body + b" " * (8 << 20)).status_code == 400


def test_packed_replies_are_unpacked() -> None:
    extra = {"Content-Encoding": "gzip"}
    with Provider(replying(gzip.compress(REPLY), extra=extra)) as provider, forwarding(resolved(provider.url)) as one:
        reply = ask(one)
        assert reply.content == REPLY and "content-encoding" not in reply.headers
        assert one.exchanges()[0].text == "café"


def test_only_the_model_under_test_may_be_asked() -> None:
    with Provider(replying()) as provider, forwarding(resolved(provider.url)) as one:
        assert ask(one, {**chat(), "model": "m-2"}).status_code == 404
        assert not provider.requests and not one.exchanges() and one.end is None


def cut(connection: Connection, _request: Request) -> None:
    connection.send_half(REPLY)
    connection.keep = False


def drop(connection: Connection, _request: Request) -> None:
    connection.keep = False


def nonsense(connection: Connection, _request: Request) -> None:
    connection.socket.sendall(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")
    connection.keep = False


def half_a_stream(connection: Connection, _request: Request) -> None:
    connection.begin(SSE)
    connection.chunk(EVENTS[0])
    connection.keep = False


def an_error_in_a_stream(connection: Connection, _request: Request) -> None:
    connection.begin(SSE)
    connection.chunk(EVENTS[0])
    connection.chunk(b'data: {"error":{"message":"overloaded","type":"server_error"}}\n\n')
    connection.end()


def a_page(connection: Connection, _request: Request) -> None:
    connection.send(200, b"<html>Sign in</html>", "text/html")


@pytest.mark.parametrize(
    ("handle", "kind", "fault"),
    [
        (cut, "bad_reply", "cut"),
        (drop, "connection", "connection"),
        (nonsense, "bad_reply", "garbage"),
        (hanging, "no_reply", "hang"),
        (half_a_stream, "bad_reply", "cut"),
        (an_error_in_a_stream, "error", "error"),
        (a_page, "bad_reply", "garbage"),
        (replying(b"{}", status=401), "http_401", "http"),
        (replying(b"", status=502), "http_502", "http"),
    ],
)
def test_failures_of_the_provider_end_the_run(handle: Any, kind: str, fault: str) -> None:
    with Provider(handle) as provider:
        patience = Patience(idle=0.3 if handle is hanging else 30)
        with forwarding(resolved(provider.url), ending_status=400, patience=patience) as one:
            try:
                first = ask(one, chat(stream=True)).status_code
            except httpx.HTTPError:
                first = 0
            assert first == {half_a_stream: 0, an_error_in_a_stream: 200}.get(handle, 400)
            assert one.end is not None and one.end.kind == kind and one.end.error
            assert ask(one).status_code == 400 and len(provider.requests) == 1
            assert [e.fault for e in one.exchanges()] == [fault]


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_provider_that_is_not_there_is_noticed(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with forwarding(resolved(f"http://{host}:{port}")) as one:
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == "connection" and host in one.end.error


def test_an_overload_inside_a_stream_is_told_as_a_limit() -> None:
    events: list[tuple[str, Any]] = []
    with (
        Provider(an_error_in_a_stream) as provider,
        forwarding(resolved(provider.url), on_event=lambda *event: events.append(event)) as one,
    ):
        ask(one, chat(stream=True))
        wait_for(lambda: len(events) == 2)
    assert events[1] == ("rate_limited", {"provider": "openai", "status": 200, "retry_after": None})


def test_a_wrong_request_is_the_agents_to_mend_but_not_for_ever() -> None:
    handle = replying(b'{"error":{"message":"too long"}}', status=400)
    with Provider(handle) as provider, forwarding(resolved(provider.url)) as one:
        assert [ask(one).status_code for _ in range(2)] == [400, 400] and one.end is None
        assert ask(one).status_code == 400
        assert one.end == ("http_400", 400, "too long", None)


def test_many_requests_at_once_do_not_disturb_each_other() -> None:
    def echo(connection: Connection, request: Request) -> None:
        text = json.loads(request.body)["messages"][0]["content"]
        connection.send(200, REPLY.replace(b"caf\xc3\xa9", text.encode()))

    answers: dict[str, str] = {}

    def one_of(gateway: Any, text: str) -> None:
        body = {**chat(), "messages": [{"role": "user", "content": text}]}
        answers[text] = ask(gateway, body).json()["choices"][0]["message"]["content"]

    with Provider(echo) as provider, forwarding(resolved(provider.url)) as one:
        threads = [threading.Thread(target=one_of, args=(one, f"question {n}")) for n in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert len(answers) == 24 and all(key == value for key, value in answers.items())
        assert sorted(e.number for e in one.exchanges()) == list(range(1, 25))
        assert one.spent.tokens == 24 * 9 and one.spent.turns == 24

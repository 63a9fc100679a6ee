"""The gateway with a scripted model behind it: what passes, what is recorded, what ends a run."""

from __future__ import annotations

import json
import stat
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from devops_bench.gateway.model import Caps, ModelGateway, Patience, Scripted, new_token
from devops_bench.gateway.model.endings import FINAL
from devops_bench.gateway.model.ledger import Ledger
from devops_bench.models.scenario import scenario
from devops_bench.models.wire import Conversation, Finish, Tokens
from tests.gateway.provider import wait_for
from tests.models.clients import CLIENTS

WIRES = sorted(CLIENTS)
PLAYER: dict[str, Any] = {
    "usage": {"input": 1000, "output": 50, "cached": 300, "reasoning": 10},
    "turns": [
        {"text": "I look first.", "thinking": "What is there?", "shell": "kubectl get pods"},
        {"text": "It was {{last_result}}.", "usage": {"input": 2000, "output": 7}},
    ],
}


def gateway(turns: dict[str, Any], wire: str, **more: Any) -> ModelGateway:
    upstream = Scripted({"p": scenario("p", turns)}, "scripted:p")
    return ModelGateway(upstream, wire=wire, model="scripted:p", **more)


def client(one: ModelGateway, **more: Any):
    return CLIENTS[one.wire](one.base_url(), "scripted:p", key=one.token, **more)


def chat(tools: bool = True) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    body = {"model": "scripted:p", "messages": [{"role": "user", "content": "hi"}]}
    return {**body, "tools": [tool]} if tools else body


def ask(one: ModelGateway, body: Any = None, path: str = "/v1/chat/completions", **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {one.token}"}
    url = f"http://127.0.0.1:{one.address[1]}{path}"
    return httpx.post(url, json=chat() if body is None else body, headers=headers, timeout=30, **more)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("wire", WIRES)
def test_a_conversation_passes_and_is_evidence(wire: str, stream: bool, tmp_path: Path) -> None:
    events: list[tuple[str, Any]] = []
    record = tmp_path / "model.jsonl"
    with gateway(PLAYER, wire, record=record, on_event=lambda kind, fields: events.append((kind, fields))) as one:
        with client(one) as sdk:
            first, last = sdk.play("go", stream, [["two pods"]])
        seen = one.exchanges()
        assert one.end is None
    assert first.calls[0][2] == {"command": "kubectl get pods"} and last.text == "It was two pods."
    assert [(e.number, e.status, e.stream, e.fault) for e in seen] == [(1, 200, stream, ""), (2, 200, stream, "")]
    assert seen[0].text == "I look first." and seen[0].finish is Finish.CALLS and seen[0].tools == ("bash", "file")
    assert [(call.name, dict(call.args), call.id) for call in seen[0].calls] == [
        ("bash", {"command": "kubectl get pods"}, first.calls[0][0])
    ]
    assert seen[0].tokens == Tokens(1000, 50, 300, 0, 10)
    assert seen[1].finish is Finish.STOP and seen[1].text == last.text and seen[1].served_model == last.model
    assert seen[0].first_byte is not None and 0 < seen[0].first_byte <= seen[0].latency
    assert [kind for kind, _ in events] == ["model_request"] * 2
    assert events[0][1]["turn"] == 1 and events[0][1]["tokens"] == 1050 and events[0][1]["cost"] is None
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [(line["event"], line["number"]) for line in lines] == [
        ("request", 1), ("reply", 1), ("request", 2), ("reply", 2),
    ]  # fmt: skip
    assert "bash" in lines[1]["body"] and "two pods" in lines[2]["body"]
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert one.token not in record.read_text()


@pytest.mark.parametrize("wire", WIRES)
def test_only_the_attempts_token_opens_it(wire: str) -> None:
    with gateway(PLAYER, wire) as one:
        for key in ("sk-wrong", one.token[:-1], one.token + "x"):
            with CLIENTS[wire](one.base_url(), "scripted:p", key=key) as sdk:
                sdk.user("hi")
                with pytest.raises(sdk.error) as refused:
                    sdk.ask(False)
                assert sdk.status(refused.value) == 401
        assert one.exchanges() == () and one.end is None


def test_other_paths_and_other_wires_are_refused_and_recorded(tmp_path: Path) -> None:
    record = tmp_path / "model.jsonl"
    with gateway(PLAYER, "openai", record=record) as one:
        assert ask(one, path="/v1/messages").status_code == 404
        assert ask(one, path="/s/p/v1/chat/completions").status_code == 404
        assert ask(one, path="/v1/files").status_code == 404
        assert ask(one, [], path="/v1/chat/completions").status_code == 400
        assert one.exchanges() == ()
    lines = [json.loads(line) for line in record.read_text().splitlines()]
    assert [line["status"] for line in lines] == [404, 404, 404, 400]


@pytest.mark.parametrize("wire", WIRES)
def test_the_limit_of_requests_ends_the_run(wire: str) -> None:
    again = {"turns": [{"shell": "date"}], "repeat_last": True}
    with gateway(again, wire, caps=Caps(requests=2)) as one, client(one) as sdk:
        sdk.play("go", False, [["now"]])
        assert one.end is None
        sdk.reply(sdk_last(sdk, one), ["now"])
        with pytest.raises(sdk.error) as refused:
            sdk.ask(False)
        assert sdk.status(refused.value) == FINAL and "2 model requests" in str(refused.value)
        assert one.end is not None and one.end.kind == "cap_requests"
        assert [e.fault for e in one.exchanges()] == ["", "", "cap"]


def sdk_last(sdk: Any, one: ModelGateway) -> Any:
    """The last answer's calls in the shape that `reply` wants."""
    from tests.models.clients import Answer

    return Answer(calls=[(call.id, call.name, dict(call.args)) for call in one.exchanges()[-1].calls])


@pytest.mark.parametrize("what", ["tokens", "cost"])
def test_a_budget_lets_the_reply_pass_that_reaches_it(what: str) -> None:
    events: list[tuple[str, Any]] = []
    caps = Caps(tokens=1000) if what == "tokens" else Caps(cost_usd=0.0)
    with gateway(PLAYER, "openai", caps=caps, on_event=lambda *event: events.append(event)) as one:
        if what == "tokens":
            assert ask(one).status_code == 200 and one.end is None
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == f"cap_{what}"
    budgets = [fields for kind, fields in events if kind == "budget"]
    assert budgets == ([{"what": "tokens", "limit": 1000, "used": 1050}] if what == "tokens" else [])


@pytest.mark.parametrize("wire", WIRES)
def test_a_missing_grant_ends_the_run_before_anything_is_forwarded(wire: str) -> None:
    seen: list[Conversation] = []

    def hook(said: Conversation, body: bytes) -> str:
        assert json.loads(body)
        seen.append(said)
        return "the tool pods_list is not offered"

    with gateway(PLAYER, wire, first_request=hook) as one, client(one) as sdk:
        sdk.user("hi")
        for _ in range(2):
            with pytest.raises(sdk.error, match="pods_list"):
                sdk.ask(False)
        assert one.end is not None and one.end.kind == "grant_missing"
        assert [(e.fault, e.status, e.tokens, e.tools) for e in one.exchanges()] == [
            ("refused", 0, None, ("bash", "file"))
        ]
    assert len(seen) == 1 and {tool.name for tool in seen[0].tools} == {"bash", "file"}


def test_the_hook_waits_for_the_first_request_with_tools_and_is_called_once() -> None:
    seen: list[Conversation] = []
    with gateway(PLAYER, "openai", first_request=lambda said, _: seen.append(said)) as one:
        assert ask(one, chat(tools=False)).status_code == 200 and not one.checked
        threads = [threading.Thread(target=ask, args=(one,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        assert one.checked and len(seen) == 1 and len(one.exchanges()) == 9


FAULTS = {
    "429": ({"fault": 429}, "http_429", 429),
    "500": ({"fault": 500}, "http_500", 500),
    "401": ({"fault": 401}, "http_401", 401),
    "garbage": ({"fault": "garbage", "text": "x"}, "bad_reply", 0),
    "cut": ({"fault": "cut", "text": "A long answer. " * 50}, "bad_reply", 0),
    "hang": ({"fault": "hang"}, "no_reply", 0),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("wire", WIRES)
def test_a_fault_of_the_provider_ends_the_run(wire: str, name: str, stream: bool) -> None:
    turn, kind, status = FAULTS[name]
    with (
        gateway({"turns": [turn]}, wire, patience=Patience(idle=0.3), ending_status=400) as one,
        client(one, timeout=20) as sdk,
    ):
        sdk.user("hi")
        history = list(sdk.history)
        for attempt in range(2):
            sdk.history = list(history)
            with pytest.raises(Exception) as refused:
                sdk.ask(stream)
            if attempt or not (stream and name in {"garbage", "cut"}):
                assert sdk.status(refused.value) == 400, refused.value
            wait_for(lambda: one.end)  # a client that cannot read a portion gives up before the reply's end is known
        assert one.end is not None and (one.end.kind, one.end.status) == (kind, status)
        (exchange,) = one.exchanges()
        assert exchange.fault == ("http" if status else name) and exchange.error


def test_without_an_ending_status_the_providers_reply_passes() -> None:
    with gateway({"turns": [{"fault": {"status": 429, "message": "slow down", "retry_after": 900}}]}, "openai") as one:
        reply = ask(one)
        assert reply.status_code == 429 and reply.json()["error"]["message"] == "slow down"
        assert reply.headers["retry-after"] == "900" and reply.headers["x-should-retry"] == "false"
        assert one.end == ("http_429", 429, "slow down", 900.0)
        assert ask(one).status_code == 429


def test_a_short_rate_limit_is_waited_for() -> None:
    events: list[tuple[str, Any]] = []
    turns = {"turns": [{"fault": {"status": 429, "retry_after": 0.05, "times": 2}, "text": "At last."}]}
    with gateway(turns, "openai", on_event=lambda *event: events.append(event)) as one:
        assert ask(one).json()["choices"][0]["message"]["content"] == "At last."
        assert one.end is None and [e.fault for e in one.exchanges()] == [""]
    assert events[:2] == [("rate_limited", {"provider": "scripted", "status": 429, "retry_after": 0.05})] * 2


def test_waits_are_bounded_in_all() -> None:
    turns = {"turns": [{"fault": {"status": 503, "retry_after": 0.2}}]}
    with gateway(turns, "openai", patience=Patience(wait=0.5)) as one:
        assert ask(one).status_code == 503
        assert one.end is not None and one.end.kind == "http_503" and one.end.retry_after == 0.2


@pytest.mark.parametrize("kind", ["refusal", "max_tokens"])
@pytest.mark.parametrize("wire", WIRES)
def test_what_the_model_does_is_no_fault(wire: str, kind: str) -> None:
    with gateway({"turns": [{"fault": kind, "text": "No, I will not."}]}, wire) as one, client(one) as sdk:
        sdk.user("hi")
        sdk.ask(False)
        (exchange,) = one.exchanges()
        assert exchange.finish is Finish(kind) and exchange.fault == "" and exchange.text == "No, I will not."
        assert one.end is None


def test_one_empty_reply_is_forgiven_two_are_not() -> None:
    with gateway({"turns": [{"fault": "empty"}]}, "openai") as one:
        assert ask(one).status_code == 200 and one.end is None
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == "empty"


@pytest.mark.parametrize("wire", WIRES)
def test_counting_and_listing_are_not_counted(wire: str) -> None:
    with gateway(PLAYER, wire, caps=Caps(requests=0)) as one:
        headers = {"x-goog-api-key" if wire == "google" else "x-api-key": one.token}
        root = f"http://127.0.0.1:{one.address[1]}"
        listed = httpx.get(f"{root}/v1beta/models" if wire == "google" else f"{root}/v1/models", headers=headers)
        assert listed.status_code == 200 and "scripted:p" in listed.text
        assert one.exchanges() == () and one.end is None


def test_closing_leaves_no_thread() -> None:
    one = gateway({"turns": [{"fault": "hang"}]}, "openai")

    def failing() -> None:
        with pytest.raises(httpx.HTTPError):
            ask(one)

    asking = threading.Thread(target=failing)
    asking.start()
    wait_for(one.exchanges)
    one.close()
    asking.join(timeout=30)
    assert not asking.is_alive()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("gateway")]
    assert one.exchanges()[0].fault == "gone" and one.end is None


SEARCHES: dict[str, tuple[str, dict[str, Any], str]] = {
    "google": ("/v1beta/models/scripted:p:generateContent", {"tools": [{"google_search": {}}]}, "google_search"),
    "anthropic": ("/v1/messages", {"tools": [{"type": "web_search_20250305", "name": "bash"}]}, "web_search_20250305"),
    "openai": ("/v1/chat/completions", {"web_search_options": {}}, "web_search_options"),
    "openai-responses": ("/v1/responses", {"tools": [{"type": "web_search"}]}, "web_search"),
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_search_that_the_provider_would_run_is_turned_down_and_seen(wire: str) -> None:
    path, more, name = SEARCHES[wire]
    asked: list[tuple[str, ...]] = []

    def later(names: tuple[str, ...]) -> str | None:
        asked.append(names)
        return "not granted" if name in names else None

    with gateway(PLAYER, wire, later_request=later) as one, client(one) as sdk:
        sdk.user("hi")
        sdk.ask(False)
        body = {"model": "scripted:p", "messages": [], "contents": [], "input": "hi", "max_tokens": 9, **more}
        reply = ask(one, body, path, params={"key": one.token})
        assert reply.status_code == 400 and "not granted" in reply.text
        assert name in asked[-1]
        last = one.exchanges()[-1]
        assert (last.fault, last.own, last.status, name in last.tools) == ("refused", False, 0, True)
        assert one.end is None and one.spent.turns == 1, "it was not forwarded"
        sdk.history = sdk.history[:1]
        sdk.ask(False)  # the run goes on


@pytest.mark.parametrize("fault", [400, 401, 429, 500, "empty", "garbage", "hang"])
def test_requests_that_are_not_the_cli_s_end_no_run(fault: int | str) -> None:
    upstream = {"turns": [{"text": "Fine."}, {"fault": fault}], "repeat_last": True}
    with gateway(upstream, "openai", patience=Patience(idle=0.2)) as one:
        assert ask(one).status_code == 200
        history = [{"role": "assistant", "content": "Fine."}, {"role": "user", "content": "again"}]
        other = chat(tools=False)
        other = {**other, "messages": [*other["messages"], *history]}
        for _ in range(4):
            assert ask(one, other).status_code == {"empty": 200, "garbage": 200, "hang": 502}.get(str(fault), fault)
        assert one.end is None and [e.own for e in one.exchanges()] == [True] + [False] * 4
        assert all(e.fault for e in one.exchanges()[1:])
        assert ask(one).status_code == 200, "the run goes on"
        # The CLI's own count as ever.
        own = {**chat(), "messages": other["messages"]}
        for _ in range(3):
            ask(one, own)
        assert one.end is not None


def test_a_request_with_a_key_twice_goes_nowhere() -> None:
    with gateway(PLAYER, "openai") as one:
        body = json.dumps(chat(tools=False))[:-1] + ', "tools": [], "tools": [{"type": "web_search"}]}'
        headers = {"Authorization": f"Bearer {one.token}"}
        url = f"http://127.0.0.1:{one.address[1]}/v1/chat/completions"
        assert httpx.post(url, content=body, headers=headers, timeout=30).status_code == 400
        assert one.exchanges() == () and one.end is None


def test_a_given_token_opens_it() -> None:
    token = new_token()
    with gateway(PLAYER, "openai", token=token) as one:
        assert one.token == token and ask(one).status_code == 200


@pytest.mark.parametrize("hung_up", [False, True], ids=["without usage", "the client left"])
def test_a_reply_that_tells_no_usage_counts_by_its_size(hung_up: bool) -> None:
    ledger = Ledger(Caps(tokens=500), 0.0)
    said = Conversation("m", (), True, 400, "p", 0, ())
    flight, end = ledger.begin("openai", said, "openai", None, names=("bash",))
    assert end is None
    flight.begin(200, events=True)
    delta = {"choices": [{"index": 0, "delta": {"content": "word " * 400}}]}
    flight.feed(f"data: {json.dumps(delta)}\n\n".encode())
    if not hung_up:
        last = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        flight.feed(f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n".encode())
    exchange = flight.finish("gone" if hung_up else "", "")
    assert (exchange.tokens, exchange.estimate) == (None, Tokens(100, 500))
    assert ledger.finished(exchange) is None
    assert flight.exchange().cost_usd is None, "an estimate is no figure of the results"
    assert (ledger.spent.tokens, ledger.spent.estimated) == (600, 600)
    _, end = ledger.begin("openai", said, "openai", None, names=("bash",))
    assert end is not None and end.kind == "cap_tokens"

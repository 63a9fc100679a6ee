"""The vendors' own clients hold whole conversations with a scripted model, streaming and not."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from urllib.request import Request, urlopen

import pytest

from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer

from .clients import CLIENTS, FINISHES, Client

RESULTS = [["two pods"], ["noon", "written"]]


def test_a_conversation_with_tools_is_played_to_its_end(client: Client, wire: str, stream: bool) -> None:
    first, second, third = client.play("look around", stream, RESULTS)
    assert first.text == "I look first."
    assert first.thinking == "What is there?" or (wire == "openai" and stream)
    assert [call[1:] for call in first.calls] == [("bash", {"command": "kubectl get pods"})]
    assert [call[1:] for call in second.calls] == [
        ("bash", {"command": "date"}),
        ("file", {"action": "write", "path": "a.txt", "content": "got two pods"}),
    ]
    assert third.text == "It was noon\nwritten." and not third.calls
    assert [one.finish for one in (first, second, third)] == [
        FINISHES[wire]["calls"], FINISHES[wire]["calls"], FINISHES[wire]["stop"],
    ]  # fmt: skip


def test_usage_is_what_the_scenario_says(client: Client, stream: bool) -> None:
    first, _, third = client.play("look around", stream, RESULTS)
    assert (first.tokens, first.cached) == ((1000, 50), 300)
    assert (third.tokens, third.cached) == ((2000, 7), 300)


def test_ids_are_unique_and_the_model_is_the_one_asked_for(client: Client, stream: bool) -> None:
    answers = client.play("look around", stream, RESULTS)
    ids = [call[0] for answer in answers for call in answer.calls] + [answer.id for answer in answers]
    assert all(ids) and len(set(ids)) == len(ids)
    assert {answer.model for answer in answers} == {"scripted:player"}


def test_the_same_request_gets_the_same_answer_again(client: Client, stream: bool) -> None:
    client.user("look around")
    history = list(client.history)
    first = client.ask(stream)
    client.history = history
    again = client.ask(stream)
    assert [call[1:] for call in again.calls] == [call[1:] for call in first.calls] and again.text == first.text
    assert again.id != first.id


def test_after_the_last_turn_there_is_nothing_more_to_do(client: Client, stream: bool) -> None:
    client.play("look around", stream, RESULTS)
    client.user("and now?")
    assert client.ask(stream).text == "There is nothing more to do."


def test_without_tools_the_model_only_talks(client: Client, wire: str, stream: bool) -> None:
    client.tools = False
    client.user("give this conversation a title")
    answer = client.ask(stream)
    assert (answer.text, answer.calls, answer.finish) == ("I look first.", [], FINISHES[wire]["stop"])


def test_concurrent_conversations_do_not_disturb_each_other(server: ScriptedServer, wire: str) -> None:
    def talk(number: int) -> str:
        with CLIENTS[wire](server.endpoint(wire, "scripted:player"), "scripted:player") as client:
            return client.play("look around", bool(number % 2), [["x"], [f"n{number}", "w"]])[-1].text

    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(talk, range(8)))
    assert texts == [f"It was n{number}\nw." for number in range(8)]


def test_what_was_asked_is_recorded_without_keys(
    server: ScriptedServer, client: Client, wire: str, stream: bool
) -> None:
    client.play("look around", stream, RESULTS)
    asked = server.requests
    assert [one.turn for one in asked] == [0, 1, 2]
    assert {one.scenario for one in asked} == {"player"} and {one.status for one in asked} == {200}
    assert {one.wire for one in asked} == {wire} and {one.stream for one in asked} == {stream}
    assert asked[0].tools == ("bash", "file") and "look around" in json.dumps(asked[0].json())
    hidden = {"authorization", "x-api-key", "x-goog-api-key"} & set(asked[0].headers)
    assert hidden and {asked[0].headers[name] for name in hidden} == {"[key]"}


def test_google_streams_a_json_array_unless_asked_for_events(server: ScriptedServer) -> None:
    body = json.dumps({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}).encode()
    url = f"{server.url}/v1beta/models/scripted:player:streamGenerateContent"
    with urlopen(Request(url, body, {"Content-Type": "application/json"}), timeout=20) as answer:
        assert answer.headers["Content-Type"].startswith("application/json")
        responses = json.load(answer)
    assert len(responses) > 1 and responses[-1]["usageMetadata"]["totalTokenCount"] == 1050
    assert [one["candidates"][0].get("finishReason") for one in responses[:-1]] == [None] * (len(responses) - 1)


def test_tokens_are_counted_where_the_provider_counts_them() -> None:
    with ScriptedServer({"player": scenario("player", {"turns": ["hi"]})}) as server:
        with CLIENTS["google"](server.endpoint("google", "scripted:player"), "scripted:player") as google:
            assert google.sdk.models.count_tokens(model="scripted:player", contents="x" * 400).total_tokens > 100
        with CLIENTS["anthropic"](server.endpoint("anthropic", "scripted:player"), "scripted:player") as anthropic:
            asked = {"model": "scripted:player", "messages": [{"role": "user", "content": "x" * 400}]}
            assert anthropic.sdk.messages.count_tokens(**asked).input_tokens > 100


def test_models_are_listed_and_shown() -> None:
    scenarios = {name: scenario(name, {"turns": ["hi"]}) for name in ("a", "b")}
    with ScriptedServer(scenarios) as server:
        with CLIENTS["google"](server.url, "") as google:
            assert [one.name for one in google.sdk.models.list()] == ["models/scripted:a", "models/scripted:b"]
            assert google.sdk.models.get(model="scripted:b").name == "models/scripted:b"
        with CLIENTS["openai"](f"{server.url}/v1", "") as openai:
            assert [one.id for one in openai.sdk.models.list()] == ["scripted:a", "scripted:b"]
            assert openai.sdk.models.retrieve("scripted:a").id == "scripted:a"
        with CLIENTS["anthropic"](server.url, "") as anthropic:
            assert [one.id for one in anthropic.sdk.models.list()] == ["scripted:a", "scripted:b"]


@pytest.mark.parametrize(
    "model",
    ["scripted:player", "player", "scripted/player", "google/scripted:player", "scripted-player", "gemini-9-pro"],
)
def test_a_model_is_found_however_its_id_is_spelled(model: str) -> None:
    known = scenario("player", {"model": "gemini-9-pro", "turns": ["hi"]})
    with (
        ScriptedServer({"player": known, "other": scenario("other", {"turns": ["no"]})}) as server,
        CLIENTS["openai"](f"{server.url}/v1", model) as client,
    ):
        client.user("hello")
        assert client.ask(False).text == "hi"


def test_a_pinned_endpoint_plays_its_scenario_whatever_the_model_id(wire: str) -> None:
    scenarios = {name: scenario(name, {"turns": [f"I am {name}"]}) for name in ("a", "b")}
    with (
        ScriptedServer(scenarios) as server,
        CLIENTS[wire](server.endpoint(wire, "scripted:b"), "some-model-of-the-cli") as client,
    ):
        client.user("hello")
        assert client.ask(True).text == "I am b"


def test_an_unknown_model_is_the_providers_404(server: ScriptedServer, wire: str) -> None:
    base = server.endpoint(wire, "scripted:player").replace("/s/player", "")
    with CLIENTS[wire](base, "nobody") as client:
        client.user("hello")
        with pytest.raises(client.error) as caught:
            client.ask(False)
    assert client.status(caught.value) == 404 and "nobody" in str(caught.value) and "player" in str(caught.value)


def test_a_required_key_is_required(wire: str) -> None:
    with ScriptedServer({"p": scenario("p", {"turns": ["hi"]})}, token="the-right-key") as server:
        base = server.endpoint(wire, "scripted:p")
        with CLIENTS[wire](base, "scripted:p", key="the-right-key") as client:
            client.user("hello")
            assert client.ask(False).text == "hi"
        with CLIENTS[wire](base, "scripted:p", key="another-key") as client:
            client.user("hello")
            with pytest.raises(client.error) as caught:
                client.ask(False)
        assert client.status(caught.value) == 401
        assert "the-right-key" not in repr(server.requests) and "another-key" not in repr(server.requests)

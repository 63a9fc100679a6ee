"""Every fault arrives at the vendors' clients as what it is, and never as a short but good answer."""

from __future__ import annotations

import threading

import httpx
import pytest

from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer

from .clients import CLIENTS, FINISHES


def play(wire: str, turn: object, stream: bool, *, asks: int = 1, **more: object):
    """Ask `asks` times for the first turn; answers or exceptions, and the client."""
    found = []
    with (
        ScriptedServer({"p": scenario("p", {"turns": [turn]})}) as server,
        CLIENTS[wire](server.endpoint(wire, "scripted:p"), "scripted:p", **more) as client,
    ):
        for _ in range(asks):
            client.history = []
            client.user("hello")
            try:
                found.append(client.ask(stream))
            except Exception as error:
                found.append(error)
    return found, client


@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_a_status_is_the_providers_error(wire: str, stream: bool, status: int) -> None:
    (error,), client = play(wire, {"fault": {"status": status, "message": "as told", "retry_after": 3}}, stream)
    assert isinstance(error, client.error) and client.status(error) == status and "as told" in str(error)


@pytest.mark.parametrize(
    ("status", "name"),
    [(401, "AuthenticationError"), (429, "RateLimitError"), (500, "InternalServerError"), (404, "NotFoundError")],
)
@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_clients_know_the_kind_of_error(vendor: str, status: int, name: str) -> None:
    (error,), _ = play(vendor, {"fault": status}, False)
    assert type(error).__name__ == name


def test_retry_after_is_told_as_header_and_in_googles_details() -> None:
    (error,), _ = play("openai", {"fault": {"status": 429, "retry_after": 2.5}}, False)
    assert error.response.headers["retry-after"] == "2.5"
    (error,), _ = play("google", {"fault": {"status": 429, "retry_after": 2.5}}, False)
    assert error.details["error"]["details"][0]["retryDelay"] == "2.5s" and error.status == "RESOURCE_EXHAUSTED"


def test_a_fault_with_times_passes(wire: str, stream: bool) -> None:
    turn = {"fault": 429, "times": 2, "text": "At last."}
    (first, second, third, fourth), client = play(wire, turn, stream, asks=4)
    assert client.status(first) == client.status(second) == 429
    assert third.text == fourth.text == "At last."


def test_a_fault_counts_for_each_conversation_alone() -> None:
    with (
        ScriptedServer({"p": scenario("p", {"turns": [{"fault": 503, "times": 1, "text": "ok"}]})}) as server,
        CLIENTS["openai"](server.endpoint("openai", "scripted:p"), "scripted:p") as client,
    ):
        for prompt in ("one", "two"):
            client.history = []
            client.user(prompt)
            history = list(client.history)
            with pytest.raises(client.error):
                client.ask(False)
            client.history = history
            assert client.ask(False).text == "ok"


@pytest.mark.parametrize("kind", ["garbage", "cut"])
def test_a_broken_answer_is_an_error_for_the_client(wire: str, stream: bool, kind: str) -> None:
    (found,), _ = play(wire, {"fault": kind, "text": "A long answer that must not be believed. " * 20}, stream)
    assert isinstance(found, Exception), found


def test_a_hanging_answer_runs_into_the_clients_timeout(wire: str, stream: bool) -> None:
    (found,), _ = play(wire, {"fault": "hang"}, stream, timeout=1)
    assert isinstance(found, Exception) and "time" in f"{type(found).__name__} {found}".lower()


def test_closing_the_server_ends_a_hanging_request() -> None:
    server = ScriptedServer({"p": scenario("p", {"turns": [{"fault": "hang"}]})})
    ended: list[Exception] = []

    def ask() -> None:
        try:
            httpx.post(f"{server.url}/v1/messages", json={"model": "p", "messages": []}, timeout=60)
        except httpx.HTTPError as error:
            ended.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    deadline = threading.Event()
    while not server.requests and not deadline.wait(0.01):
        pass
    server.close()
    asking.join(timeout=30)
    assert not asking.is_alive() and isinstance(ended[0], httpx.RemoteProtocolError)
    assert not [one for one in threading.enumerate() if one.name.startswith("scripted")]


@pytest.mark.parametrize("kind", ["refusal", "max_tokens"])
def test_the_models_own_ends_are_told_by_the_finish_reason(wire: str, stream: bool, kind: str) -> None:
    (answer,), _ = play(wire, {"fault": kind, "text": "No, I will not."}, stream)
    if wire == "openai" and stream:
        # This client's stream helper raises for both.
        wanted = {"max_tokens": "LengthFinishReasonError", "refusal": "ContentFilterFinishReasonError"}
        assert type(answer).__name__ == wanted[kind]
        return
    assert answer.finish == FINISHES[wire][kind], answer
    assert answer.text == "No, I will not."


def test_an_empty_answer_is_empty_and_complete(wire: str, stream: bool) -> None:
    (answer,), _ = play(wire, {"fault": "empty"}, stream)
    assert (answer.text, answer.calls, answer.finish) == ("", [], FINISHES[wire]["stop"])


def test_a_delay_comes_before_the_answer() -> None:
    (answer,), _ = play("openai", {"text": "slow", "delay": 0.05}, False)
    assert answer.text == "slow"


def test_a_tool_that_is_not_offered_is_said_clearly(wire: str) -> None:
    (error,), client = play(wire, {"mcp": {"tool": "pods_list"}}, False)
    assert client.status(error) == 400 and "wants mcp (pods_list)" in str(error) and "bash, file" in str(error)

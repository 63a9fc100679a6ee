"""Parts of the gateway by themselves: reach, record, bounds."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.gateway.model import Caps, Forward, ModelGateway, Patience, Scripted, wire_for
from devops_bench.gateway.model.caps import End
from devops_bench.gateway.model.faults import end_of, message, retry_after
from devops_bench.gateway.model.headers import to_client, to_provider
from devops_bench.gateway.model.recording import Recording
from devops_bench.models.exchange import Exchange
from devops_bench.models.http import Room
from devops_bench.models.providers import PROVIDERS, Resolved
from devops_bench.models.replies.draft import parsed
from devops_bench.models.scenario import scenario
from devops_bench.redact import Redactor

from .provider import ask

SECRET = "very-secret-value-0123456789"


@pytest.mark.parametrize(
    ("wires", "provider", "model", "wire"),
    [
        (("google",), "google", "gemini-9", "google"),
        (("google",), "vertex", "gemini-9", "google"),
        (("anthropic",), "anthropic", "claude-9", "anthropic"),
        (("anthropic",), "vertex", "claude-9", "anthropic"),
        (("openai-responses",), "openai", "gpt-9", "openai-responses"),
        (("openai-responses",), "openai-compatible", "qwen3", "openai-responses"),
        (("google", "openai"), "openai-compatible", "qwen3", "openai"),
        (("anthropic",), "scripted", "scripted:x", "anthropic"),
        (("anthropic",), "google", "gemini-9", None),
        (("google",), "vertex", "claude-9", None),
        (("openai-responses",), "anthropic", "claude-9", None),
        (("google",), "openai-compatible", "gemini-clone", None),
    ],
)
def test_an_agent_reaches_the_providers_that_speak_its_wire(
    wires: tuple[str, ...], provider: str, model: str, wire: str | None
) -> None:
    resolved = Resolved(provider, model, "http://x", "k")
    if wire is not None:
        assert wire_for("codex", wires, resolved) == wire
        return
    with pytest.raises(ConfigError) as refused:
        wire_for("codex", wires, resolved)
    text = str(refused.value)
    assert "\n" not in text and all(word in text for word in ("codex", model, provider, *wires))


@pytest.mark.parametrize(
    ("told", "wire"),
    [(None, "openai"), ("openai-responses", "openai-responses"), ("openai-compatible", "openai"), ("google", None)],
)
def test_the_users_word_chooses_among_the_formats_that_the_agent_speaks(told: str | None, wire: str | None) -> None:
    wires, resolved = ("google", "openai", "openai-responses"), Resolved("openai", "gpt-9", "http://x", "k")
    if wire is not None:
        assert wire_for("api", wires, resolved, told) == wire
        return
    with pytest.raises(ConfigError, match="it speaks google, provider openai speaks"):
        wire_for("api", wires, resolved, told)


def test_every_provider_can_be_reached_by_some_wire() -> None:
    from devops_bench.gateway.model import speaks

    assert all(speaks(name, "m") for name in PROVIDERS)


def test_the_record_is_bounded_redacted_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from devops_bench import settings

    row = settings.Default(1000, "bytes", "test")
    monkeypatch.setitem(settings.TABLE, "model_record", row)
    monkeypatch.setitem(settings.TABLE, "model_record_body", settings.Default(300, "bytes", "test"))
    path = tmp_path / "r.jsonl"
    recording = Recording(path, Redactor({"SOME_KEY": SECRET}))
    recording.hide({"TOKEN": "tok-1"})
    # The cut goes through the middle of a secret: its first half must not stay.
    body = b"." * 290 + SECRET.encode()
    fields = {"event": "request", "path": f'/{SECRET}"\n', "headers": {"authorization": "tok-1"}}
    for _ in range(50):
        recording.write(fields, body, len(body))
    recording.close()
    recording.write(fields, body, len(body))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0]["path"] == '/[SOME_KEY]"\n' and lines[0]["headers"] == {"authorization": "[TOKEN]"}
    assert lines[0]["body"] == "." * 290 and lines[0]["size"] == len(body) and lines[0]["truncated"]
    assert SECRET[:10] not in path.read_text()
    assert sum(bool(line["body"]) for line in lines) == 4 and path.stat().st_size < 2100


def test_a_record_that_exists_is_not_written_to(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_text("")
    os.symlink(target, tmp_path / "r.jsonl")
    with pytest.raises(FileExistsError):
        Recording(tmp_path / "r.jsonl", Redactor())


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_ends_the_record_not_the_run(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "r.jsonl", Redactor())
    full = os.open("/dev/full", os.O_WRONLY)
    os.dup2(full, recording._fd)
    os.close(full)
    recording.write({}, b"x", 1)
    assert "No space left" in recording.problem
    recording.write({}, b"x", 1)
    recording.close()


def test_room_for_bodies_is_shared() -> None:
    room = Room(100)
    assert room.take(60) and not room.take(41) and room.take(40)
    room.give(60)
    assert room.take(60) and not room.take(1)


def test_json_that_would_become_gigabytes_of_objects_is_not_read() -> None:
    assert parsed(b"[" + b"{}," * 3_000_000 + b"{}]") is None
    assert parsed(b'{"a":"' + b"x" * (3 << 20) + b'"}') is not None


@pytest.mark.parametrize(
    ("fields", "body", "seconds"),
    [
        ((("Retry-After", "12"),), b"", 12.0),
        ((("retry-after-ms", "1500"), ("retry-after", "9")), b"", 1.5),
        ((("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT"),), b"", 0.0),
        ((("Retry-After", "soon"),), b"", None),
        ((("Retry-After", "-5"),), b"", None),
        ((("Retry-After", "nan"),), b"", None),
        ((), b'{"error":{"details":[{"@type":"x","retryDelay":"34.5s"}]}}', 34.5),
        ((), b'[{"error":{"details":[{"retryDelay":"3s"}]}}]', 3.0),
        ((), b'{"error":{"details":[{"retryDelay":7},"x"]}}', None),
        ((), b'{"error":[]}', None),
    ],
)
def test_how_long_a_provider_asks_to_wait(fields: Any, body: bytes, seconds: float | None) -> None:
    assert retry_after(fields, body) == seconds


@given(body=st.binary(max_size=200))
def test_any_errors_body_has_one_short_line(body: bytes) -> None:
    assert "\n" not in message(body) and len(message(body)) <= 600
    retry_after((), body)


def exchange(fault: str, status: int = 0) -> Exchange:
    return Exchange(1, 0.0, "openai", "m", status=status, fault=fault, error="e")


def test_which_faults_end_a_run() -> None:
    assert end_of(exchange(""), ()) is None and end_of(exchange("gone"), ()) is None
    assert end_of(exchange("http", 400), ("http", "")) is None
    assert end_of(exchange("http", 400), ("http", "http")) == End("http_400", 400, "e")
    assert end_of(exchange("http", 403), ()) == End("http_403", 403, "e")
    assert end_of(exchange("empty"), ("empty", "")) is None
    assert end_of(exchange("empty"), ("", "empty")) is not None


def test_headers_that_the_connection_names_stay_behind() -> None:
    fields = [("Connection", "close, X-One"), ("x-one", "1"), ("X-Two", "2"), ("Upgrade", "h2c")]
    assert to_provider(fields, "") == [("X-Two", "2")]
    assert to_client([*fields, ("X-Key", SECRET)], Redactor({"K": SECRET}, shapes=False)) == [
        ("X-Two", "2"),
        ("X-Key", "[K]"),
    ]


def test_a_fault_of_the_gateway_itself_is_told_as_such() -> None:
    class Broken(Scripted):
        def open(self, asked: Any, watch: Any) -> Any:
            raise RuntimeError("bug")

    upstream = Broken({"p": scenario("p", {"turns": ["x"]})}, "scripted:p")
    with ModelGateway(upstream, wire="openai", model="p", ending_status=400) as one:
        assert ask(one).status_code == 400
        assert one.end is not None and one.end.kind == "harness" and "RuntimeError: bug" in one.end.error
        assert one.exchanges()[0].fault == "harness"


def test_nothing_is_read_of_a_client_without_the_token() -> None:
    upstream = Scripted({"p": scenario("p", {"turns": ["x"]})}, "scripted:p")
    with ModelGateway(upstream, wire="openai", model="p") as one:
        with socket.create_connection(one.address, timeout=30) as sock:
            head = b"POST /v1/chat/completions HTTP/1.1\r\nx-api-key: no\r\nContent-Length: 50000000\r\n\r\n"
            sock.sendall(head + b"x" * 1000)
            assert sock.recv(1 << 16).startswith(b"HTTP/1.1 401 ")
        with pytest.raises(ConfigError, match="no wire format"):
            ModelGateway(upstream, wire="telnet", model="p")


def test_an_agent_that_holds_many_connections_only_hinders_itself() -> None:
    upstream = Scripted({"p": scenario("p", {"turns": ["x"]})}, "scripted:p")
    one = ModelGateway(upstream, wire="openai", model="p")
    idle = [socket.create_connection(one.address, timeout=30) for _ in range(80)]
    for sock in idle[:40]:
        sock.close()
    assert ask(one).status_code == 200
    one.close()
    for sock in idle[40:]:
        sock.close()


def test_patience_comes_from_the_environment() -> None:
    assert Patience.of({"BENCH_MODEL_IDLE_SEC": "7", "BENCH_MODEL_WAIT_SEC": "0"}) == Patience(7, 5, 0)
    with pytest.raises(ConfigError, match="BENCH_MODEL_IDLE_SEC"):
        Patience.of({"BENCH_MODEL_IDLE_SEC": "x"})
    assert Caps() == Caps(None, None, None)


def test_the_key_of_a_provider_is_in_no_representation() -> None:
    resolved = Resolved("openai", "m", "http://127.0.0.1:1/v1", SECRET, "OPENAI_API_KEY")
    assert SECRET not in repr(resolved) and SECRET not in repr(Forward(resolved, env={}))

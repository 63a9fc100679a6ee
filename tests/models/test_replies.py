"""Replies are understood in any portions, with every provider's own semantics, and hostile bytes break nothing."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from devops_bench.models.player import WIRES
from devops_bench.models.replies import Heard, ReplyReader
from devops_bench.models.replies.draft import MAX_TEXT
from devops_bench.models.wire import Finish, MadeCall, Reply, Tokens

CALLS = (
    MadeCall("call_1", "bash", {"command": "kubectl get pods -o 'json'", "n": 3}),
    MadeCall("call_2", "mcp__k8s__pods_list", {"labels": ["ä", "\n"], "deep": {"a": None}}),
)
# One with all figures; wires that cannot say one of them leave it out.
REPLY = Reply(
    "r1", "m-1", "Looking… at\nit.", "hm", CALLS, Tokens(1000, 70, 300, 20, 10), Finish.CALLS, 1795985282
)  # fmt: skip
PLAIN = Reply("r2", "m-1", "Done.", "", (), Tokens(10, 5), Finish.STOP, 1795985282)
NAMES = sorted(WIRES)


def stream_of(wire: str, reply: Reply = REPLY) -> bytes:
    return b"".join(WIRES[wire].chunks(reply))


def heard(wire: str, data: bytes, cuts: list[int] | None = None, *, events: bool = True) -> Heard:
    reader = ReplyReader(wire, events=events)
    bounds = [0, *sorted(cut % (len(data) + 1) for cut in cuts or []), len(data)]
    for start, end in itertools.pairwise(bounds):
        reader.feed(data[start:end])
        reader.heard()
    return reader.finish()


def check(found: Heard, wire: str) -> None:
    assert found.text == REPLY.text and found.model == "m-1" and found.done and found.fault == ""
    assert [(call.name, dict(call.args), call.id) for call in found.calls] == [
        (call.name, dict(call.args), call.id) for call in CALLS
    ]
    assert found.finish is Finish.CALLS and found.tokens is not None
    # Gemini tells no writes to the cache, chat completions of the script neither.
    written = {"anthropic": 20, "openai-responses": 20}.get(wire, 0)
    assert found.tokens == Tokens(1000, 70, 300, written, 10)


@pytest.mark.parametrize("wire", NAMES)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(cuts=st.lists(st.integers(0, 1 << 16), max_size=40))
def test_a_stream_says_the_same_wherever_it_is_cut(wire: str, cuts: list[int]) -> None:
    check(heard(wire, stream_of(wire), cuts), wire)


@pytest.mark.parametrize("wire", NAMES)
def test_a_stream_says_the_same_byte_by_byte_and_with_other_line_ends(wire: str) -> None:
    data = stream_of(wire)
    check(heard(wire, data, list(range(len(data)))), wire)
    check(heard(wire, data.replace(b"\n", b"\r\n"), list(range(0, len(data), 3))), wire)
    check(heard(wire, data.rstrip(b"\n")), wire)


@pytest.mark.parametrize("wire", NAMES)
def test_a_whole_reply_says_the_same_as_its_stream(wire: str) -> None:
    data = json.dumps(WIRES[wire].whole(REPLY)).encode()
    check(heard(wire, data, [1, 7, 100], events=False), wire)


def test_googles_array_says_the_same() -> None:
    from devops_bench.models.wire import google

    data = json.dumps(google.responses(REPLY)).encode()
    check(heard("google", data, [5, 50], events=False), "google")


@pytest.mark.parametrize("wire", NAMES)
def test_what_was_heard_only_grows(wire: str) -> None:
    reader, before, calls = ReplyReader(wire, events=True), "", 0
    for byte in stream_of(wire):
        reader.feed(bytes([byte]))
        now = reader.heard()
        assert now.text.startswith(before) and len(now.calls) >= calls and not now.fault
        before, calls = now.text, len(now.calls)


@pytest.mark.parametrize("wire", NAMES)
def test_half_a_reply_is_cut_and_keeps_what_it_said(wire: str) -> None:
    chunks = list(WIRES[wire].chunks(PLAIN))
    at = next(n for n, chunk in enumerate(chunks) if b"Do" in chunk)
    found = heard(wire, b"".join(chunks[: at + 1]))
    assert found.fault == "cut" and found.text.startswith("Do") and not found.done
    assert heard(wire, b"").fault == "cut"
    whole = json.dumps(WIRES[wire].whole(PLAIN)).encode()
    assert heard(wire, whole[: len(whole) // 2], events=False).fault == "garbage"


@pytest.mark.parametrize("wire", NAMES)
@pytest.mark.parametrize("finish", list(Finish))
def test_every_finish_is_told(wire: str, finish: Finish) -> None:
    calls = CALLS if finish is Finish.CALLS else ()
    reply = Reply("r", "m-1", "Some text.", "", calls, Tokens(1, 1), finish, 0)
    for data, events in ((stream_of(wire, reply), True), (json.dumps(WIRES[wire].whole(reply)).encode(), False)):
        found = heard(wire, data, events=events)
        assert found.finish is finish and found.fault == "" and found.text == "Some text."


@pytest.mark.parametrize("wire", NAMES)
def test_an_empty_reply_is_empty(wire: str) -> None:
    reply = Reply("r", "m-1", "", "only thoughts", (), Tokens(1, 1), Finish.STOP, 0)
    assert heard(wire, stream_of(wire, reply)).fault == "empty"
    assert heard(wire, json.dumps(WIRES[wire].whole(reply)).encode(), events=False).fault == "empty"


# Names that the readers look for, with values that they do not expect.
FIELDS = """type message delta content_block usage choices candidates content parts functionCall name args text error
response output item arguments tool_calls function index stop_reason finishReason promptFeedback input usageMetadata
input_tokens promptTokenCount prompt_tokens output_index id status model""".split()  # noqa: SIM905
EVENTS = """message_start content_block_start content_block_delta message_delta message_stop error response.created
response.output_item.added response.output_item.done response.function_call_arguments.delta response.output_text.delta
response.completed response.incomplete response.failed""".split()  # noqa: SIM905
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "message",
                    "delta",
                    "content_block",
                    "usage",
                    "choices",
                    "candidates",
                    "content",
                    "parts",
                    "functionCall",
                    "name",
                    "args",
                    "text",
                    "error",
                    "response",
                    "output",
                    "item",
                    "arguments",
                    "tool_calls",
                    "function",
                    "index",
                    "stop_reason",
                    "finishReason",
                    "promptFeedback",
                    "input",
                    "usageMetadata",
                    "input_tokens",
                    "promptTokenCount",
                    "prompt_tokens",
                    "output_index",
                    "id",
                    "status",
                    "model",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=30,
)
KINDS = st.sampled_from(EVENTS)


@pytest.mark.parametrize("wire", NAMES)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(events=st.lists(st.tuples(KINDS, junk), max_size=5), whole=junk)
def test_json_of_any_shape_breaks_nothing(wire: str, events: list[tuple[str, Any]], whole: Any) -> None:
    data = b""
    for kind, value in events:
        body = {**value, "type": kind} if isinstance(value, dict) else value
        data += b"data: " + json.dumps(body).encode() + b"\n\n"
    for found in (heard(wire, data, [3, 30]), heard(wire, json.dumps(whole).encode(), events=False)):
        assert isinstance(found.text, str) and all(isinstance(call.args, dict) for call in found.calls)
        assert found.tokens is None or min(found.tokens.input, found.tokens.output, found.tokens.cached) >= 0
        assert "\n" not in found.error


@pytest.mark.parametrize("events", [True, False])
@pytest.mark.parametrize("wire", NAMES)
@settings(max_examples=80, deadline=None)
@given(data=st.binary(max_size=300))
@example(data=b"data: " + b"[" * 5000 + b"\n\n")
@example(data=b"[" * 100_000)
@example(data=b'{"a":' * 5000)
def test_bytes_of_any_kind_break_nothing(wire: str, events: bool, data: bytes) -> None:
    found = heard(wire, data, [1, 10], events=events)
    assert found.fault in {"garbage", "cut", "error", "empty"}


def test_what_is_kept_is_bounded() -> None:
    reader = ReplyReader("openai", events=True)
    event = {"choices": [{"delta": {"content": "x" * 100_000}}]}
    for _ in range(50):
        reader.feed(b"data: " + json.dumps(event).encode() + b"\n\n")
    for n in range(2000):
        function = {"name": "f"} if n else {"name": "f", "arguments": "y" * 8_000_000}
        call = {"choices": [{"delta": {"tool_calls": [{"index": n, "id": f"c{n}", "function": function}]}}]}
        reader.feed(b"data: " + json.dumps(call).encode() + b"\n\n")
    reader.feed(b"data: " + b"z" * (40 << 20))
    reader.feed(b"\n\ndata: " + json.dumps({"choices": [{"delta": {}, "finish_reason": "stop"}]}).encode() + b"\n\n")
    found = reader.finish()
    assert len(found.text) == MAX_TEXT and len(found.calls) == 256 and found.done


@pytest.mark.parametrize(
    ("wire", "usage", "tokens"),
    [
        ("anthropic", {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5,
                       "output_tokens": 3}, Tokens(100, 3, 90, 5)),
        ("anthropic", {"input_tokens": 5, "cache_read_input_tokens": None, "output_tokens": 3}, Tokens(5, 3)),
        ("google", {"promptTokenCount": 100, "cachedContentTokenCount": 90, "candidatesTokenCount": 3,
                    "thoughtsTokenCount": 4, "toolUsePromptTokenCount": 6}, Tokens(106, 7, 90, 0, 4)),
        ("google", {"promptTokenCount": 100, "totalTokenCount": 100}, Tokens(100, 0)),
        ("openai", {"prompt_tokens": 100, "completion_tokens": 7, "prompt_cache_hit_tokens": 64}, Tokens(100, 7, 64)),
        ("openai", {"prompt_tokens": -1, "completion_tokens": 7}, Tokens(0, 7)),
        ("openai", {"prompt_tokens": "9", "completion_tokens": True}, None),
        ("openai-responses", {"input_tokens": 9, "output_tokens": 8, "output_tokens_details": None}, Tokens(9, 8)),
    ],
)  # fmt: skip
def test_usage_means_the_same_for_all(wire: str, usage: dict[str, Any], tokens: Tokens | None) -> None:
    whole = WIRES[wire].whole(PLAIN)
    whole["usageMetadata" if wire == "google" else "usage"] = usage
    assert heard(wire, json.dumps(whole).encode(), events=False).tokens == tokens


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("SAFETY", Finish.REFUSAL),
        ("RECITATION", Finish.REFUSAL),
        ("MALFORMED_FUNCTION_CALL", None),
        ("STOP", Finish.STOP),
    ],
)
def test_googles_reasons(reason: str, finish: Finish | None) -> None:
    body = {"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": reason}]}
    found = heard("google", json.dumps(body).encode(), events=False)
    assert found.finish is finish and found.done and not found.fault
    blocked = heard("google", b'{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}', events=False)
    assert blocked.finish is Finish.REFUSAL and not blocked.fault


@pytest.mark.parametrize(
    ("wire", "event", "error"),
    [
        ("anthropic", {"type": "error", "error": {"type": "overloaded_error", "message": "Over\nloaded"}},
         "overloaded_error: Over loaded"),
        ("openai", {"error": {"message": "no", "type": "server_error"}}, "server_error: no"),
        ("google", {"error": {"code": 503, "status": "UNAVAILABLE", "message": "later"}}, "UNAVAILABLE: later"),
        ("openai-responses", {"type": "response.failed", "response": {"status": "failed", "error": {"code": "x",
         "message": "bad"}}}, "x: bad"),
        ("openai-responses", {"type": "error", "message": "top"}, "error: top"),
    ],
)  # fmt: skip
def test_an_error_in_a_stream_is_the_providers(wire: str, event: dict[str, Any], error: str) -> None:
    chunks = list(WIRES[wire].chunks(PLAIN))[:2]
    found = heard(wire, b"".join(chunks) + b"data: " + json.dumps(event).encode() + b"\n\n")
    assert found.fault == "error" and found.error == error

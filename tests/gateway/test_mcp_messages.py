"""What a client's line must be to pass: nothing that a lenient server could read as another message."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents.mcp_content import result_text, shortened
from devops_bench.gateway.mcp.messages import NotPassed, encode, read_client, read_server

CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","arguments":{}}}'


@pytest.mark.parametrize(
    "line",
    [
        CALL,
        CALL + b"\r",
        b"[" + CALL + b"]",
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","id":"s1","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}}',
        b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"Name":"t","odd":[1,{"Method":"y"}]}}',
    ],
)
def test_plain_messages_pass(line: bytes) -> None:
    assert read_client(line + b"\n")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (CALL.replace(b'"method"', b'"Method"'), "the key 'Method' is not 'method'"),
        (CALL.replace(b'"params"', b'"param\xc5\xbf"'), "is not 'params'"),  # a long s, which folds to s
        (CALL.replace(b'"name"', b'"NAME"'), "tool call without a name"),
        (CALL.replace(b'"name":"t"', b'"name":"t","Name":"u"'), "the key 'Name' is not 'name'"),
        (CALL.replace(b'"name":"t"', b'"name":"t","name":"u"'), "a key occurs twice"),
        (CALL.replace(b'"id":1', b'"id":1,"method":"ping"'), "a key occurs twice"),
        (b'{"x":\r' + CALL + b"\r}", "carriage return"),
        (CALL.replace(b'"id":1,', b""), "a tool call without an id"),
        (CALL.replace(b'"id":1', b'"id":null'), "the id is neither"),
        (CALL.replace(b'"id":1', b'"id":1.0'), "the id is neither"),
        (CALL.replace(b'"id":1', b'"id":true'), "the id is neither"),
        (CALL.replace(b"{}", b"[]").replace(b"[]", b"[1]"), "arguments are not a JSON object"),
        (CALL.replace(b"{}", b'{"a":NaN}'), "NaN is not JSON"),
        (CALL.replace(b'"t"', b'"\xff"'), "not JSON"),
        (CALL.decode().encode("utf-16"), "not JSON"),
        (b"\xef\xbb\xbf" + CALL, "not JSON"),
        (CALL + CALL, "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "an empty batch"),
        (b"[1]", "not a JSON object"),
        (b"17", "not a JSON object"),
        (b'{"jsonrpc":"2.0"}', "neither a request nor a reply"),
        (b'{"jsonrpc":"2.0","method":["tools/call"],"id":1}', "the method is no text"),
    ],
)
def test_what_can_be_read_in_two_ways_does_not_pass(line: bytes, why: str) -> None:
    with pytest.raises(NotPassed, match=why):
        read_client(line + b"\n")


@given(st.binary(max_size=200))
def test_any_bytes_pass_or_are_refused(line: bytes) -> None:
    try:
        items = read_client(line.replace(b"\n", b""))
    except NotPassed:
        return
    assert items and all(isinstance(item, dict) for item in items)


@given(st.binary(max_size=200))
def test_any_bytes_of_a_server_are_read_or_passed_over(line: bytes) -> None:
    items = read_server(line)
    assert items is None or all(isinstance(item, dict) for item in items)


@pytest.mark.parametrize(
    ("result", "text", "bad"),
    [
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb", False),
        ({"content": [{"type": "text", "text": "no"}], "isError": True}, "no", True),
        ({"content": [], "structuredContent": {"x": 1}}, '{"x": 1}', False),
        (
            {"content": [{"type": "image", "mimeType": "image/png", "data": "QUJD"}]},
            "[image image/png of 4 characters]",
            False,
        ),
        ({"content": [{"type": "resource", "resource": {"uri": "f", "text": "body"}}]}, "body", False),
        ({"content": [{"type": "resource_link", "uri": "file:///x"}]}, "file:///x", False),
        ({"task": {"taskId": "1"}}, '{"task": {"taskId": "1"}}', False),
        (None, "null", False),
    ],
)
def test_what_the_model_sees_of_a_result(result: object, text: str, bad: bool) -> None:
    assert result_text({"id": 1, "result": result}) == (text, bad)


def test_an_error_s_message_is_what_the_model_sees() -> None:
    assert result_text({"error": {"code": 1, "message": "no such tool"}}) == ("no such tool", True)


def test_long_texts_keep_head_and_tail() -> None:
    short = shortened("a" * 50 + "b" * 50, 20)
    assert short == "a" * 10 + "\n[... 80 characters left out ...]\n" + "b" * 10
    assert shortened("abc", 3) == "abc"


def test_lines_are_lines_whatever_they_hold() -> None:
    line = encode({"a": "x\ny\r\ud800"})
    assert line.count(b"\n") == 1 and b"\r" not in line
    assert json.loads(line)["a"].startswith("x\ny")

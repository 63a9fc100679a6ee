"""A stream gives the same bytes as the whole text, wherever it is cut, and holds back no more than it must."""

from __future__ import annotations

import base64
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.redact import WINDOW, Redactor

from .test_forms import ENCODERS, SECRET

SECRETS = {
    "AGENT_API_KEY": SECRET,
    "LONG_TOKEN": "sk-ant-api03-" + "".join(random.Random(3).choices("abcXYZ019-_", k=95)),
    "B_SECRET": 'abababab\\"abab',
    "MULTI_SECRET": "line-one-of-it\nline two\r\nline-three",
    "PERCENT_SECRET": "%41nd&amp;\\u0041\\n-1",
}
REDACTOR = Redactor(SECRETS)
PEM = (
    "-----BEGIN RSA PRIVATE KEY-----\n"
    + "\n".join(["MIIEowIBAAKCAQEA" * 4] * 12)
    + "\nabc=\n-----END RSA PRIVATE KEY-----\n"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"


def encoded(secret: str) -> list[str]:
    forms = [encode(secret) for encode in ENCODERS.values()]
    raw = secret.encode()
    for shift in range(3):
        forms.append(base64.b64encode(b"<<<"[:shift] + raw).decode())
        forms.append(base64.urlsafe_b64encode(b"<<<"[:shift] + raw + b">").decode().rstrip("="))
        forms.append(base64.encodebytes(b"x" * (40 + shift) + raw).decode())
        forms.append(json.dumps(base64.encodebytes(b"x" * (40 + shift) + raw).decode()))
    return forms


PIECES = [form for secret in SECRETS.values() for form in encoded(secret)]
PIECES += [PEM, json.dumps(PEM), JWT, f"Authorization: Bearer {JWT}", "client-key-data: " + "QUJD" * 20]
PIECES += [
    "AKIAIOSFODNN7EXAMPLE",
    "AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "sk-abcdefghijklmnopqrst-12",
]
FILLER = st.one_of(
    st.text(max_size=8), st.sampled_from(["\\", "%", "sk-", "s", "-----BEGIN ", "eyJ", "token", "\n", '"', "c2", "%25"])
)
TEXT = st.lists(st.one_of(FILLER, st.sampled_from(PIECES)), max_size=6).map("".join)


def streamed(text: bytes, cuts: list[int]) -> bytes:
    stream, out, at = REDACTOR.stream(), b"", 0
    for cut in [*sorted(cuts), len(text)]:
        out += stream.feed(text[at:cut])
        at = cut
    return out + stream.flush()


@given(text=TEXT, data=st.data())
@settings(max_examples=400, deadline=None)
def test_random_cuts_change_nothing(text, data) -> None:
    raw = text.encode("utf-8", "surrogatepass")
    cuts = data.draw(st.lists(st.integers(0, len(raw)), max_size=8))
    assert streamed(raw, cuts) == REDACTOR.data(raw)


@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_a_cut_at_every_position_changes_nothing(piece) -> None:
    raw = f"see {piece} there".encode()
    whole = REDACTOR.data(raw)
    assert b"[" in whole
    for cut in range(len(raw)):
        assert streamed(raw, [cut]) == whole, raw[:cut]


@pytest.mark.parametrize("piece", PIECES, ids=range(len(PIECES)))
def test_single_bytes_change_nothing(piece) -> None:
    raw = f"see {piece} there".encode()
    assert streamed(raw, list(range(len(raw)))) == REDACTOR.data(raw)


@pytest.mark.parametrize(
    "line", [b"all is well.\n", b'{"level":"info","replicas":3}\n', b"deployment.apps/web scaled\n", b"$ "]
)
def test_ordinary_output_is_passed_on_at_once(line) -> None:
    stream = REDACTOR.stream()
    assert stream.feed(line) == line
    assert stream.feed(line) == line


def test_a_whole_secret_is_replaced_without_waiting_for_more() -> None:
    stream = REDACTOR.stream()
    assert stream.feed(b"key=" + SECRETS["AGENT_API_KEY"].encode()) == b"key=[AGENT_API_KEY]"


def test_only_the_part_that_may_be_a_secret_is_held() -> None:
    stream = REDACTOR.stream()
    secret = SECRETS["AGENT_API_KEY"].encode()
    assert stream.feed(b"key=" + secret[:5]) == b"key="
    assert stream.feed(b"?") == secret[:5] + b"?"
    assert stream.feed(b"key=" + secret[:5]) == b"key="
    assert stream.feed(secret[5:]) == b"[AGENT_API_KEY]"
    assert stream.flush() == b""


def test_flush_gives_what_was_held_and_starts_afresh() -> None:
    stream = REDACTOR.stream()
    secret = SECRETS["AGENT_API_KEY"].encode()
    assert stream.feed(secret[:9]) == b""
    assert stream.flush() == secret[:9]
    assert stream.feed(secret[9:] + b".") == secret[9:] + b"."


def test_an_endless_key_is_replaced_once_and_swallowed_in_bounded_memory() -> None:
    stream = REDACTOR.stream()
    out = stream.feed(b"x sk-abcdefghijklmnopqrst0")
    held = 0
    for _ in range(200):
        out += stream.feed(b"0123456789" * 100)
        held = max(held, stream.held)
    out += stream.feed(b" end\n") + stream.flush()
    assert out == b"x [openai-api-key] end\n"
    assert held <= WINDOW + 1000 + 1


@pytest.mark.parametrize("byte", [b"\\", b" ", b"-", b"A", b"%25", b"eyJ", b"\n"])
def test_an_endless_beginning_of_nothing_passes_in_bounded_memory(byte) -> None:
    stream = REDACTOR.stream()
    start = b"-----BEGIN PRIVATE KEY-----"
    chunk = byte * 500
    out = stream.feed(start)
    for _ in range(60):
        out += stream.feed(chunk)
        assert stream.held <= 2 * (WINDOW + len(chunk) + len(start))
    out += stream.flush()
    assert out.endswith(b"[private-key]") or len(out) == len(start) + 60 * len(chunk)


def test_a_key_block_larger_than_usual_is_whole_when_streamed() -> None:
    body = "\n".join([random.Random(1).randbytes(48).hex()[:64]] * 190)
    block = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----".encode()
    assert streamed(b"a\n" + block + b"\nb", list(range(0, len(block), 1000))) == b"a\n[private-key]\nb"

"""The redactor beside the simplest thing that could be right: `bytes.replace` of every form, longest first."""

from __future__ import annotations

import base64
import json
import urllib.parse

from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.redact import Redactor

# No value has a byte of FILLER, and none begins as another ends, so that replacing is exact.
SECRETS = {
    "PLAIN_KEY": "Zq7-abcdEFGH_0123-wxyz.KLM9",
    "SIGNS_KEY": 'Yp"8/\\x+=&<tail>#%5~$9!mnoW',
    "WIDE_KEY": "Xüß€-😀-enough-to-be-long-V",
}
FILLER = [b"|", b";", b"\n", b"| |", b" ; ", b"(%)", b"(\\)", b"{}", b"\xff\x00", b"(Zq7)", b'(Yp")', b"(W", b"^" * 300]


def forms(secret: str) -> list[bytes]:
    raw = secret.encode()
    texts = [
        secret,
        urllib.parse.quote(secret, safe=""),
        urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""),
        json.dumps(secret)[1:-1],
        json.dumps(json.dumps(secret))[3:-3],
        "".join(f"%{byte:02x}" for byte in raw),
    ]
    found = [text.encode() for text in texts]
    if len(raw) % 3 == 0:
        found += [base64.b64encode(raw), base64.urlsafe_b64encode(raw)]
    return found


FORMS = sorted(
    {form: f"[{name}]".encode() for name, secret in SECRETS.items() for form in forms(secret)}.items(),
    key=lambda pair: -len(pair[0]),
)
PIECES = st.one_of(st.sampled_from([form for form, _ in FORMS]), st.sampled_from(FILLER))
# A filler between any two values: side by side they would share a label.
TEXT = st.lists(st.tuples(PIECES, st.sampled_from(FILLER)), max_size=12).map(
    lambda pairs: b"".join(part for pair in pairs for part in pair)
)
REDACTOR = Redactor(SECRETS)


def reference(text: bytes) -> bytes:
    for form, label in FORMS:
        text = text.replace(form, label)
    return text


@given(text=TEXT, cuts=st.lists(st.integers(0, 4000), max_size=10), step=st.sampled_from([0, 1, 7, 64]))
@settings(max_examples=200, deadline=None)
def test_whole_and_streamed_are_what_replacing_gives(text, cuts, step) -> None:
    wanted = reference(text)
    assert REDACTOR.data(text) == wanted
    borders = sorted({min(cut, len(text)) for cut in cuts} | set(range(0, len(text), step or len(text) + 1)))
    stream, out, at = REDACTOR.stream(), b"", 0
    for border in [*borders, len(text)]:
        out += stream.feed(text[at:border])
        at = border
    assert out + stream.flush() == wanted

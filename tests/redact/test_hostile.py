"""Output made to slow the search down or to slip past it, beside a search that tries every way at every byte."""

from __future__ import annotations

import base64
import json
import random
import re
import urllib.parse
from collections.abc import Callable

import pytest

from devops_bench.redact import Redactor
from devops_bench.redact.known import KnownPass

from .test_forms import ENCODERS, SECRET

RANDOM = random.Random(5)
SETS = {
    "one": {"KEY": SECRET},
    "many": {f"K{n}": "".join(RANDOM.choices("abcXYZ019-_", k=(8, 39, 51, 108)[n % 4])) for n in range(6)},
    "overlapping": {"A_KEY": "/abababababab\\", "B_KEY": "abababab\\\"'ab", "C_KEY": "aaaaaaaaaaaa"},
    "one begins another": {"A": "aaaa-bbbb", "B": "bbbb-cccc", "C": "bbbb-cccc-and-more"},
    "like escapes": {"P": "%41nd&amp;\\u0041\\n-1", "Q": "=+And<tail>\r\nof it"},
}
GAPS = ["", " ", "\n", "\\", "\\\\\\", "%", "%25", "&", "=", "[KEY]", "[A]", "a", "x: ", "\\u00", ", "]


def mixed(rng: random.Random, value: str) -> str:
    """Every character in a way of its own."""
    return "".join(rng.choice([str, str, *ENCODERS.values()])(char) for char in value)


def nested(rng: random.Random, value: str) -> str:
    """Base64, wrapped or escaped."""
    found = base64.b64encode(b"<<<"[: rng.randrange(4)] + value.encode() + b">>>"[: rng.randrange(4)]).decode()
    if rng.random() < 0.4:
        found = rng.choice(["\n", "\\n", "\r\n  "]).join(found[at : at + 20] for at in range(0, len(found), 20))
    return rng.choice([str, lambda text: urllib.parse.quote(text, safe=""), json.dumps])(found)


def written(rng: random.Random, value: str) -> str:
    """A value in some form."""
    return rng.choice([lambda: value, lambda: mixed(rng, value), lambda: nested(rng, value)])()


def dense(rng: random.Random, values: list[str]) -> str:
    return "".join(written(rng, rng.choice(values)) + rng.choice(GAPS) for _ in range(8))


def again(rng: random.Random, values: list[str]) -> str:
    one = written(rng, rng.choice(values))
    unit = one + rng.choice([*GAPS, one[:1], one[:3]])
    return rng.choice(GAPS) + unit * rng.randint(2, 6) + one[: rng.randint(0, len(one))] + rng.choice(GAPS)


def near_misses(rng: random.Random, values: list[str]) -> str:
    ones = [written(rng, rng.choice(values)) for _ in range(10)]
    return "".join(one[: rng.randint(1, len(one) - 1)] + rng.choice(GAPS) for one in ones)


def across(rng: random.Random, values: list[str]) -> str:
    """The end of one runs into the begin of another."""
    ones = [written(rng, rng.choice(values)) for _ in range(6)]
    return "".join(one[rng.choice((0, 0, 1, 3)) : len(one) - rng.choice((0, 0, 1, 3))] for one in ones)


def backslashes(rng: random.Random, values: list[str]) -> str:
    ones = [re.sub(r"[\\\"'/-]", lambda found: "\\" * rng.randint(0, 40) + found[0], rng.choice(values))]
    ones += ["\\" * rng.randint(1, 60), written(rng, rng.choice(values)), "\\" * rng.randint(1, 60) + "u0061"]
    rng.shuffle(ones)
    return "".join(ones)


KINDS: dict[str, Callable[[random.Random, list[str]], str]] = {
    "dense": dense,
    "again": again,
    "near misses": near_misses,
    "across": across,
    "backslashes": backslashes,
}


def reference(one: KnownPass, text: bytes) -> bytes:
    """Every byte is tried with every way; what any match covers is gone."""
    ways = [(re.compile(way), label) for way, label in zip(one._ways, one._labels, strict=True)]
    out, done, last = b"", 0, b""
    for start in range(len(text)):
        found, label = next(((hit, label) for way, label in ways if (hit := way.match(text, start))), (None, b""))
        if found is None or found.end() <= done:
            continue
        if start > done:
            out += text[done:start] + label
        elif start == done and label != last:
            out += label
        done, last = found.end(), label
    return out + text[done:]


def streamed(redactor: Redactor, text: bytes, cuts: list[int]) -> bytes:
    stream, out, at = redactor.stream(), b"", 0
    for cut in [*cuts, len(text)]:
        out += stream.feed(text[at:cut])
        at = cut
    return out + stream.flush()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
@pytest.mark.parametrize("secrets", SETS.values(), ids=SETS.keys())
def test_hostile_output_is_what_trying_everything_gives_wherever_it_is_cut(secrets, kind) -> None:
    rng = random.Random(repr((sorted(secrets), kind.__name__)))
    redactor = Redactor(secrets, shapes=False)
    one = redactor._passes[0]
    assert isinstance(one, KnownPass)
    for _ in range(30):
        text = kind(rng, list(secrets.values())).encode()
        wanted = reference(one, text)
        # Twice: the second time the finds are remembered.
        for _ in range(2):
            assert redactor.data(text) == wanted, text
        for count in (1, 5, 40, len(text)):
            cuts = sorted(rng.randrange(len(text) + 1) for _ in range(count))
            assert streamed(redactor, text, cuts) == wanted, (text, cuts)


@pytest.mark.parametrize("encode", ENCODERS.values(), ids=ENCODERS.keys())
def test_a_value_over_and_over_leaves_only_what_is_between(encode) -> None:
    redactor = Redactor({"KEY": SECRET}, shapes=False)
    one = encode(SECRET)
    for gap in ("\n", " ", "[KEY]", "; then "):
        for count in (1, 2, 3, 50):
            assert redactor.text((one + gap) * count) == ("[KEY]" + gap) * count
    assert redactor.text(one * 150) == "[KEY]"


def test_a_service_account_file_is_held_back_where_it_is_cut_too() -> None:
    """RE2 refuses one pattern for all beginnings of so much."""
    value = "".join(random.Random(9).choices('abcdefgh0123456789+/"\\\n{}:, ', k=16_000))
    redactor = Redactor({"FILE_CREDENTIALS_JSON": value, "OTHER_KEY": "0123456789-other"}, shapes=False)
    text = f"<{value}> and 0123456789-other.".encode()
    cuts = [5, 700, 9_000, 15_990, len(text) - 4]
    assert streamed(redactor, text, cuts) == b"<[FILE_CREDENTIALS_JSON]> and [OTHER_KEY]."

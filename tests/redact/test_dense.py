"""Where a text is little but secrets, stretches are replaced unseen: nothing is missed, ordinary text is not lost."""

from __future__ import annotations

import base64
import json
import random
import string
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from devops_bench.redact import WINDOW, Redactor, StreamRedactor, cutter
from devops_bench.redact.cutter import DENSE

SYMBOLS = string.ascii_letters + string.digits
RANDOM = random.Random(11)
SECRETS = {f"K{n}_API_KEY": "".join(RANDOM.choices(SYMBOLS, k=(24, 51, 108)[n % 3])) for n in range(5)}
VALUES = list(SECRETS.values())
REDACTOR = Redactor(SECRETS)
WORDS = ["pod/web-0", "is", "Running", "on", "node-3", "with", "2/2", "ready", '{"level":"info"}', "replicas:"]


def own_way(rng: random.Random, value: str) -> str:
    """Every character in a way of its own."""
    ways: tuple[Callable[[str], str], ...] = (str, lambda c: f"%{ord(c):02X}", lambda c: f"\\u{ord(c):04x}")
    return "".join(rng.choice(ways)(char) for char in value)


def value(rng: random.Random) -> str:
    """A known value in some form; four bytes of anything at most stand before it in its base64."""
    one = rng.choice(VALUES)
    encoded = base64.b64encode(b"<<<"[: rng.randrange(4)] + one.encode()).decode()
    return rng.choice([one, urllib.parse.quote(one), own_way(rng, one), encoded, json.dumps(encoded)])


def key(rng: random.Random) -> str:
    """A key that only its shape tells, new each time."""

    def symbols(count: int) -> str:
        return "".join(rng.choices(SYMBOLS, k=count))

    lines = "\n".join(base64.b64encode(rng.randbytes(48)).decode() for _ in range(rng.randint(2, 20)))
    return rng.choice(
        [
            f"ghp_{symbols(36)}",
            f"sk-proj-1{symbols(48)}",
            f"AKIA{symbols(16).upper()} {symbols(40)}",
            f"eyJ{symbols(33)}.eyJ{symbols(60)}.{symbols(43)}",
            f"-----BEGIN PRIVATE KEY-----\n{lines}\n-----END PRIVATE KEY-----",
        ]
    )


def secrets(rng: random.Random, parts: list[Callable[[random.Random], str]], gaps: list[str], size: int) -> list[str]:
    """Secrets of about `size` bytes in all, each with a gap behind it."""
    found, total = [], 0
    while total < size:
        found.append(rng.choice(parts)(rng))
        total += len(found[-1])
    return [part + rng.choice(gaps) for part in found]


def log(rng: random.Random, size: int) -> str:
    return "".join(f"{' '.join(rng.choices(WORDS, k=12))}\n" for _ in range(size // 80))


# Each pass judges by its own finds: of two kinds half and half, neither is dense.
KINDS: dict[str, tuple[list[Callable[[random.Random], str]], list[str]]] = {
    "values, a blank between": ([value], [" "]),
    "values, nothing between": ([value], [""]),
    "keys, lines": ([key], ["\n"]),
    "values and keys": ([value] * 14 + [key], [" ", "\n", ", "]),
    "values and keys, nothing between": ([value] * 14 + [key], ["", "", " "]),
}


def dense(seed: int, kind: str, size: int) -> bytes:
    rng = random.Random(f"{seed} {kind}")
    return "".join(secrets(rng, *KINDS[kind], size)).encode()


def streamed(redactor: Redactor, text: bytes, cuts: list[int]) -> bytes:
    stream, out, at = redactor.stream(), b"", 0
    for cut in [*sorted(cuts), len(text)]:
        out += stream.feed(text[at:cut])
        assert stream.held <= 3 * WINDOW
        at = cut
    return out + stream.flush()


def fed(stream: StreamRedactor, chunk: bytes) -> int:
    """How many bytes are held after one more chunk."""
    stream.feed(chunk)
    return stream.held


@given(
    seed=st.integers(0, 3),
    kind=st.sampled_from(sorted(KINDS)),
    lead=st.integers(0, 200),
    step=st.sampled_from([997, 8 << 10, 16 << 10, 40_000]),
    cuts=st.lists(st.integers(0, 70_000), max_size=12),
    crumbs=st.integers(0, 70_000),
)
@settings(max_examples=25, deadline=None)
def test_a_dense_text_comes_out_the_same_wherever_it_is_cut(seed, kind, lead, step, cuts, crumbs) -> None:
    text = b"x" * lead + b" " + dense(seed, kind, 80_000) + log(random.Random(seed), 6_000).encode()
    whole = REDACTOR.data(text)
    assert b"[SECRETS]" in whole
    borders = {*cuts, *range(0, len(text), step), *range(crumbs, crumbs + 60)}
    assert streamed(REDACTOR, text, [cut for cut in borders if cut <= len(text)]) == whole


@pytest.mark.parametrize("cut", [-1, 0, 1, 8, 30])
def test_a_cut_where_a_stretch_begins_or_ends_changes_nothing(cut) -> None:
    text = dense(1, "values and keys", 70_000)
    whole = REDACTOR.data(text)
    stream, step = REDACTOR.stream(), 256
    # A whole window is held from where the first stretch begins.
    begin = next(at - stream.held for at in range(step, len(text), step) if fed(stream, text[at - step : at]) > 4_000)
    borders = {at + cut for at in (begin, begin + WINDOW, begin + WINDOW // 2)}
    assert streamed(REDACTOR, text, sorted(borders)) == whole


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(2))
def test_no_secret_crosses_the_border_of_a_stretch(kind, seed) -> None:
    """No part of 12 symbols of any known value, and of no key that stands alone, is left."""
    rng = random.Random(f"{seed} {kind}")
    parts = secrets(rng, *KINDS[kind], 120_000)
    shown = REDACTOR.data("".join(parts).encode()).decode()
    for one in VALUES:
        for form in (one, *(base64.b64encode(b"<" * shift + one.encode()).decode()[4:-4] for shift in range(3))):
            assert not any(form[at : at + 12] in shown for at in range(len(form) - 11))
    if "" in KINDS[kind][1]:
        return
    for part in parts:
        for line in part.split():
            for at in range(0, len(line) - 16, 8):
                assert line[at : at + 16] in "-----BEGIN PRIVATE KEY-----" or line[at : at + 16] not in shown


def test_a_log_with_a_secret_in_every_line_keeps_all_its_words() -> None:
    rng = random.Random(3)
    lines = [(f"{' '.join(rng.choices(WORDS, k=12))} key=", rng.choice(list(SECRETS))) for _ in range(4_000)]
    text = "".join(f"{words}{SECRETS[name]}\n" for words, name in lines)
    assert len(text) > 8 * DENSE
    assert REDACTOR.text(text) == "".join(f"{words}[{name}]\n" for words, name in lines)


@pytest.fixture
def small_reserve(monkeypatch: pytest.MonkeyPatch) -> int:
    """The reserve in finds: that of the program takes half a second."""
    finds = 1_000
    monkeypatch.setattr(cutter, "RESERVE", finds * cutter.EACH)
    return finds


def every_line(rng: random.Random, count: int) -> list[str]:
    return [f"{' '.join(rng.choices(WORDS, k=12))} key={rng.choice([value, key])(rng)}\n" for _ in range(count)]


def test_a_log_that_goes_on_with_a_secret_in_every_line_loses_stretches(small_reserve: int) -> None:
    rng = random.Random(9)
    lines, after = every_line(rng, 12_000), log(rng, 80_000)
    shown = REDACTOR.text("".join(lines) + after)
    begin = shown.index("[SECRETS]")
    assert shown[:begin].count("\n") > small_reserve, "before that all words are kept"
    assert len(shown) < 0.6 * len("".join(lines)), "less is looked at than passed by"
    assert shown.endswith(after[WINDOW:])
    for one in VALUES:
        assert not any(one[at : at + 12] in shown for at in range(len(one) - 11))


@given(seed=st.integers(0, 2), step=st.sampled_from([997, 8 << 10, 40_000]), cuts=st.lists(st.integers(0, 900_000)))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_such_a_log_comes_out_the_same_wherever_it_is_cut(small_reserve: int, seed, step, cuts) -> None:
    text = "".join(every_line(random.Random(seed), 6 * small_reserve)).encode()
    borders = {*cuts, *range(0, len(text), step)}
    assert streamed(REDACTOR, text, [cut for cut in borders if cut <= len(text)]) == REDACTOR.data(text)


def test_dumps_of_keys_between_ordinary_text_stay_readable() -> None:
    rng = random.Random(4)
    dump = "".join(f"{name}={secret}\n" for name, secret in SECRETS.items()) * 2
    shown = "".join(f"{name}=[{name}]\n" for name in SECRETS) * 2
    body = "\n".join(base64.b64encode(rng.randbytes(48)).decode() for _ in range(50))
    pem = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n-----END RSA PRIVATE KEY-----\n"
    user = f"users:\n- name: admin\n  user:\n    client-key-data: {base64.b64encode(body.encode()).decode()}\n"
    between = log(rng, 4_000)
    assert REDACTOR.text((dump + pem + user + between) * 20) == (
        (
            shown
            + "[private-key]\n"
            + "users:\n- name: admin\n  user:\n    client-key-data: [client-key-data]\n"
            + between
        )
        * 20
    )


def test_less_than_the_limit_is_said_name_by_name() -> None:
    rng = random.Random(5)
    names = [rng.choice(list(SECRETS)) for _ in range(DENSE // 60)]
    text = " ".join(SECRETS[name] for name in names)[:DENSE]
    names = names[: text.count(" ")]
    text = text[: text.rindex(" ")]
    assert REDACTOR.text(text) == " ".join(f"[{name}]" for name in names)


@pytest.mark.parametrize("kind", KINDS)
def test_what_follows_is_readable_again(kind) -> None:
    text = log(random.Random(6), 60_000).encode()
    shown = REDACTOR.data(dense(6, kind, 120_000) + b"\n" + text)
    assert shown.endswith(text[WINDOW:])
    assert len(shown) < len(text) + DENSE


@pytest.mark.parametrize("kind", KINDS)
def test_redacting_a_dense_text_twice_changes_nothing_more(kind) -> None:
    once = REDACTOR.data(dense(7, kind, 120_000))
    assert REDACTOR.data(once) == once


def test_what_begins_in_a_stretch_and_goes_on_behind_it_is_hidden_to_its_end() -> None:
    """At every distance from the border: the last secret of the text, of which no pass may see only the rest."""
    lead = "".join(secrets(random.Random(8), [value], [" "], DENSE + 2 * WINDOW))
    lead = lead[: lead.rindex(" ") + 1]
    stretch = " ".join([VALUES[0]] * (WINDOW // 25))
    ends = [
        f"ghp_{SYMBOLS[:40]}",
        f"AKIA{SYMBOLS[26:42].upper()}\t{SYMBOLS[:40]}",
        VALUES[2],
        own_way(RANDOM, VALUES[1]),
    ]
    for end in ends:
        for shift in range(0, 250, 7):
            cut = stretch[: len(stretch) - shift].rsplit(" ", 1)[0]
            shown = REDACTOR.text(f"{lead}{'.' * (shift % 25)} {cut} {end} the end")
            assert shown.endswith((" the end", "[SECRETS]"))
            assert end[-12:] not in shown

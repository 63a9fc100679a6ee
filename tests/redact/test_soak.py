"""A gigabyte of hostile output: secrets in every form, cut anywhere; none gets through.

Its speed is measured by `python -m bench redact`.
"""

from __future__ import annotations

import os
import random

import pytest

from devops_bench.redact import Redactor

from .test_stream import PIECES, SECRETS

SIZE = int(os.environ.get("REDACT_SOAK_BYTES", 1 << 30))
WORDS = [b"pod/web-0", b"Running", b"\\", b"%", b"sk-", b"eyJ", b'{"a":1}', b"\n", b"\x00\xff", b"c2Vj", b"-----BEGIN "]
MARK = b"<;|>"


def portion(rng: random.Random) -> bytes:
    """About 50 KB with a secret in some form every kilobyte."""
    raw = []
    for _ in range(40):
        raw += [MARK, b" ".join(rng.choices(WORDS, k=rng.randint(1, 300))), MARK]
        raw.append(rng.choice(PIECES).encode("utf-8", "surrogatepass"))
    return b"".join([*raw, MARK])


def cuts(rng: random.Random, size: int) -> list[int]:
    """Where a text is cut: mostly as pipes do it, sometimes in crumbs, at times byte by byte for a stretch."""
    kind = rng.choices(("pipe", "lines", "crumbs"), (80, 17, 3))[0]
    step = {"pipe": (1 << 13, 1 << 16), "lines": (200, 4000), "crumbs": (1, 60)}[kind]
    found, at = [], 0
    while at < size:
        at += rng.randint(*step)
        found.append(min(at, size))
    if kind == "pipe":
        start = rng.randrange(size)
        found += range(start, min(size, start + 64))
    return sorted(set(found))


def leaks(text: bytes) -> list[str]:
    """Names of secrets of which a form is in `text`."""
    forms = {form.encode("utf-8", "surrogatepass") for form in PIECES}
    return [form.decode(errors="replace")[:40] for form in forms if form in text]


def hostile(size: int, seed: int) -> None:
    rng = random.Random(seed)
    redactor = Redactor(SECRETS)
    stream = redactor.stream()
    # Portions are played again and again, each time cut at other places.
    portions = [portion(rng) for _ in range(24)]
    whole = [redactor.data(one) for one in portions]
    for one in whole:
        assert not leaks(one), (seed, leaks(one))
        assert MARK in one, "the rest is still there"
    passed = 0
    while passed < size:
        number = rng.randrange(len(portions))
        raw, wanted, out, at = portions[number], whole[number], [], 0
        for cut in cuts(rng, len(raw)):
            out.append(stream.feed(raw[at:cut]))
            at = cut
        out.append(stream.flush())
        assert b"".join(out) == wanted, f"seed {seed}: portion {number} comes out otherwise when it is cut"
        passed += len(raw)


def test_a_few_megabytes_of_hostile_output() -> None:
    hostile(2 << 20, seed=1)


@pytest.mark.soak
def test_a_gigabyte_of_hostile_output() -> None:
    hostile(SIZE, seed=2)

"""Redactor speed on ordinary and on hostile output, beside the obvious way in the same run.

The baseline is one `re` alternation of the raw values and the simple key shapes: it knows neither encodings nor chunk
borders, and is what most programs do. All figures are MB per second of CPU time, the best of some rounds: other
programs on the machine do not count. `python -m bench redact` prints one line per case.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import time
import urllib.parse
from collections.abc import Callable
from functools import partial

from devops_bench.redact import Redactor

SIZE = 1 << 20
CHUNKS = (8 << 10, 64 << 10)
SECRETS = 8


def make_log(size: int, values: list[str], every: int) -> bytes:
    """JSON log lines of about `size` bytes with one of the values in one of `every` lines (0: none)."""
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))) for _ in range(2000)]
    lines: list[str] = []
    total = 0
    while total < size:
        text = " ".join(rng.choices(words, k=8))
        if every and len(lines) % every == 0:
            text += " " + rng.choice(values)
        line = (
            f'{{"time":"2026-01-01T00:00:{len(lines) % 60:02d}Z","msg":"{text}","path":"/api/v1/pods/{len(lines)}"}}\n'
        )
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()


def encodings(secret: str) -> list[str]:
    """One value as programs write it."""
    shifted = [base64.b64encode(b"xx"[:shift] + secret.encode()).decode() for shift in range(3)]
    return [secret, urllib.parse.quote(secret, safe=""), json.dumps(json.dumps(secret))[3:-3], *shifted]


def mixed(rng: random.Random, text: str) -> bytes:
    """Every character written in a way of its own: no two finds are equal."""
    ways: tuple[Callable[[str], str], ...] = (str, lambda c: f"%{ord(c):02X}", lambda c: f"\\u{ord(c):04x}")
    return "".join(rng.choice(ways)(char) for char in text).encode()


def keys(rng: random.Random) -> list[bytes]:
    """Keys that only their shape tells."""

    def symbols(count: int) -> str:
        return "".join(rng.choices(string.ascii_letters + string.digits, k=count))

    lines = "\n".join(base64.b64encode(rng.randbytes(48)).decode() for _ in range(20))
    texts = [
        *(f"ghp_{symbols(36)}" for _ in range(8)),
        *(f"sk-proj-1{symbols(48)}" for _ in range(8)),
        *(f"AKIA{symbols(16).upper()}" for _ in range(8)),
        *(f"eyJ{symbols(33)}.eyJ{symbols(60)}.{symbols(43)}" for _ in range(8)),
        *(f"authorization: Bearer {symbols(40)}" for _ in range(8)),
        f"-----BEGIN RSA PRIVATE KEY-----\n{lines}\n-----END RSA PRIVATE KEY-----",
    ]
    return [text.encode() for text in texts]


def cases(secrets: dict[str, str]) -> dict[str, bytes]:
    """Outputs by name."""
    rng = random.Random(3)
    values = list(secrets.values())
    forms = [form for secret in values for form in encodings(secret)]
    shaped = keys(rng)

    def filled(part: Callable[[], bytes], size: int = SIZE) -> bytes:
        return b" ".join(part() for _ in range(size // (len(part()) + 1)))

    texts = {
        "log, no secret": make_log(SIZE, [], 0),
        "log, a secret in 1 of 100 lines": make_log(SIZE, forms, 100),
        "log, a secret in 1 of 10 lines": make_log(SIZE, forms, 10),
        "log, a secret in every line": make_log(SIZE, forms, 1),
        "one value, line by line": values[0].encode() + b"\n",
        "a value back to back": values[0].encode(),
        "values in all forms, a blank between": filled(lambda: rng.choice(forms).encode()),
        "values, every byte its own way": filled(lambda: mixed(rng, rng.choice(values))),
        "keys of known shapes": filled(lambda: rng.choice(shaped)),
        "near misses of values": filled(lambda: rng.choice(forms)[:12].encode()),
        "near misses, every byte its own way": filled(lambda: mixed(rng, rng.choice(values)[:12])),
        "near misses of shapes": filled(
            lambda: rng.choice((b"sk-learn-with-many-words", b"eyJ.eyJ.", b"AKIA", b"gh_"))
        ),
        "one line of base64": base64.b64encode(rng.randbytes(SIZE * 3 // 4)),
        "random bytes": rng.randbytes(SIZE),
        "backslashes": b"\\" * SIZE,
        "blanks": b" " * SIZE,
        "backslashes in a value": values[0][:8].encode() + b"\\" * 5000 + b"u002d",
        "keys without end": b"sk-a1" * (SIZE // 5),
    }
    return {name: (text * -(-SIZE // len(text)))[:SIZE] for name, text in texts.items()}


def speed(work: Callable[[], object], size: int, rounds: int = 3) -> float:
    """MB per CPU second, the best of `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return size / best / 1e6


def streamed(redactor: Redactor, text: bytes, chunk: int) -> None:
    """Feed a stream."""
    stream = redactor.stream()
    for at in range(0, len(text), chunk):
        stream.feed(text[at : at + chunk])
    stream.flush()


def lasting(redactor: Redactor, text: bytes) -> float:
    """MB per CPU second of a stream that goes on like this, past what finds may take more than their share."""
    stream, chunk, skipped, measured = redactor.stream(), text[: 64 << 10], 24 << 20, 24 << 20
    for _ in range(skipped // len(chunk)):
        stream.feed(chunk)
    return speed(lambda: [stream.feed(chunk) for _ in range(measured // len(chunk))], measured, rounds=1)


def main() -> None:
    """Print one line per case."""
    rng = random.Random(2)
    alphabet = string.ascii_letters + string.digits + "-_"
    secrets = {f"K{n}_API_KEY": "".join(rng.choices(alphabet, k=(39, 51, 108)[n % 3])) for n in range(SECRETS)}
    start = time.process_time()
    redactor = Redactor(secrets)
    redactor.data(b"warm up")
    streamed(redactor, b"warm up", 4)
    ready = (time.process_time() - start) * 1e3
    print(f"redact: ready after {ready:.0f} ms of CPU with {len(secrets)} secrets (import of RE2 included)")

    shapes = rb"|AIza[\w-]{33,}|\bsk-[\w-]{20,}|\bgh[pousr]_\w{30,}|\bAKIA[A-Z0-9]{16}|\bxox[abp]-[\w-]{10,}"
    baseline = re.compile(b"|".join(re.escape(value.encode()) for value in secrets.values()) + shapes)
    print(f"{'MB per CPU second':<36} {'whole':>8} {'8 KiB':>8} {'64 KiB':>8} {'lasting':>8} {'re alternation':>15}")
    for name, text in cases(secrets).items():
        figures = [speed(partial(redactor.data, text), len(text))]
        figures += [speed(partial(streamed, redactor, text, chunk), len(text)) for chunk in CHUNKS]
        figures.append(lasting(redactor, text))
        plain = speed(partial(baseline.sub, b"[X]", text), len(text), rounds=1)
        print(f"{name:<36} " + " ".join(f"{figure:>8.0f}" for figure in figures) + f" {plain:>15.0f}", flush=True)


if __name__ == "__main__":
    main()

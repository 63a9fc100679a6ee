"""Redactor speed beside the obvious way: one `re` alternation of the raw values and the simple key shapes, same run.

The baseline knows neither encodings nor chunk borders; it is what most programs do. Prints MB/s and the ratio.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections.abc import Callable

from devops_bench.redact import Redactor

CHUNK = 64 << 10


def make_log(size: int, secrets: list[str], every: int) -> bytes:
    """JSON log lines of about `size` bytes with a secret in one of `every` lines (0: none)."""
    rng = random.Random(1)
    words = ["".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))) for _ in range(2000)]
    lines, total = [], 0
    while total < size:
        text = " ".join(rng.choices(words, k=8))
        if every and len(lines) % every == 0:
            text += " " + rng.choice(secrets)
        line = (
            f'{{"time":"2026-01-01T00:00:{len(lines) % 60:02d}Z","msg":"{text}","path":"/api/v1/pods/{len(lines)}"}}\n'
        )
        lines.append(line)
        total += len(line)
    return "".join(lines).encode()


def megabytes_per_second(work: Callable[[], object], size: int, rounds: int = 3) -> float:
    """The best of `rounds`."""
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return size / best / 1e6


def main() -> None:
    """Print one line per case."""
    rng = random.Random(2)
    alphabet = string.ascii_letters + string.digits + "-_"
    secrets = {f"K{n}_API_KEY": "".join(rng.choices(alphabet, k=(39, 51, 108)[n % 3])) for n in range(6)}
    start = time.perf_counter()
    redactor = Redactor(secrets)
    redactor.data(b"warm up")
    stream = redactor.stream()
    stream.feed(b"warm up")
    stream.flush()
    ready = (time.perf_counter() - start) * 1e3
    print(f"redact: ready after {ready:.0f} ms with {len(secrets)} secrets (import of RE2 included)")

    shapes = rb"|AIza[\w-]{33,}|\bsk-[\w-]{20,}|\bgh[pousr]_\w{30,}|\bAKIA[A-Z0-9]{16}|\bxox[abp]-[\w-]{10,}"
    baseline = re.compile(b"|".join(re.escape(value.encode()) for value in secrets.values()) + shapes)
    for name, every in (("clean log", 0), ("a secret in 1 of 100 lines", 100)):
        log = make_log(8 << 20, list(secrets.values()), every)

        def streamed(log: bytes = log) -> None:
            one = redactor.stream()
            for at in range(0, len(log), CHUNK):
                one.feed(log[at : at + CHUNK])
            one.flush()

        plain = megabytes_per_second(lambda log=log: baseline.sub(b"[X]", log), len(log))
        whole = megabytes_per_second(lambda log=log: redactor.data(log), len(log))
        chunks = megabytes_per_second(streamed, len(log))
        print(
            f"redact: {name}: whole {whole:.0f} MB/s ({whole / plain:.1f}x), 64 KiB chunks {chunks:.0f} MB/s"
            f" ({chunks / plain:.1f}x), re alternation {plain:.0f} MB/s"
        )


if __name__ == "__main__":
    main()

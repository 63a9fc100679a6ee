"""Whatever the output says, the work is linear in its length. Work is counted, not timed: bytes read by the scans."""

from __future__ import annotations

import pytest

from devops_bench.redact import Redactor
from devops_bench.redact.cutter import Cutter, Pass
from devops_bench.redact.rx import Find

SECRETS = {"A_KEY": "/abababababab\\", "B_KEY": "abababab\\\"'ab", "C_KEY": "aaaaaaaaaaaa"}
RUNS = {
    "keys in keys": b"sk-",
    "keys with digits in keys": b"sk-a1",
    "words like keys": b"sk-abcdefghijklmnopqrstuvw ",
    "tokens without end": b"eyJabcdefgh.",
    "tokens without parts": b"eyJ.",
    "nested candidates": b"sk-eyJ-",
    "ids in a token's head": b"eyJ-AKIAIOSFODNN7EXAMPLE-",
    "key blocks": b"-----BEGIN PRIVATE KEY-----\n",
    "names": b"token: ",
    "schemes": b"bearer ",
    "backslashes": b"\\",
    "percents": b"%25",
    "blanks": b" ",
    "one letter": b"a",
    "values that overlap": b"ab",
    "values and runs": b"abababab" + b"\\" * 500 + b"\"'ab",
}
# Every byte may be read some times over: by the next search after a hit, and by looks at what is nested in one.
TIMES = 20


class Counting:
    """A search that counts what it reads: up to the end of the hit, or to the end of the text if there is none."""

    def __init__(self, find: Find) -> None:
        self.find, self.read = find, 0

    def __call__(self, text: bytes, at: int) -> tuple[int, int]:
        start, end = self.find(text, at)
        self.read += (end if start >= 0 else len(text)) - at
        return start, end


def work(one: Pass, text: bytes, chunk: int) -> int:
    cutter = Cutter(one)
    cutter._find = counting = Counting(cutter._find)
    for at in range(0, len(text), chunk):
        cutter.feed(text[at : at + chunk])
    cutter.feed(b"", final=True)
    return counting.read


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_no_run_makes_the_work_grow_faster_than_the_text(run) -> None:
    text = run * (48_000 // len(run))
    for one in Redactor(SECRETS)._passes:
        # A crumb is read again with what comes after it, so chunks are not too small here.
        assert work(one, text, 1 << 14) <= TIMES * len(text)

"""A stable name for a failure that nobody has described yet: the same fault gives the same name on every run and host.

What varies from run to run (times, ids, addresses, numbers, paths, names of temporary things) is taken out first.
"""

from __future__ import annotations

import hashlib
import re

from devops_bench.settings import Phase

PREFIX = "fp-"
LINES = 3
CHARS = 300
_TELLING = re.compile(
    r"error|fail|fatal|panic|exception|denied|refused|cannot|could not|unable|invalid|timed out", re.I
)
_VOLATILE: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern, re.I), by)
    for pattern, by in (
        (r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:z|[+-]\d\d:?\d\d)?", "<time>"),
        (r"\b\d\d:\d\d:\d\d(?:[.,]\d+)?\b", "<time>"),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<id>"),
        (r"\b[a-z][a-z0-9+.-]*://[^\s\"'<>)]+", "<url>"),
        (r"(?<![\w.])(?:~|\.{1,2})?/[\w.@+~:=-]+(?:/[\w.@+~:=-]*)*", "<path>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b", "<address>"),
        (r"\[[0-9a-f:]*::[0-9a-f:]*\](?::\d+)?", "<address>"),
        (r"-[bcdfghjklmnpqrstvwxz2456789]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b", "-<pod>"),
        (r"\b(?:sha256:)?[0-9a-f]{12,}\b", "<id>"),
        (r"\bc[0-9a-f]{7}(?:-[\w-]+)?\b", "<cluster>"),
        (r"\b(?=\w*\d)(?=\w*[a-z])[a-z0-9]{8,}\b", "<id>"),
        (r"0x[0-9a-f]+", "<n>"),
        (r"\d+(?:[.,]\d+)*", "<n>"),
    )
)  # fmt: skip


def stable(text: str) -> str:
    """The telling lines of `text` with everything volatile replaced; at most LINES lines."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [line for line in lines if line]
    telling = [line for line in lines if _TELLING.search(line)] or lines[-1:]
    return "\n".join(dict.fromkeys(_plain(line) for line in telling[-LINES:]))


def _plain(line: str) -> str:
    line = line[: 4 * CHARS].lower()
    for pattern, by in _VOLATILE:
        line = pattern.sub(by, line)
    return line[:CHARS]


def fingerprint(text: str, phase: Phase | None, exit_code: int | None = None) -> str:
    """`fp-` and 12 hex digits of phase and stable text; of the exit code only when there are no words."""
    core = stable(text)
    where = phase.value if phase is not None else "-"
    if not core:
        core = f"exit {exit_code}"
    return PREFIX + hashlib.sha256(f"{where}\n{core}".encode()).hexdigest()[:12]

"""What the HTML report shows of one attempt beyond the summary: its calls, findings and evidence, trimmed to a page.

Everything here comes from an agent or a cluster and is hostile input: it is cut, made printable, and escaped by the
template. Reading stops at a size, so that one talkative agent does not make a report of gigabytes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.report import texts
from devops_bench.report.model import Combo
from devops_bench.results.read import read_records

CALLS_SHOWN = 60
ARGS_CHARS = 300
RESULT_CHARS = 300
OUTPUT_CHARS = 4000
RECORD_BYTES = 32 << 20
AUDIT_BYTES = 16 << 20
_READS = frozenset({"get", "list", "watch"})


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call of the transcript; `index` counts from 1."""

    index: int
    name: str
    args: str
    result: str
    status: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """The API server's own count of the agent's requests: `refused` were answered 401 or 403."""

    reads: int
    writes: int
    refused: int
    complete: bool

    @property
    def text(self) -> str:
        """`2 reads, 1 write, 0 refused`."""
        reads = f"{self.reads} read{'' if self.reads == 1 else 's'}"
        writes = f"{self.writes} write{'' if self.writes == 1 else 's'}"
        return f"{reads}, {writes}, {self.refused} refused" + ("" if self.complete else " (log cut)")


@dataclass(frozen=True, slots=True)
class Details:
    """`left_out` calls stand between the first and the last ones shown. `statuses` has every call's status."""

    calls: tuple[Call, ...] = ()
    left_out: int = 0
    statuses: tuple[str, ...] = ()
    output: str = ""
    findings: tuple[tuple[str, str, str], ...] = ()
    integrity: str = ""
    evidence: Evidence | None = None
    problem: str = ""


def read(combo: Combo) -> Details:
    """The details of the counted attempt; empty, with a line in `problem`, where its files cannot be read."""
    if combo.directory is None:
        return Details()
    evidence = _evidence(combo.directory / "audit.jsonl")
    path = combo.directory / "results.json"
    try:
        if path.stat().st_size > RECORD_BYTES:
            return Details(evidence=evidence, problem=f"results.json is larger than {RECORD_BYTES >> 20} MiB")
        records = read_records(path)
    except FileNotFoundError:
        return Details(evidence=evidence)
    except (OSError, ConfigError) as error:
        return Details(evidence=evidence, problem=texts.plain(str(error), 300))
    return _of_record(records[0], evidence) if records else Details(evidence=evidence)


def _of_record(record: Mapping[str, Any], evidence: Evidence | None) -> Details:
    raw = record.get("trajectory")
    entries = [entry for entry in raw if isinstance(entry, Mapping)] if isinstance(raw, list) else []
    half = CALLS_SHOWN // 2
    shown = list(enumerate(entries, start=1))
    left_out = max(len(shown) - CALLS_SHOWN, 0)
    if left_out:
        shown = [*shown[:half], *shown[-half:]]
    report = record.get("cheating_report")
    report = report if isinstance(report, Mapping) else {}
    found = report.get("findings")
    return Details(
        calls=tuple(_call(index, entry) for index, entry in shown),
        left_out=left_out,
        statuses=tuple(_status(entry) for entry in entries[:2000]),
        output=_block(record.get("output"), OUTPUT_CHARS),
        findings=tuple(
            (
                texts.plain(str(f.get("severity")), 20),
                texts.plain(str(f.get("category")), 60),
                texts.plain(str(f.get("excerpt")), 240),
            )
            for f in (found if isinstance(found, list) else [])[:20]
            if isinstance(f, Mapping)
        ),
        integrity=texts.plain(str(report.get("status") or ""), 20),
        evidence=evidence,
    )


def _call(index: int, entry: Mapping[str, Any]) -> Call:
    args = entry.get("args")
    if isinstance(args, Mapping) and len(args) == 1:
        args = next(iter(args.values()))
    shown = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str)
    return Call(
        index=index,
        name=texts.plain(str(entry.get("name") or "?"), 60),
        args=texts.plain(shown[: ARGS_CHARS * 4], ARGS_CHARS),
        result=_block(entry.get("result"), RESULT_CHARS),
        status=_status(entry),
    )


def _status(entry: Mapping[str, Any]) -> str:
    status = str(entry.get("status") or "")
    return status if status in {"ok", "error", "blocked"} else "error" if status == "failed" else "ok"


def _block(value: Any, limit: int) -> str:
    """Several lines, each printable, cut in the middle of nowhere when too long."""
    text = (
        value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    )
    cut = text[:limit]
    lines = ("".join(char if char.isprintable() or char == "\t" else " " for char in line) for line in cut.splitlines())
    return "\n".join(lines) + ("…" if len(text) > limit else "")


def _evidence(path: Path) -> Evidence | None:
    """Counts over an audit log; None when there is none. Lines that are no event do not count."""
    try:
        with path.open("rb") as handle:
            raw = handle.read(min(os.fstat(handle.fileno()).st_size, AUDIT_BYTES + 1))
    except OSError:
        return None
    kinds: Counter[str] = Counter()
    for line in raw[:AUDIT_BYTES].splitlines():
        try:
            event = json.loads(line)
            verb, code = event.get("verb"), (event.get("responseStatus") or {}).get("code")
        except (ValueError, AttributeError, RecursionError):
            continue
        if code == 401 or code == 403:
            kinds["refused"] += 1
        elif isinstance(verb, str):
            kinds["reads" if verb in _READS else "writes"] += 1
    return Evidence(kinds["reads"], kinds["writes"], kinds["refused"], len(raw) <= AUDIT_BYTES)

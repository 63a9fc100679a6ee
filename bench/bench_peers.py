"""devops-bench side by side with Harbor, Inspect AI and Inspect Steward: `python -m bench peers`, never by itself.

Each round visits every subject and every size in turn, so that a drifting machine hits all alike; figures are medians.
A table is printed, every single measurement goes to a JSON file. Knobs (environment): PEERS_COUNTS (50,200),
PEERS_ROUNDS (3), PEERS_KILLS (1), PEERS_ONLY (names), PEERS_JSON (path). `python -m bench.bench_peers FILE...` prints
the table of such files.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench.peers import killing, meter
from bench.peers.subjects import WIDTH, DevopsBench, Harbor, Inspect, InspectSamples, Job, Steward, Subject

SUBJECTS: tuple[type[Subject], ...] = (DevopsBench, Harbor, Inspect, InspectSamples, Steward)
STEWARD_COUNTS = (4, 16)
Measured = dict[str, Any]


def main() -> None:
    """Run all rounds, print the table as Markdown, write the JSON."""
    counts = [int(word) for word in os.environ.get("PEERS_COUNTS", "50,200").split(",")]
    rounds = int(os.environ.get("PEERS_ROUNDS", "3"))
    kills = int(os.environ.get("PEERS_KILLS", "1"))
    only = [name for name in os.environ.get("PEERS_ONLY", "").split(",") if name]
    meter.become_reaper()
    subjects = [made() for made in SUBJECTS if not only or made.name in only]
    out = Path(os.environ.get("PEERS_JSON") or Path(tempfile.gettempdir()) / "peers.json")
    found: Measured = {"machine": _machine(), "width": WIDTH, "versions": {}, "runs": [], "kills": []}
    for subject in subjects:
        found["versions"][subject.name] = subject.version
    for number in range(rounds):
        for subject in subjects:
            for count in STEWARD_COUNTS if isinstance(subject, Steward) else counts:
                _guarded(found["runs"], subject, number, partial(_one, subject, count))
                out.write_text(json.dumps(found, indent=1))
    for number in range(kills):
        for subject in subjects:
            if isinstance(subject, InspectSamples):
                continue
            for scope in killing.Scope:
                _guarded(found["kills"], subject, number, partial(_kill, subject, scope))
                out.write_text(json.dumps(found, indent=1))
    found["machine"]["load_after"] = os.getloadavg()[0]
    out.write_text(json.dumps(found, indent=1))
    print(table(found))
    print(f"\nevery measurement: {out}", file=sys.stderr)


def merged(files: list[Path]) -> Measured:
    """Measurements of several JSON files as one."""
    parts: list[Measured] = [json.loads(file.read_text()) for file in files]
    return {
        "versions": {name: version for part in parts for name, version in part["versions"].items()},
        "runs": [run for part in parts for run in part["runs"]],
        "kills": [kill for part in parts for kill in part["kills"]],
    }


def _guarded(into: list[Measured], subject: Subject, number: int, work: Callable[[Path], Measured]) -> None:
    """One measurement in a folder of its own; a failure is part of the result and ends nothing else."""
    head = {"subject": subject.name, "round": number, "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as tmp:
        root = Path(tmp)
        try:
            into.append({**head, **work(root)})
        except Exception as problem:  # a peer may do anything; the others go on
            log = root / "log"
            tail = log.read_text(errors="replace")[-1500:] if log.exists() else ""
            into.append({**head, "problem": f"{type(problem).__name__}: {problem}", "log": tail})
    print(json.dumps(into[-1])[:400], file=sys.stderr, flush=True)


def _kill(subject: Subject, scope: killing.Scope, root: Path) -> Measured:
    return {"scope": scope.value, **asdict(killing.kill_and_resume(subject, scope, root))}


def _one(subject: Subject, count: int, root: Path) -> Measured:
    """A run of `count` combos, its status, its resume when it is finished."""
    job = Job(root, count, meter.token())
    subject.prepare(job)
    env = subject.env(job)
    cwd = root / "work" if (root / "work").is_dir() else root
    log = root / "log"
    started = time.perf_counter()
    parts = [meter.measure(argv, env, cwd, log) for argv in subject.run(job)]
    wall = time.perf_counter() - started
    done = subject.finished(job)
    if len(done) != count or max(done.values()) != 1 or any(part.exit for part in parts[-1:]):
        raise RuntimeError(f"{len(done)} of {count} combos finished, exit {parts[-1].exit}")
    status = subject.status(job)
    asked = [meter.measure(status, env, cwd, log) for _ in range(3)] if status else []
    again = [meter.measure(subject.resume(job), env, cwd, log) for _ in range(2)]
    return {
        "count": count,
        "wall": wall,
        "cpu": sum(part.cpu for part in parts),
        "peak_mb": max(part.peak_mb for part in parts),
        "status_wall": statistics.median(part.wall for part in asked) if asked else None,
        "status_cpu": statistics.median(part.cpu for part in asked) if asked else None,
        "resume_wall": statistics.median(part.wall for part in again),
        "resume_cpu": statistics.median(part.cpu for part in again),
        "resume_exit": again[-1].exit,
    }


def table(found: Measured) -> str:
    """Two Markdown tables: cost, and what a kill does."""
    lines = [
        "| subject | N | CPU/combo | wall/combo | further combo: CPU | memory | per further combo"
        " | status | status CPU | resume | resume CPU |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name in found["versions"]:
        rows = [run for run in found["runs"] if run["subject"] == name and "problem" not in run]
        counts = sorted({run["count"] for run in rows})
        mid = {n: _medians([run for run in rows if run["count"] == n]) for n in counts}
        for n in counts:
            here, first = mid[n], mid[counts[0]]
            more = n - counts[0]
            each = f"{(here['cpu'] - first['cpu']) / more * 1000:.0f} ms" if more else ""
            grows = f"{(here['peak_mb'] - first['peak_mb']) / more:.2f} MB" if more else ""
            cells = [
                name,
                str(n),
                f"{here['cpu'] / n * 1000:.0f} ms",
                f"{here['wall'] / n * 1000:.0f} ms",
                each,
                f"{here['peak_mb']:.0f} MB",
                grows,
                *(_seconds(here[key]) for key in ("status_wall", "status_cpu", "resume_wall", "resume_cpu")),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    names = list(killing.Outcome.__dataclass_fields__)
    lines += ["", "| killed | whom | " + " | ".join(names) + " |", "|---|---|" + "--:|" * len(names)]
    for kill in found["kills"]:
        cells = [str(kill[name]) for name in names] if "problem" not in kill else [kill["problem"]]
        lines.append(f"| {kill['subject']} | {kill.get('scope', killing.Scope.DRIVER)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _medians(rows: list[Measured]) -> Measured:
    numbers = ("cpu", "wall", "peak_mb", "status_wall", "status_cpu", "resume_wall", "resume_cpu")
    return {key: None if rows[0][key] is None else statistics.median(row[key] for row in rows) for key in numbers}


def _seconds(value: float | None) -> str:
    return "none offered" if value is None else f"{value:.2f} s"


def _machine() -> Measured:
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "cpus": os.cpu_count(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_before": os.getloadavg()[0],
        "commit": commit.stdout.strip(),
    }


if __name__ == "__main__":
    print(table(merged([Path(word) for word in sys.argv[1:]])))

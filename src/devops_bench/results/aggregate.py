"""`python -m devops_bench.results.aggregate ROOT`: every attempt's rows.json below ROOT becomes one batch.

Also called by the supervisor when a run ends. The result is a cache: made again from the same tree it differs only in
the stamp.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devops_bench.errors import BenchError, ConfigError, ExitCode
from devops_bench.paths import atomic_write, private_dir
from devops_bench.plaintext import counted
from devops_bench.results.environment import rules_label
from devops_bench.results.jsontext import dumps
from devops_bench.results.manifest import SCHEMA_VERSION
from devops_bench.results.read import read_manifest, read_object, read_rows
from devops_bench.results.setup import RUN_ID, parse_time, utc_now

ROWS = "rows.json"
MANIFEST = "manifest.json"
MANIFESTS = "manifests.json"
ENVIRONMENT = "environment.json"

Key = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Batch:
    """What was written: rows and manifests as they stand in the files, how many files were read, and warnings."""

    rows: list[dict[str, Any]]
    manifests: list[dict[str, Any]]
    files: int
    warnings: list[str]


@dataclass(frozen=True, slots=True)
class _Sourced:
    row: dict[str, Any]
    source: Path

    @property
    def rank(self) -> tuple[bool, datetime, str]:
        """Scored before unscored, then the later one; the path only makes ties the same every time."""
        return (self.row.get("outcomeScore") is not None, parse_time(self.row["t"]), str(self.source))


def find_rows(root: Path, out: Path) -> list[Path]:
    """Every attempt's rows.json below `root`, sorted. Aggregates (OUT's own and others') are no source."""
    found = []
    for folder, dirs, files in os.walk(root):
        dirs.sort()
        if ROWS not in files or Path(folder) == out:
            continue
        if MANIFESTS in files and MANIFEST not in files:
            continue
        found.append(Path(folder, ROWS))
    return found


def collect(sources: Sequence[Path], run_id: str, t: str) -> Batch:
    """Read and merge. Raises ConfigError naming the file of a malformed row or manifest."""
    best: dict[Key, _Sourced] = {}
    warnings = []
    rules = _RulesSeen()
    for source in sources:
        rows = read_rows(source)
        rules.add({row["setupId"] for row in rows}, source)
        for row in rows:
            key = (row["setupId"], row["taskFolder"], row["iteration"])
            new, old = _Sourced(row, source), best.get(key)
            if old is not None and (old.row["model"], old.row["harness"]) != (row["model"], row["harness"]):
                warnings.append(
                    f"{source}: setup {key[0]} is both {old.row['model']!r} ({old.row['harness']}) and "
                    f"{row['model']!r} ({row['harness']}); one is left out: aggregate them into different folders"
                )
            if old is None or new.rank > old.rank:
                best[key] = new
    kept = [best[key] for key in sorted(best)]
    return Batch(
        rows=[{**item.row, "runId": run_id, "t": t} for item in kept],
        manifests=_manifests(kept, run_id, t),
        files=len(sources),
        warnings=[*warnings, *rules.warnings()],
    )


class _RulesSeen:
    """Which rules (AGENT_RULES_TEXT) the rows of each setup were made with, by the environment.json beside them: a
    setup's name does not hold them.
    """

    def __init__(self) -> None:
        self.first: dict[str, dict[str, Path]] = {}

    def add(self, setups: set[str], source: Path) -> None:
        """Note for the setups of `source` what stands beside it; nothing where nobody tells."""
        try:
            hashes = read_object(source.with_name(ENVIRONMENT)).get("hashes")
        except (ConfigError, OSError):
            return
        digest = hashes.get("rules") if isinstance(hashes, dict) else None
        if isinstance(digest, str):
            for setup in setups:
                self.first.setdefault(setup, {}).setdefault(digest, source)

    def warnings(self) -> list[str]:
        """One line for each setup that had different ones."""
        return [
            f"setup {setup} was given {len(seen)} different rules (AGENT_RULES_TEXT), its rows are not comparable: "
            + "; ".join(f"{rules_label(digest)}: {source}" for digest, source in seen.items())
            + ": aggregate them into different folders"
            for setup, seen in sorted(self.first.items())
            if len(seen) > 1
        ]


def _manifests(kept: Sequence[_Sourced], run_id: str, t: str) -> list[dict[str, Any]]:
    """One manifest per setup: that of its latest kept row; without the file (older trees), what the row says."""
    latest: dict[str, _Sourced] = {}
    for item in kept:
        name = item.row["setupId"]
        if name not in latest or item.rank > latest[name].rank:
            latest[name] = item
    manifests = []
    for name in sorted(latest):
        item = latest[name]
        path = item.source.with_name(MANIFEST)
        data = read_manifest(path) if path.is_file() else _manifest_of(item.row)
        manifests.append({**data, "setupId": name, "runId": run_id, "t": t})
    return manifests


def _manifest_of(row: dict[str, Any]) -> dict[str, Any]:
    same = {key: row.get(key) for key in ("runId", "t", "setupId", "model", "harness", "augmentation", "timeoutSec")}
    return {
        "schemaVersion": SCHEMA_VERSION,
        **same,
        "judgeModel": None,
        "sandboxImage": None,
        "sandboxImageDigest": None,
    }


def aggregate(root: Path, out: Path | None = None, *, run_id: str | None = None, t: str | None = None) -> Batch:
    """Merge everything below `root` into `out` (default `root`): rows.json and manifests.json, both durable.

    Raises ConfigError: no such folder, nothing to merge, a malformed file, a malformed `run_id` or `t`.
    """
    if not root.is_dir():
        raise ConfigError("no such folder", where=root, fix="name a folder that holds results")
    target = (out or root).resolve()
    moment = t or utc_now()
    stamp = run_id or "run_" + datetime.now(UTC).strftime("%Y%m%d_%H%M%S")
    if not RUN_ID.fullmatch(stamp):
        raise ConfigError(f"--run-id {stamp!r} is malformed", fix="use run_<YYYYmmdd_HHMMSS>[_name]")
    try:
        parse_time(moment)
    except ValueError:
        raise ConfigError(f"--t {moment!r} is not a UTC time", fix="use a form like 2026-01-31T12:00:00Z") from None
    if not moment.endswith("Z"):
        raise ConfigError(f"--t {moment!r} is not UTC", fix="end it in Z, like 2026-01-31T12:00:00Z")
    if (target / MANIFEST).is_file() and (target / ROWS).is_file():
        raise ConfigError(
            "this is an attempt's own folder: its rows.json would be lost", where=target, fix="name another with -o"
        )
    sources = find_rows(root.resolve(), target)
    if not sources:
        raise ConfigError(f"no {ROWS} below this folder", where=root, fix="name a folder that holds finished attempts")
    batch = collect(sources, stamp, moment)
    private_dir(target)
    atomic_write(target / ROWS, dumps(batch.rows))
    atomic_write(target / MANIFESTS, dumps(batch.manifests))
    return batch


def main(argv: Sequence[str] | None = None) -> int:
    """The command. Exit 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m devops_bench.results.aggregate", description="Merge every rows.json below ROOT into one batch."
    )
    parser.add_argument("root", metavar="ROOT", type=Path)
    parser.add_argument("-o", dest="out", metavar="OUT", type=Path, help="where rows.json and manifests.json go (ROOT)")
    parser.add_argument("--run-id", help="the batch's runId (run_<now>)")
    parser.add_argument("--t", metavar="ISO", help="the batch's time (now)")
    args = parser.parse_args(argv)
    try:
        batch = aggregate(args.root, args.out, run_id=args.run_id, t=args.t)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return int(ExitCode.USAGE)
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return int(ExitCode.USAGE)
    for line in batch.warnings:
        print(f"warning: {line}", file=sys.stderr)
    setups = len(batch.manifests)
    print(
        f"{counted(len(batch.rows), 'row')} of {counted(setups, 'setup')} from {counted(batch.files, 'file')}: "
        f"{(args.out or args.root) / ROWS}"
    )
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main())

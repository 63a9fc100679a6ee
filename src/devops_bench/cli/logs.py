"""`devops-bench logs STAMP [RID]`: what a combo (or the supervisor) logged."""

from __future__ import annotations

import select
import sys
from pathlib import Path

import click

from devops_bench import paths
from devops_bench.errors import ConfigError
from devops_bench.plaintext import visible


@click.command()
@click.argument("stamp", default="latest")
@click.argument("rid", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on printing until the combo has ended.")
def command(stamp: str, rid: str | None, follow: bool) -> int:
    """Print run.log of combo RID (a rid or a part of one), or the supervisor's log without RID."""
    from devops_bench.supervisor import launch, runs

    run_dir = runs.find(stamp, paths.runs_root())
    if rid is None:
        return pour(run_dir, run_dir / launch.LOG, run_dir / ".done", follow)
    folder = run_dir / choose(run_dir, rid)
    return pour(run_dir, folder / "run.log", folder / "status", follow)


def choose(run_dir: Path, wanted: str) -> str:
    """The rid that `wanted` names: itself, or the only one that contains it."""
    from devops_bench.matrix.plan import Plan

    rids = [combo.rid for combo in Plan.read(run_dir).combos]
    if wanted in rids:
        return wanted
    near = [rid for rid in rids if wanted in rid]
    if len(near) == 1:
        return near[0]
    if near:
        raise ConfigError(f"{wanted!r} fits {len(near)} combos", where=run_dir, fix=f"give more of it, as {near[0]}")
    raise ConfigError(f"no combo {wanted!r}", where=run_dir, fix=f"one is {rids[0]}" if rids else "the plan is empty")


def pour(run_dir: Path, path: Path, end: Path, follow: bool) -> int:
    """Print the file, and what is added to it until `end` exists or nobody works on the run any more."""
    if not follow:
        if not path.exists():
            raise ConfigError("no log yet", where=path, fix="wait until the combo has started, or use --follow")
        print_from(path, 0)
        return 0
    from devops_bench.supervisor import locks, summary
    from devops_bench.supervisor.inotify import IN_CREATE, IN_MODIFY, IN_MOVED_TO, Inotify

    watcher, offset = Inotify(), 0
    try:
        watcher.watch(run_dir, IN_MODIFY | IN_CREATE | IN_MOVED_TO)
        watched = False
        while True:
            over = end.exists() or (run_dir / summary.DONE).exists() or not locks.held(run_dir)
            if not watched and path.parent.is_dir():
                watcher.watch(path.parent, IN_MODIFY | IN_CREATE | IN_MOVED_TO)
                watched = True
            offset = print_from(path, offset)
            if over:
                return 0
            select.select([watcher.fileno()], [], [], 1.0)
            list(watcher.read())
    finally:
        watcher.close()


def print_from(path: Path, offset: int) -> int:
    """Print bytes from `offset` on; the new offset. Control characters of hostile output are made visible."""
    try:
        with path.open("rb") as handle:
            handle.seek(offset)
            raw = handle.read()
    except FileNotFoundError:
        return offset
    sys.stdout.write(visible(raw.decode(errors="replace")))
    sys.stdout.flush()
    return offset + len(raw)

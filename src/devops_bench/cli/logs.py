"""`devops-bench logs STAMP [RID]`: what a combo (or the supervisor) logged."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from devops_bench import paths
from devops_bench.errors import ConfigError


@click.command()
@click.argument("stamp", default="latest")
@click.argument("rid", required=False)
@click.option("--follow", "-f", is_flag=True, help="Go on printing until the combo has ended.")
def command(stamp: str, rid: str | None, follow: bool) -> int:
    """Print run.log of combo RID (a rid or a part of one), or the supervisor's log without RID."""
    from devops_bench.supervisor import launch, runs

    run_dir = runs.find(stamp, paths.runs_root())
    if rid is None:
        return pour(run_dir / launch.LOG, run_dir / ".done", follow)
    folder = run_dir / choose(run_dir, rid)
    return pour(folder / "run.log", folder / "status", follow)


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


def pour(path: Path, end: Path, follow: bool) -> int:
    """Print the file, and what is added to it until `end` exists."""
    from devops_bench.supervisor.inotify import IN_CREATE, IN_MODIFY, IN_MOVED_TO, Inotify

    if not path.exists() and not follow:
        raise ConfigError("no log yet", where=path, fix="wait until the combo has started, or use --follow")
    offset = print_from(path, 0)
    if not follow:
        return 0
    import select

    watcher = Inotify()
    try:
        watcher.watch(path.parent, IN_MODIFY | IN_CREATE | IN_MOVED_TO)
        while not end.exists():
            offset = print_from(path, offset)
            select.select([watcher.fileno()], [], [], 1.0)
            list(watcher.read())
        print_from(path, offset)
    finally:
        watcher.close()
    return 0


def print_from(path: Path, offset: int) -> int:
    """Print bytes from `offset` on; the new offset. Control characters of hostile output are made visible."""
    try:
        with path.open("rb") as handle:
            handle.seek(offset)
            raw = handle.read()
    except FileNotFoundError:
        return offset
    text = raw.decode(errors="replace")
    sys.stdout.write("".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text))
    sys.stdout.flush()
    return offset + len(raw)

"""`devops-bench clean`: remove what dead runs left on this host, and old runs when asked."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import click

from devops_bench import paths
from devops_bench.cli import asking
from devops_bench.plaintext import counted

DAY = 86400.0


@click.command()
@click.option("--dry-run", is_flag=True, help="Show what would be removed.")
@click.option("--runs-older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Finished runs too, if so old.")
@click.option("--yes", is_flag=True, help="Do not ask before runs are removed.")
def command(dry_run: bool, runs_older_than: float | None, yes: bool) -> int:
    """Remove control planes, combo state, scratch folders, worlds of proofs and namespaces whose owner is dead.

    Nothing that is active is touched. Exit 0: nothing is left; 3: something could not be removed.
    """
    from devops_bench.errors import ExitCode

    root = paths.state_root()
    old = list(old_runs(paths.runs_root(), runs_older_than)) if runs_older_than is not None else []
    if old and not dry_run:
        them = "its results" if len(old) == 1 else "their results"
        asking.confirm(f"{counted(len(old), 'finished run')} would be removed with {them}", yes)
    left: list[str] = []
    count = 0
    for what, problem in residue(root, dry_run):
        count += 1
        click.echo(told(what, problem, dry_run))
        left += [problem] if problem else []
    for run_dir in old:
        count += 1
        if not dry_run:
            shutil.rmtree(run_dir, ignore_errors=True)
        problem = "it is still there" if not dry_run and run_dir.exists() else ""
        click.echo(told(f"run {run_dir.name}", problem, dry_run))
        left += [problem] if problem else []
    if not count:
        click.echo("nothing to remove")
    return int(ExitCode.INVALID if left else ExitCode.OK)


def told(what: str, problem: str, dry: bool) -> str:
    """One line about one thing."""
    return f"{'would remove' if dry else 'left' if problem else 'removed'} {what}{problem and f': {problem}'}"


def residue(root: Path, dry: bool) -> Iterator[tuple[str, str]]:
    """(what, why it could not be removed or empty) of everything whose owner is dead."""
    from devops_bench.clusters.sweep import sweep

    for gone in sweep(root, dry=dry):
        yield f"control plane {gone}", ""
    yield from namespaces(root, dry)
    yield from states(root, dry)
    yield from scratch(root, dry)
    yield from worlds(dry)


def worlds(dry: bool) -> Iterator[tuple[str, str]]:
    """What proofs of tasks left that were killed."""
    from devops_bench.proofs import leaving

    for folder in leaving.stale():
        gone = dry or leaving.sweep(folder)
        yield f"world of a proof {folder}", "" if gone else "it is still there"


def namespaces(root: Path, dry: bool) -> Iterator[tuple[str, str]]:
    """Namespaces that a dead combo made in a cluster of the user's."""
    from devops_bench.clusters import namespaces as notes
    from devops_bench.errors import BenchError

    for note in list(notes.noted(root)):
        if note.owner.foreign or note.owner.alive():
            continue
        problem = ""
        try:
            if not dry:
                note.delete(root)
        except BenchError as error:
            problem = error.message()
        yield f"namespace {note.name} (context {note.context})", problem


def states(root: Path, dry: bool) -> Iterator[tuple[str, str]]:
    """State folders of combos that nobody works on: the token of each is free."""
    from devops_bench.combo import scratch as folders
    from devops_bench.combo.token import take_token
    from devops_bench.matrix import ids

    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        if not folder.is_dir() or "__" not in folder.name:
            continue
        token = take_token(ids.token(folder.name), root)
        if token is None:
            continue
        try:
            problem = ""
            if not dry:
                problem = "; ".join(folders.remove(folder))
                shutil.rmtree(folder, ignore_errors=True)
                if folder.exists():
                    problem = f"{problem}; it is still there".strip("; ")
        finally:
            os.close(token)
        yield f"state of {folder.name}", problem


def scratch(root: Path, dry: bool) -> Iterator[tuple[str, str]]:
    """Smoke folders and workspaces of ours that are a day old and that no state folder names any more."""
    from devops_bench.combo.scratch import NAMES, PREFIX, ROOTS

    named = set()
    for folder in root.iterdir() if root.is_dir() else ():
        for name in NAMES:
            try:
                named.add(Path(os.readlink(folder / name)).parent)
            except OSError:
                continue
    for base in dict.fromkeys(ROOTS):
        for folder in sorted(base.glob(f"{PREFIX}{'[0-9a-f]' * 16}")):
            try:
                stat = folder.stat()
            except OSError:
                continue
            if folder in named or stat.st_uid != os.geteuid() or time.time() - stat.st_mtime < DAY:
                continue
            if not dry:
                shutil.rmtree(folder, ignore_errors=True)
            yield f"workspace {folder}", "it is still there" if not dry and folder.exists() else ""


def old_runs(root: Path, days: float) -> Iterator[Path]:
    """Finished runs whose `.done` is so old."""
    from devops_bench.supervisor import locks, runs

    for stamp in runs.stamps(root):
        done = root / stamp / ".done"
        try:
            if time.time() - done.stat().st_mtime >= days * DAY and not locks.held(root / stamp):
                yield root / stamp
        except OSError:
            continue

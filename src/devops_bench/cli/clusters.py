"""`devops-bench clusters`: install and inspect the embedded control plane; see and remove what is left of planes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

import click

from devops_bench.errors import ExitCode
from devops_bench.plaintext import columns

if TYPE_CHECKING:
    from devops_bench.clusters.build import BuildProgress, Progress

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.group()
def command() -> None:
    """Install and inspect the embedded control plane."""


@command.command("list")
@JSON_OPTION
def list_planes(as_json: bool) -> None:
    """Live control planes of this host: name, owner, age, memory."""
    from devops_bench import paths
    from devops_bench.clusters.inventory import planes

    rows = planes(paths.state_root())
    if as_json:
        click.echo(json.dumps([row.as_data() for row in rows]))
        return
    if not rows:
        click.echo("no control planes")
        return
    lines = [("ID", "CLUSTER", "STATE", "PID", "OWNER", "AGE", "MEMORY", "SERVER"), *(row.as_text() for row in rows)]
    for line in columns(lines):
        click.echo(line)
    if any(row.abandoned for row in rows):
        click.echo("abandoned planes are removed by `devops-bench clusters clean --yes`", err=True)


@command.command()
@JSON_OPTION
def install(as_json: bool) -> None:
    """Find the control plane, or build it now (minutes on a cold host; safe to run twice at once)."""
    from devops_bench.clusters import binary

    with _progress(as_json) as report:
        path = binary.ensure(report)
    found = binary.locate()
    origin = found.origin if found else "cache"
    versions = binary.versions(path)
    if as_json:
        click.echo(json.dumps({"path": str(path), "origin": origin, "versions": versions}))
    else:
        click.echo(f"control plane with kubernetes {versions.get('kubernetes')} ({origin}): {path}")


@command.command()
@JSON_OPTION
def versions(as_json: bool) -> int:
    """Pinned versions: of the installed control plane, else of the sources that would be built."""
    from devops_bench.clusters import binary
    from devops_bench.clusters.pins import pinned

    found = binary.locate()
    known = dict(binary.versions(found.path)) if found else pinned(binary.source_dir())
    data: dict[str, Any] = {"installed": found is not None, "path": str(found.path) if found else None, **known}
    if as_json:
        click.echo(json.dumps(data))
        return ExitCode.OK
    for name, version in known.items():
        click.echo(f"{name:<12}{version}")
    if not found:
        click.echo("not installed yet; run `devops-bench clusters install`", err=True)
    return ExitCode.OK


@command.command()
@JSON_OPTION
def doctor(as_json: bool) -> int:
    """What this host has, what is missing and the command that helps. Exit 3 when something is missing."""
    from dataclasses import asdict

    from devops_bench.clusters.doctor import examine

    findings = [*examine(os.environ), _sandbox()]
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            click.echo(f"{'ok     ' if finding.ok else 'missing'} {finding.line()}")
    return ExitCode.OK if all(finding.ok for finding in findings) else ExitCode.INVALID


@command.command()
@click.option("--yes", is_flag=True, help="Remove them; without it they are only listed.")
@JSON_OPTION
def clean(yes: bool, as_json: bool) -> None:
    """Remove control planes, and namespaces in your own cluster, whose owner is dead; those of living runs stay."""
    from devops_bench import paths
    from devops_bench.clusters.namespaces import noted
    from devops_bench.clusters.sweep import sweep

    root = paths.state_root()
    gone = sweep(root, dry=not yes)
    notes = [note for note in noted(root) if not note.owner.alive()]
    if yes:
        for note in notes:
            note.delete(root)
    if as_json:
        rows = [{"folder": str(item.folder), "cluster": item.name, "process": item.ended} for item in gone]
        spaces = [{"namespace": note.name, "context": note.context} for note in notes]
        click.echo(json.dumps({"removed": yes, "planes": rows, "namespaces": spaces}))
        return
    for item in gone:
        click.echo(f"{'removed' if yes else 'would remove'} {item}")
    for note in notes:
        click.echo(f"{'removed' if yes else 'would remove'} namespace {note.name} in context {note.context}")
    if not gone and not notes:
        click.echo("nothing to remove")
    elif not yes:
        click.echo("run again with --yes to remove them", err=True)


def _sandbox() -> Any:
    """The sandbox as one finding: bubblewrap and user namespaces, tried for real."""
    from devops_bench.clusters.capacity import Finding
    from devops_bench.errors import BenchError
    from devops_bench.sandbox import detect

    try:
        mode = detect(os.environ)
    except BenchError as error:
        return Finding("sandbox", False, "not usable", error.what, error.fix)
    if mode.sandboxed:
        return Finding("sandbox", True, f"bubblewrap with user namespaces: {mode.bwrap}")
    return Finding("sandbox", False, "off", mode.warning, "install bubblewrap and allow user namespaces")


class _progress:
    """A progress bar on a terminal, JSON lines with --json, a plain line now and then elsewhere."""

    STEP = 100  # packages between two plain lines

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.bar: Any = None
        self.task: Any = None
        self.told = (-1, "")

    def __enter__(self) -> Progress:
        return self.report

    def __exit__(self, *_: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def report(self, progress: BuildProgress) -> None:
        if self.as_json:
            from dataclasses import asdict

            click.echo(json.dumps({"progress": asdict(progress)}))
        elif sys.stderr.isatty():
            self._draw(progress)
        else:
            now = (progress.done // self.STEP, progress.phase)
            if now != self.told:
                self.told = now
                click.echo(_sentence(progress), err=True)

    def _draw(self, progress: BuildProgress) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        if self.bar is None:
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
            self.bar = Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True))
            self.bar.start()
            self.task = self.bar.add_task("control plane", total=None)
        self.bar.update(
            self.task, description=_headline(progress), completed=progress.done, total=progress.total or None
        )


def _headline(progress: BuildProgress) -> str:
    return f"control plane: {progress.phase}" + (" (another process builds)" if progress.waiting else "")


def _sentence(progress: BuildProgress) -> str:
    packages = f", {progress.done} of {progress.total} packages" if progress.total else ""
    return f"{_headline(progress)}{packages}, {progress.seconds:.0f} s"

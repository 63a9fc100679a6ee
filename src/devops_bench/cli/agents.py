"""`devops-bench agents`: which agent programs are here, install the pinned ones, and try them where they will run."""

from __future__ import annotations

import json
import os
import sys
import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from devops_bench.errors import BenchError, ConfigError, ExitCode
from devops_bench.plaintext import columns

if TYPE_CHECKING:
    from devops_bench.agents.install import InstallProgress

JSON_OPTION = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
EVERY = 5.0  # seconds between two plain progress lines
MIB = 1 << 20


@click.group()
def command() -> None:
    """Agent programs: list, install, try, show."""


@command.command("list")
@JSON_OPTION
def list_agents(as_json: bool) -> None:
    """Every agent by key: its preset, version, where it comes from, the model formats it speaks, its size."""
    from devops_bench.agents import registry
    from devops_bench.cli import agent_rows

    rows = [agent_rows.row_of(key) for key in agent_rows.listed()]
    for line in registry.plugin_problems():
        click.echo(line, err=True)
    if as_json:
        click.echo(json.dumps(rows))
        return
    lines = [("KEY", "PRESET", "TITLE", "VERSION", "SOURCE", "WIRES", "SIZE")]
    for row in rows:
        size = f"{row['size'] // MIB} MiB" if row["size"] else ""
        source = "no adapter" if not row["adapter"] else row["source"]
        source = source or ("not usable" if row["problem"] else "not installed")
        source += f", package {row['package']}" if row["package"] else ""
        wires = ",".join(row["wires"])
        version = row["version"] or (f"({row['pinned']})" if row["pinned"] else "")
        lines.append((row["key"], row["preset"], row["title"], version, source, wires, size))
    for line in columns(lines):
        click.echo(line)
    for row in rows:
        if row["problem"]:
            click.echo(f"{row['key']}: {row['problem']}", err=True)


@command.command()
@click.argument("keys", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Every program that is pinned.")
@JSON_OPTION
def install(keys: tuple[str, ...], everything: bool, as_json: bool) -> int:
    """Install pinned programs into the cache (seconds to a minute each; safe to run twice at once)."""
    from devops_bench.agents import install as installs
    from devops_bench.cli import agent_rows

    if everything == bool(keys):
        raise ConfigError("name what to install", fix=f"KEY... of {', '.join(installs.installable())}, or --all")
    wanted = installs.installable() if everything else list(dict.fromkeys(agent_rows.canonical(key) for key in keys))
    failed = 0
    for key in wanted:
        show = _Progress(as_json)
        began = time.monotonic()
        try:
            found = installs.install(key, os.environ, show)
        except BenchError as error:
            if len(wanted) == 1:
                raise
            failed += 1
            if as_json:
                click.echo(json.dumps({"key": key, "error": error.message()}))
            else:
                click.echo(f"error: {error.message()}", err=True)
            continue
        finally:
            show.close()
        size, seconds = installs.size(key, os.environ), round(time.monotonic() - began, 1)
        if as_json:
            data = {"key": key, "version": found.version, "path": str(found.root), "size": size, "seconds": seconds}
            click.echo(json.dumps(data))
        else:
            done = "installed" if show.worked else "is installed"
            click.echo(f"{key} {found.version} {done}: {(size or 0) // MIB} MiB, {seconds:.1f} s, {found.root}")
    return ExitCode.INVALID if failed else ExitCode.OK


@command.command()
@click.argument("keys", nargs=-1)
@JSON_OPTION
def doctor(keys: tuple[str, ...], as_json: bool) -> int:
    """Start each installed program in the sandbox; exit 3 when one does not work, or one you named is missing."""
    from devops_bench.agents.install import doctor as checks
    from devops_bench.cli import agent_rows

    named = [agent_rows.canonical(key) for key in keys]
    findings = checks.host(os.environ)
    for key in named or agent_rows.startable():
        findings += agent_rows.examined(key, wanted=bool(named))
    findings += [] if named else agent_rows.unusable()
    if as_json:
        click.echo(json.dumps([asdict(finding) for finding in findings]))
    else:
        for finding in findings:
            fix = f"; {finding.fix}" if finding.fix else ""
            click.echo(f"{finding.state.value:<7} {finding.name}: {finding.text}{fix}")
    broken = any(finding.state is checks.State.BROKEN for finding in findings)
    return ExitCode.INVALID if broken else ExitCode.OK


@command.command()
@click.argument("key")
@JSON_OPTION
def show(key: str, as_json: bool) -> None:
    """One agent in full: program, folders the sandbox shows, pinned version, what else it needs."""
    from devops_bench.agents import install as installs
    from devops_bench.cli import agent_rows

    plain = agent_rows.canonical(key)
    row: dict[str, Any] = agent_rows.row_of(plain)
    if plain in agent_rows.programs(all_known=True):
        package = installs.package(plain)
        row |= {"memory": package.memory, "install": installs.install_line(plain)}
        try:
            found = installs.find(plain, os.environ)
        except BenchError:
            found = None
        if found is not None:
            row["argv"] = list(found.argv)
            row["binds"] = [f"{bind.source} at {bind.dest}" for bind in found.binds]
    if as_json:
        click.echo(json.dumps(row))
        return
    for name, content in row.items():
        text = ", ".join(map(str, content)) if isinstance(content, list | tuple) else content
        if name in {"size", "memory"}:
            text = f"{(content or 0) // MIB} MiB" if content else ""
        if text not in {"", None}:
            click.echo(f"{name:<9}{text}")


class _Progress:
    """A line that is drawn over on a terminal, JSON lines with --json, a plain line now and then elsewhere."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.worked = False
        self._last = 0.0
        self._drawn = 0

    def __call__(self, progress: InstallProgress) -> None:
        self.worked = True
        if self.as_json:
            click.echo(json.dumps({"progress": asdict(progress)}))
            return
        text = _sentence(progress)
        if sys.stderr.isatty():
            sys.stderr.write(f"\r{text.ljust(self._drawn)}")
            sys.stderr.flush()
            self._drawn = len(text)
        elif time.monotonic() - self._last >= EVERY:
            self._last = time.monotonic()
            click.echo(text, err=True)

    def close(self) -> None:
        """End the line that is drawn over."""
        if self._drawn:
            sys.stderr.write("\n")


def _sentence(progress: InstallProgress) -> str:
    packages = f" {progress.done} of {progress.total} packages," if progress.total else ""
    waiting = " (another process installs)" if progress.waiting else ""
    return f"{progress.key}: {progress.phase}{waiting}{packages} {progress.size // MIB} MiB, {progress.seconds:.0f} s"

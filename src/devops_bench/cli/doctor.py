"""`devops-bench doctor`: what this host has for runs, what is missing, and the command that helps."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass

import click

from devops_bench import paths


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was looked at. `need` says what it is for when it is not fine."""

    area: str
    subject: str
    ok: bool
    have: str
    need: str = ""
    fix: str = ""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print a JSON array.")
def command(as_json: bool) -> int:
    """Look at clusters, agent programs, sandbox, keys, disk, runs. Changes nothing.

    Exit 0: all is fine; 3: something is missing or broken.
    """
    from devops_bench.cli.keys import with_secrets
    from devops_bench.errors import ExitCode

    env = with_secrets(os.environ)
    lines = [*clusters(env), *agents(env), *keys(env), *host(env), *unfinished(env)]
    if as_json:
        click.echo(json.dumps([asdict(line) for line in lines], indent=1))
    else:
        area = ""
        for line in lines:
            if line.area != area:
                area = line.area
                click.echo(f"{area}:")
            click.echo(f"  {'ok  ' if line.ok else 'MISS'} {line.subject}: {line.have}")
            if not line.ok:
                click.echo(f"       {line.need}{'; ' if line.need and line.fix else ''}{line.fix}")
    return int(ExitCode.OK if all(line.ok for line in lines) else ExitCode.INVALID)


def clusters(env: Mapping[str, str]) -> Iterator[Line]:
    """Kernel, control plane, Go, kubectl, git, capacity."""
    from devops_bench.clusters.doctor import examine

    for one in examine(env):
        yield Line("clusters", one.subject, one.ok, one.have, one.need, one.fix)


def agents(env: Mapping[str, str]) -> Iterator[Line]:
    """The sandbox and the agent programs; one that is not installed is no fault as long as another one is."""
    from devops_bench.agents import install
    from devops_bench.errors import BenchError
    from devops_bench.sandbox import detect

    try:
        mode = detect(env)
        fix = "allow user namespaces and install bubblewrap"
        yield Line("agents", "sandbox", mode.sandboxed, mode.warning or "bubblewrap", "agents are hostile input", fix)
    except BenchError as error:
        yield Line("agents", "sandbox", False, error.what, "", error.fix)
    for key in install.installable():
        try:
            found = install.find(key, env)
        except BenchError as error:
            yield Line("agents", key, False, error.what, "", error.fix)
            continue
        have = (
            f"{found.version} ({found.source})" if found is not None else f"not installed ({install.install_line(key)})"
        )
        yield Line("agents", key, True, have)


def keys(env: Mapping[str, str]) -> Iterator[Line]:
    """Which keys are set, by name only, and whether messages go anywhere."""
    from devops_bench.errors import BenchError
    from devops_bench.matrix.secrets import KEY_NAMES
    from devops_bench.supervisor.notify import Target

    there = [name for name in KEY_NAMES if env.get(name, "").strip()]
    yield Line("keys", "models", True, ", ".join(there) or "none set (scripted and ambient models only)")
    try:
        target = Target.of(env)
        where = [name for name, on in (("webhook", target.webhook), ("command", target.command)) if on]
        yield Line(
            "keys", "notifications", True, ", ".join(where) or "none (BENCH_NOTIFY_WEBHOOK, BENCH_NOTIFY_COMMAND)"
        )
    except BenchError as error:
        yield Line("keys", "notifications", False, error.what, "", error.fix)


def host(env: Mapping[str, str]) -> Iterator[Line]:
    """The list that must hold before any retry, for this host."""
    from devops_bench.supervisor import checklist

    told = {"cluster", "memory"}
    for item in checklist.examine(checklist.Subject(env), besides=told):
        first = item.findings[0] if item.findings else None
        yield Line("host", item.key, item.ok, first.what if first else "fine", "", first.fix if first else "")


def unfinished(env: Mapping[str, str]) -> Iterator[Line]:
    """Runs whose supervisor is dead and that nobody stopped."""
    from devops_bench.errors import BenchError
    from devops_bench.supervisor import keepalive, locks, runs

    root = paths.runs_root(env)
    dead = []
    for stamp in runs.stamps(root)[-50:]:
        run_dir = root / stamp
        try:
            if not locks.held(run_dir) and not keepalive.over(run_dir):
                dead.append(stamp)
        except (OSError, BenchError):
            continue
    for stamp in dead:
        yield Line("runs", stamp, False, "its supervisor is dead", "", f"devops-bench resume {stamp}")
    if not dead:
        yield Line("runs", "supervisors", True, "no run is left without one")

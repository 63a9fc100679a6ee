"""`devops-bench known-issues`: the table of known failures, for people, scripts and fixers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from devops_bench import paths
from devops_bench.errors import ConfigError
from devops_bench.plaintext import counted, one_line
from devops_bench.settings import FailureClass, Phase

STDIN_MAX = 8 << 20


@click.group()
def command() -> None:
    """What goes wrong around a run, by its words, and what to do: list, match, draft, append, check."""


@command.command(name="list")
@click.option("--class", "klass", type=click.Choice([one.value for one in FailureClass]), help="Only this class.")
@click.option("--phase", type=click.Choice([one.value for one in Phase]), help="Only rows that count in this phase.")
@click.option("--json", "as_json", is_flag=True, help="One JSON array.")
@click.option("--table", "path", type=click.Path(path_type=Path), help="Another table.")
def list_rows(klass: str | None, phase: str | None, as_json: bool, path: Path | None) -> int:
    """List the rows."""
    from devops_bench.router import table

    known = table.read(path or table.shipped())
    rows = [
        row
        for row in known.rows
        if (klass is None or row.klass == klass) and (phase is None or not row.phases or Phase(phase) in row.phases)
    ]
    if as_json:
        data = [
            {
                "row": row.line,
                "class": row.klass.value,
                "signatures": [one.text for one in row.signatures],
                "phases": sorted(one.value for one in row.phases),
                "exits": sorted(row.exits),
                "cause": row.cause,
                "action": row.action,
                "max_retries": row.max_retries,
                "resolved": row.resolved,
            }
            for row in rows
        ]
        click.echo(json.dumps(data, indent=1, ensure_ascii=False))
        return 0
    for row in rows:
        click.echo(f"{row.line:>4}  {row.klass.value:<11}  {row.symptom.split(':', 1)[0]}: {row.action}")
    click.echo(f"{counted(len(rows), 'row')} in {known.path}")
    return 0


@command.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--phase", type=click.Choice([one.value for one in Phase]), help="The phase that it happened in.")
@click.option("--exit", "exit_code", type=click.IntRange(0, 255), help="Exit code of the agent program.")
@click.option("--table", "path", type=click.Path(path_type=Path), help="Another table.")
@click.argument("text", nargs=-1)
def match(as_json: bool, phase: str | None, exit_code: int | None, path: Path | None, text: tuple[str, ...]) -> int:
    """Classify a failure. Its own words come as TEXT or on standard input (error messages, not transcripts).

    Prints class, signature, row, action and whether it may be tried again. What nobody knows is `unknown`, with a
    stable fingerprint as its signature.
    """
    from devops_bench.router import table
    from devops_bench.router.route import route

    words = " ".join(text) if text else sys.stdin.buffer.read(STDIN_MAX).decode(errors="replace")
    if not words.strip() and exit_code is None:
        raise ConfigError("nothing to match", fix="give the failure's words on standard input, or --exit")
    known = table.read(path or table.shipped())
    found = route(words, phase=Phase(phase) if phase else None, exit=exit_code, table=known)
    if as_json:
        data = {
            "class": found.klass.value,
            "signature": found.signature,
            "row": found.row,
            "action": found.action,
            "retry": found.retry,
            "max_retries": found.max_retries,
            "rate_limit": found.rate_limit,
        }
        click.echo(json.dumps(data, ensure_ascii=False))
        return 0
    where = f"{known.path}:{found.row}" if found.row is not None else "not in the table"
    click.echo(f"{found.klass.value}  {one_line(found.signature)}  ({where})")
    click.echo(
        f"{found.action}" + (f" [tried again at most {found.max_retries}x]" if found.retry else " [not retried]")
    )
    return 0


@command.command()
@click.argument("stamp", default="latest")
def draft(stamp: str) -> int:
    """Propose a row for each unknown failure of run STAMP; complete TODO, then give it to `append`."""
    from devops_bench.redact import Redactor
    from devops_bench.router import draft as drafts
    from devops_bench.router.route import route
    from devops_bench.supervisor import journal, runs

    run_dir = runs.find(stamp, paths.runs_root())
    redactor = Redactor.of_run(os.environ)
    seen: dict[str, str] = {}
    for event in journal.read(run_dir)[0]:
        if event["event"] != "combo_finished" or event.get("state") != "invalid":
            continue
        phase = Phase(event["phase"]) if event.get("phase") in set(Phase) else None
        said = f"{event.get('signature') or ''}\n{event.get('reason') or ''}"
        found = route(said, phase=phase)
        if found.row is None and event.get("class") in {None, "unknown", found.klass.value}:
            words = str(event.get("reason") or event.get("signature") or "")
            seen.setdefault(found.signature, drafts.draft(words, found.signature, phase, redactor).line())
    for line in seen.values():
        click.echo(line)
    if not seen:
        click.echo(f"run {run_dir.name} has no failure that is unknown", err=True)
    return 0


@command.command()
@click.argument("row", required=False)
@click.option("--table", "path", type=click.Path(path_type=Path), help="Another table.")
def append(row: str | None, path: Path | None) -> int:
    """Add a completed ROW (a table line; else standard input) to the table.

    Refused (exit 2): duplicates, scores of models, tallies of runs, secrets, and what the format does not allow.
    """
    from devops_bench.redact import Redactor
    from devops_bench.router import draft as drafts
    from devops_bench.router import table

    text = row if row is not None else sys.stdin.read(STDIN_MAX)
    target = path or table.shipped()
    added = drafts.append(text, target, Redactor.of_run(os.environ))
    click.echo(f"{target}:{added.line}: added ({added.klass.value})")
    return 0


@command.command()
@click.option("--table", "path", type=click.Path(path_type=Path), help="Another table.")
def check(path: Path | None) -> int:
    """Check the whole table: format, duplicates, scores, tallies, secrets."""
    from devops_bench.redact import Redactor
    from devops_bench.router import draft as drafts
    from devops_bench.router import table

    target = path or table.shipped()
    known = table.read(target)
    found = drafts.check(target, Redactor.of_run(os.environ))
    for line in found:
        click.echo(line, err=True)
    if found:
        raise ConfigError(f"{counted(len(found), 'row')} may not stand as written", where=target, fix="correct them")
    signatures = sum(len(row.signatures) for row in known.rows)
    click.echo(f"{target}: {counted(len(known.rows), 'row')}, {counted(signatures, 'signature')}: fine")
    return 0

"""`devops-bench tasks`: list, show, review and prove tasks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devops_bench.cli.authoring import calibrate, import_, new, one_task, sandbox_mode, try_
from devops_bench.plaintext import columns, counted

if TYPE_CHECKING:
    from devops_bench.proofs.engine import CaseReport, TaskReport
    from devops_bench.tasks.catalogue import FoundTask
    from devops_bench.tasks.spec import TaskSpec

WHICH = click.argument("paths", nargs=-1, metavar="[PATH]...")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")


@click.group(
    help="List, show, review and prove tasks. PATH is a task, a folder of tasks or a catalogue key; default ALL."
)
def command() -> None:
    """The group."""


def _found(paths: Sequence[str]) -> list[FoundTask]:
    from devops_bench.tasks import find_tasks

    return find_tasks(list(paths) or ["ALL"])


@command.command("list", help="One line per task.")
@WHICH
@AS_JSON
def list_(paths: tuple[str, ...], as_json: bool) -> int:
    """Tasks that do not load are listed with their error, and make the exit code 2."""
    from devops_bench.errors import BenchError
    from devops_bench.tasks import load_task, proof_state

    rows: list[dict[str, Any]] = []
    broken = False
    for found in _found(paths):
        try:
            task = load_task(found.file, key=found.key)
            row = _row(task) | {"proof": proof_state(found.folder).value, "error": None}
        except BenchError as error:
            broken = True
            row = {"task": found.key, "file": str(found.file), "error": error.message()}
        rows.append(row)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _print_list(rows)
    return 2 if broken else 0


def _row(task: TaskSpec) -> dict[str, Any]:
    return {
        "task": task.key,
        "file": str(task.folder / "task.yaml"),
        "title": task.title or task.name,
        "provider": task.provider,
        "category": task.category.value if task.category else None,
        "difficulty": task.difficulty,
        "tags": task.tags,
        "entries": len(task.verification_spec) + len(task.parse_failures),
        "validated": task.validated,
    }


def _print_list(rows: Sequence[dict[str, Any]]) -> None:
    good = [row for row in rows if row["error"] is None]
    table = [("TASK", "PROVIDER", "LEVEL", "CATEGORY", "PROOF", "TITLE")]
    table += [
        (row["task"], row["provider"], row["difficulty"] or "-", row["category"] or "-", row["proof"], row["title"])
        for row in good
    ]
    for line in columns(table):
        click.echo(line)
    for row in rows:
        if row["error"] is not None:
            click.echo(f"error: {row['error']}", err=True)


@command.command(help="Show one task as it was read: what the agent is told and what is checked.")
@click.argument("path")
@AS_JSON
def show(path: str, as_json: bool) -> int:
    """Raises ConfigError when PATH means several tasks."""
    from devops_bench.tasks import content_hash, proof_state

    task = one_task(path)
    proof = proof_state(task.folder).value
    if as_json:
        data = task.model_dump(mode="json") | {"proof": proof, "content_hash": content_hash(task.folder)}
        click.echo(json.dumps(data, indent=2))
        return 0
    about = [
        task.provider,
        task.difficulty or "no level",
        task.category.value if task.category else "no category",
        proof,
    ]
    click.echo(f"{task.key}: {task.title or task.name} ({', '.join(about)})")
    if task.summary:
        click.echo(f"\n{task.summary}")
    click.echo(f"\nPrompt:\n{_indent(task.prompt)}")
    click.echo("\nChecks:")
    for entry in task.verification_spec:
        kind = entry.role.value if entry.effective_severity is None else f"{entry.effective_severity.value} safeguard"
        click.echo(
            f"  {entry.name} ({kind}, {entry.effective_mode.value}, weight {entry.weight:g}): {entry.title or ''}"
        )
    for failure in task.parse_failures:
        click.echo(f"  {failure.name} (unreadable, line {failure.line}): {failure.reason}")
    return 0


def _indent(text: str) -> str:
    return "\n".join(f"  {line}".rstrip() for line in text.rstrip().splitlines())


@command.command(
    help="Check tasks without running anything: shape, parallel safety, fairness. Exit 1 if anything is found."
)
@WHICH
@AS_JSON
@click.option("--github", is_flag=True, help="Print GitHub workflow annotations.")
@click.option("--rules", "show_rules", is_flag=True, help="List the rules and exit.")
def review(paths: tuple[str, ...], as_json: bool, github: bool, show_rules: bool) -> int:
    """One line per finding: path:line, rule, what, fix."""
    from devops_bench.tasks.review import RULES, annotation, line, review_tasks

    if show_rules:
        for rule in RULES:
            click.echo(f"{rule.id:<24} {rule.about}")
        return 0
    found = _found(paths)
    findings = review_tasks(found)
    if as_json:
        click.echo(json.dumps([finding.as_data() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(annotation(finding) if github else line(finding, Path.cwd()))
        click.echo(f"{counted(len(found), 'task')} reviewed, {counted(len(findings), 'finding')}", err=True)
    return 1 if findings else 0


@command.command(
    help="Prove tasks: idle, solutions, minus one step, wrong answers, two copies. Exit 1 if a proof fails."
)
@WHICH
@AS_JSON
@click.option("--jobs", type=click.IntRange(1, 64), help="Cases at once (default: by cores and memory).")
@click.option("--case", "pattern", help="Only cases whose `kind name` matches this glob; nothing is recorded then.")
@click.option("--changed", is_flag=True, help="Only tasks whose stored proof is not current.")
@click.option("--no-record", is_flag=True, help="Do not write .validated.json.")
@click.option("--shuffle", "seed", type=int, help="Run tasks, and the cases of each, in the order of this seed.")
@click.option("--fresh", is_flag=True, help="A cluster for each case; else those of a task share one.")
@click.option("--quiet", is_flag=True, help="No line per case.")
def validate(
    paths: tuple[str, ...],
    as_json: bool,
    jobs: int | None,
    pattern: str | None,
    changed: bool,
    no_record: bool,
    seed: int | None,
    fresh: bool,
    quiet: bool,
) -> int:
    """Progress goes to standard error, the table (or JSON) to standard output."""
    from datetime import UTC, datetime
    from fnmatch import fnmatchcase

    from devops_bench.proofs import table
    from devops_bench.proofs.engine import TaskState, prove, store
    from devops_bench.proofs.leaving import tidy_signals
    from devops_bench.tasks.proved import ProofState, proof_state

    found = _found(paths)
    if changed:
        found = [item for item in found if proof_state(item.folder) is not ProofState.CURRENT]
    mode = sandbox_mode()

    def progress(key: str, case: CaseReport, seconds: float) -> None:
        if not quiet:
            word = "FAIL" if case.findings else "ok"
            why = f": {case.findings[0]}" if case.findings else ""
            click.echo(
                f"{word:<4} {seconds:6.1f} s  {key}  {case.outcome.case.kind} {case.outcome.case.name}{why}", err=True
            )

    def complete(report: TaskReport) -> None:
        # At once: what ends a long proof later takes nothing of it.
        if not no_record and pattern is None and report.state is not TaskState.SKIPPED and report.hash:
            store(report, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

    with tidy_signals():
        reports = prove(
            found,
            mode,
            jobs=jobs,
            only=lambda case: pattern is None or fnmatchcase(f"{case.kind} {case.name}", pattern),
            progress=progress,
            complete=complete,
            seed=seed,
            fresh=fresh,
        )
    if as_json:
        click.echo(json.dumps(table.data(reports), indent=2))
    else:
        click.echo("\n".join(table.lines(reports)))
    return 1 if any(report.state is TaskState.FAILED for report in reports) else 0


for _command in (calibrate, try_, new, import_):
    command.add_command(_command)

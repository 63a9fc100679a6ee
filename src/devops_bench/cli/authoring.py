"""The commands of `devops-bench tasks` for people who write tasks: `calibrate`, `new`, `import`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from devops_bench.proofs.ladder import Rung
    from devops_bench.sandbox import SandboxMode
    from devops_bench.tasks.spec import TaskSpec


def one_task(path: str) -> TaskSpec:
    """The task that `path` means, read. Raises ConfigError when it means several."""
    from devops_bench.errors import ConfigError
    from devops_bench.tasks import find_tasks, load_task

    found = find_tasks([path])
    if len(found) > 1:
        raise ConfigError(f"means {len(found)} tasks", where=path, fix="name one")
    return load_task(found[0].file, key=found[0].key)


def sandbox_mode() -> SandboxMode:
    """How what a task runs is kept apart here; says so when it is not."""
    import os

    from devops_bench.sandbox import detect

    mode = detect(os.environ)
    if mode.warning:
        click.echo(f"warning: {mode.warning}", err=True)
    return mode


@click.command(
    help="Run the ladder of scripted agents over tasks and print their scores. Exit 1 if a low rung scores above 0.5."
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option("--jobs", type=click.IntRange(1, 64), help="Rungs at once (default: by cores and memory).")
@click.option("--changed", is_flag=True, help="Only tasks without kept scores of their files.")
@click.option("--write", is_flag=True, help="Keep the scores, and write docs/catalogue.md beside the catalogue.")
@click.option("--quiet", is_flag=True, help="No line per rung.")
def calibrate(paths: tuple[str, ...], as_json: bool, jobs: int | None, changed: bool, write: bool, quiet: bool) -> int:
    """Progress goes to standard error, the table (or JSON) to standard output."""
    from devops_bench.proofs.calibrate import calibrate as climb
    from devops_bench.proofs.calibrate import keep_rows, read_rows
    from devops_bench.proofs.ladder import document, table
    from devops_bench.proofs.leaving import tidy_signals
    from devops_bench.tasks import catalogue_root, content_hash, find_tasks, load_task

    found = find_tasks(list(paths) or ["ALL"])
    if changed:
        kept = read_rows(catalogue_root())
        found = [
            item for item in found if item.key not in kept or kept[item.key].content_hash != content_hash(item.folder)
        ]
    mode = sandbox_mode()

    def progress(key: str, rung: Rung, score: float | None) -> None:
        if not quiet:
            click.echo(f"{'-' if score is None else f'{score:.2f}'}  {key}  {rung.value}", err=True)

    with tidy_signals():
        rows = climb(found, mode, jobs=jobs, progress=progress)
    if write:
        root = catalogue_root()
        everything = find_tasks("ALL", root=root)
        merged = keep_rows(root, rows, {item.key for item in everything})
        text = document([load_task(item.file, key=item.key) for item in everything], merged)
        (root.parent / "docs").mkdir(exist_ok=True)
        (root.parent / "docs" / "catalogue.md").write_text(text, encoding="utf-8")
    if as_json:
        data = [{"task": row.key, "content_hash": row.content_hash, "scores": row.scores} for row in rows]
        click.echo(json.dumps(data, indent=2))
    else:
        click.echo("\n".join(table(rows)))
    return 1 if any(row.too_easy() for row in rows) else 0


@click.command(
    "try",
    help="Be the agent: a shell with the agent's rights in the task's own cluster (commands from standard input), "
    "then the verdicts. Exit 0 only if everything passes.",
)
@click.argument("path")
@click.option(
    "--answer",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File with the final answer, read when the shell has ended.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the verdicts as JSON.")
def try_(path: str, answer: Path | None, as_json: bool) -> int:
    """What the shell says goes to standard error, the verdicts go to standard output."""
    import sys

    from devops_bench.proofs.byhand import by_hand
    from devops_bench.proofs.ladder import score_of
    from devops_bench.proofs.leaving import tidy_signals

    task, mode = one_task(path), sandbox_mode()

    def begin(task: TaskSpec) -> None:
        click.echo(f"{task.prompt.rstrip()}\n\n(a shell with the agent's rights; leave it to be judged)", err=True)

    def tell(portion: bytes) -> None:
        sys.stderr.buffer.write(portion)
        sys.stderr.flush()

    stdin = sys.stdin.buffer
    with tidy_signals():
        done = by_hand(task, mode, words=stdin, tell=tell, begin=begin, interactive=sys.stdin.isatty(), answer=answer)
    score = score_of(done, task.verification_spec)
    if as_json:
        data = [
            {"name": name, "status": status, "reason": done.reasons[name]} for name, status in done.statuses.items()
        ]
        click.echo(json.dumps({"task": task.key, "score": score, "entries": data}, indent=2))
    else:
        for name, status in done.statuses.items():
            click.echo(f"{status:<6} {name}: {done.reasons[name]}")
        click.echo("not judged" if score is None else f"score {score:.2f}")
    return 0 if score == 1.0 else 1


@click.command(help="Make the folder of a new task with its setup, solution, wrong answers and README to fill in.")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--provider", type=click.Choice(["kwok", "none"]), default="kwok", show_default=True)
def new(folder: Path, provider: str) -> int:
    """Raises ConfigError when the folder exists."""
    from devops_bench.tasks.scaffold import scaffold

    for path in scaffold(folder, provider):
        click.echo(str(path))
    click.echo(
        f"next: fill it in, then `devops-bench tasks review {folder}` and `devops-bench tasks validate {folder}`"
    )
    return 0


@click.command(
    "import",
    help="Read k8s-ai-bench folders (SOURCE: one, or a folder of them) and write tasks into TARGET. "
    "Exit 1 if one cannot run here; the reason is printed.",
)
@click.argument("source", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("target", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def import_(source: Path, target: Path, as_json: bool) -> int:
    """One line per folder: what was written, or why it cannot run."""
    from devops_bench.tasks.foreign import import_all

    results = import_all(source, target)
    if as_json:
        click.echo(json.dumps([result.as_data() for result in results], indent=2))
    else:
        for result in results:
            click.echo(result.line())
    return 1 if any(not result.runs for result in results) else 0

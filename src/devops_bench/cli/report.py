"""`devops-bench report STAMP`: the summary of a run, in the form that is asked for."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from devops_bench.report.model import Run


class Form(StrEnum):
    """What is printed."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "md"
    CSV = "csv"
    JUNIT = "junit"


@click.command()
@click.argument("stamp", default="latest")
@click.option("--md", "form", flag_value=Form.MARKDOWN, type=Form, help="GitHub-flavoured Markdown.")
@click.option("--json", "form", flag_value=Form.JSON, type=Form, help="One JSON object.")
@click.option("--csv", "form", flag_value=Form.CSV, type=Form, help="One line per combo.")
@click.option("--junit", "form", flag_value=Form.JUNIT, type=Form, help="JUnit XML; invalid combos are errors.")
@click.option(
    "--html",
    "page",
    is_flag=False,
    flag_value="",
    default=None,
    metavar="[FILE]",
    help="Write one self-contained page; FILE is report.html in the run's folder unless given.",
)
@click.option("--exit-code", is_flag=True, help="Exit with the run's own code (0, 1 or 3) instead of 0.")
def command(stamp: str, form: Form | None, page: str | None, exit_code: bool) -> int:
    """Summarise run STAMP (a stamp, its beginning, a run's folder, or `latest`).

    Prints a table unless another form is asked for. Works on running runs and on copied folders too.
    """
    from devops_bench.report.load import load_run
    from devops_bench.report.model import exit_code as code_of

    if page and stamp == "latest" and not page.lower().endswith((".html", ".htm")) and not Path(page).is_dir():
        # `report --html STAMP`: an optional value takes the next word, which is no file name here.
        stamp, page = page, ""
    if form is not None and page is not None:
        raise click.UsageError("--html writes a file; ask for it without another form")
    run = load_run(_find(stamp))
    if page is not None:
        _write_page(run, Path(page).expanduser() if page else run.directory / "report.html")
    else:
        click.echo(_renderer(form or Form.TABLE)(run), nl=False)
    return int(code_of(run)) if exit_code else 0


def _find(stamp: str) -> Path:
    from devops_bench import paths
    from devops_bench.supervisor import runs

    given = Path(stamp).expanduser()
    # A folder that has lost its plan.json still reports; `load_run` says what is missing.
    if "/" in stamp and given.is_dir():
        return given.resolve()
    return runs.find(stamp, paths.runs_root())


def _write_page(run: Run, path: Path) -> None:
    from devops_bench.errors import ConfigError
    from devops_bench.report import html

    if path.is_dir():
        path = path / "report.html"
    try:
        html.write(run, path)
    except OSError as error:
        raise ConfigError(f"cannot be written: {error.strerror}", where=path, fix="name another file") from None
    click.echo(str(path))


def _renderer(form: Form) -> Callable[[Run], str]:
    if form is Form.JSON:
        from devops_bench.report.data import to_json

        return to_json
    if form is Form.CSV:
        from devops_bench.report.csvtext import to_csv

        return to_csv
    if form is Form.MARKDOWN:
        from devops_bench.report.markdown import to_markdown

        return to_markdown
    if form is Form.JUNIT:
        from devops_bench.report.junit import to_junit

        return to_junit
    return _table


def _table(run: Run) -> str:
    import shutil

    from devops_bench.report.table import render

    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    return render(run, shutil.get_terminal_size((120, 24)).columns, color)

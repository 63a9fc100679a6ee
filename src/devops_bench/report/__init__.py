"""Reports of a run: the table at its end, Markdown, JSON, CSV, JUnit and one HTML file.

`load.load_run` reads a run's folder into a `model.Run`; every renderer is a function of that. The two functions here
are what the end of a run calls.
"""

from __future__ import annotations

import sys
from pathlib import Path

from devops_bench.report.model import RunSummary, exit_code

__all__ = ["RunSummary", "exit_code", "show", "summarise"]


def summarise(run_dir: Path) -> None:
    """Write what a finished run leaves beside its combos: rows.json, manifests.json, summary.json and report.html.

    Attempts that could not write their record get one first (see `unrecorded`); all else can be made again from the
    attempts. Raises OSError (a full disk); files that cannot be read are told in summary.json and do not stop it.
    """
    from devops_bench.errors import ConfigError
    from devops_bench.paths import atomic_write
    from devops_bench.report import data, html
    from devops_bench.report.load import load_run
    from devops_bench.results.aggregate import aggregate

    _complete(run_dir)
    problems: tuple[str, ...] = ()
    try:
        aggregate(run_dir)
    except ConfigError as error:
        problems = (f"not aggregated: {error.message()}",)
    run = load_run(run_dir, also=problems)
    atomic_write(run_dir / "summary.json", data.to_json(run))
    html.write(run, run_dir / "report.html")


def _complete(run_dir: Path) -> None:
    from devops_bench.matrix.plan import Plan
    from devops_bench.redact import Redactor
    from devops_bench.report import journal, unrecorded

    if (run_dir / "plan.json").exists():
        unrecorded.complete(run_dir, Plan.read(run_dir), journal.read(run_dir, []), Redactor.of_run())


def show(run_dir: Path) -> None:
    """Print the summary table and where the HTML report is: in colour on a terminal, as plain text elsewhere."""
    import os
    import shutil

    from devops_bench.report.load import load_run
    from devops_bench.report.table import render

    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
    print(render(load_run(run_dir), shutil.get_terminal_size((120, 24)).columns, color), end="")
    if (run_dir / "report.html").is_file():
        print(f"report: {run_dir / 'report.html'}")

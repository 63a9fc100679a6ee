"""One self-contained HTML file: no script, no external resource, a content policy that forbids both.

Everything that came from outside passes Jinja's autoescape; the only markup made in code is in `charts`, from numbers.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench._version import __version__
from devops_bench.paths import atomic_write, private_dir
from devops_bench.report import charts, details, ranking, table, texts, verdicts
from devops_bench.report.model import Combo, Run, Verdict

if TYPE_CHECKING:
    from jinja2 import Template

DETAILED = 400
"""Combos with a transcript in the page; beyond it those that did not pass come first and the rest has checks only."""
_HERE = Path(__file__).parent / "templates"
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control and direction characters: whatever a template forgets to make plain does not reach the page."""


def write(run: Run, path: Path) -> None:
    """Render and write `path` durably, mode 0600. Raises OSError."""
    private_dir(path.resolve().parent)
    atomic_write(path, render(run))


def render(run: Run) -> str:
    """The page as text."""
    from markupsafe import Markup

    css = (_HERE / "report.css").read_text()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    ranked = ranking.standings(run)
    anchors = {combo.rid: f"c{index}" for index, combo in enumerate(run.combos)}
    detailed = {combo.rid for combo in _most_telling(run.combos)[:DETAILED]}
    page = _template().render(
        run=run,
        css=Markup(css),  # noqa: S704 - our own file
        css_hash=digest,
        version=__version__,
        leader=table.leader(run),
        ranked=ranked,
        tied=_tied(run, ranked),
        bar=charts.verdict_bar(run),
        heat=charts.heat_map(run, [standing.setup for standing in ranked], anchors),
        anchors=anchors,
        verdicts=list(Verdict),
        scored=run.with_verdict(Verdict.PASSED, Verdict.FAILED),
        invalid=run.with_verdict(Verdict.INVALID),
        unfinished=run.with_verdict(Verdict.UNFINISHED),
        why=lambda combo: verdicts.why(combo, run.stamp),
        details=lambda combo: details.read(combo) if combo.rid in detailed else details.Details(),
        whisker=charts.whisker,
        strip=charts.strip,
        texts=texts,
    )
    return _UNSEEN.sub(" ", page)


def _tied(run: Run, ranked: list[ranking.Standing]) -> set[str]:
    found = ranking.best(run, ranked)
    return {found.leader.setup, *(other.setup for other in found.tied)} if found and found.tied else set()


def _most_telling(combos: tuple[Combo, ...]) -> list[Combo]:
    order = {Verdict.FAILED: 0, Verdict.INVALID: 1, Verdict.UNFINISHED: 2, Verdict.PASSED: 3}
    return sorted(combos, key=lambda combo: order[combo.verdict])


@cache
def _template() -> Template:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.get_template("report.html.j2")

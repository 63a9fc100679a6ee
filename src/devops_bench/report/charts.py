"""The report's drawings as small SVG shapes computed here: no library, no script, no style attribute (the page's
content policy forbids those). Colours come from the stylesheet by class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from devops_bench.report import texts
from devops_bench.report.model import Combo, Run, Verdict
from devops_bench.report.ranking import Standing

_ORDER = (Verdict.PASSED, Verdict.FAILED, Verdict.INVALID, Verdict.UNFINISHED)


@dataclass(frozen=True, slots=True)
class Cell:
    """One field of the heat map: combos of one task and one setup. `level` is 0..10 of the pass rate, None unscored."""

    passed: int
    scored: int
    invalid: int
    unfinished: int
    level: int | None
    anchor: str
    title: str

    @property
    def text(self) -> str:
        """`3/4`, or what kept it from being scored."""
        if self.scored:
            return f"{self.passed}/{self.scored}" if self.scored > 1 else ("pass" if self.passed else "fail")
        return "invalid" if self.invalid else "not run" if self.unfinished else ""


def verdict_bar(run: Run) -> Markup:
    """All planned combos as one bar, in the order passed, failed, invalid, unfinished."""
    total = max(run.planned, 1)
    shapes, x = [], 0.0
    for verdict in _ORDER:
        count = run.count(verdict)
        width = 1000 * count / total
        if count:
            shapes.append(
                f'<rect class="f-{verdict.value}" x="{x:.2f}" y="0" width="{max(width - 3, 1):.2f}" height="14" rx="3">'
                f"<title>{count} {verdict.value}</title></rect>"
            )
        x += width
    label = ", ".join(f"{run.count(verdict)} {verdict.value}" for verdict in _ORDER)
    return Markup(  # noqa: S704 - numbers and enum words only
        f'<svg class="bar" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f"{''.join(shapes)}</svg>"
    )


def whisker(standing: Standing) -> Markup:
    """The pass rate as a dot on its 95% interval, on a scale from 0 to 100%."""
    if standing.rate is None or standing.low is None or standing.high is None:
        return Markup('<span class="muted">not scored</span>')
    low, high, at = (6 + 188 * value for value in (standing.low, standing.high, standing.rate))
    label = f"{texts.percent(standing.rate)}, interval {texts.interval(standing.low, standing.high)}"
    grid = "".join(f'<line class="grid" x1="{6 + 188 * q}" x2="{6 + 188 * q}" y1="2" y2="20"/>' for q in (0, 0.5, 1))
    return Markup(  # noqa: S704 - numbers only
        f'<svg class="whisker" viewBox="0 0 200 22" role="img" aria-label="{label}">{grid}'
        f'<rect class="span" x="{low:.1f}" y="7" width="{max(high - low, 1):.1f}" height="8" rx="4"/>'
        f'<circle class="dot" cx="{at:.1f}" cy="11" r="5"/><title>{label}</title></svg>'
    )


def strip(statuses: Sequence[str], limit: int = 160) -> Markup:
    """Tool calls in order, one tick each, coloured by status; beyond `limit` ticks get thinner."""
    if not statuses:
        return Markup("")
    step = 6.0 if len(statuses) <= limit else 6.0 * limit / len(statuses)
    ticks = "".join(
        f'<rect class="t-{status}" x="{index * step:.2f}" y="0" width="{step * 0.7:.2f}" height="12" rx="1"/>'
        for index, status in enumerate(statuses)
    )
    width = step * len(statuses)
    return Markup(  # noqa: S704 - numbers and known words only
        f'<svg class="strip" viewBox="0 0 {width:.1f} 12" width="{width:.0f}" height="12" role="img" '
        f'aria-label="{len(statuses)} tool calls in order">{ticks}</svg>'
    )


def heat_map(run: Run, setups: Sequence[str], anchors: dict[str, str]) -> list[tuple[str, list[Cell]]]:
    """Rows of (task, cells in the order of `setups`), tasks in the plan's order. `anchors` maps a rid to its detail."""
    groups: dict[str, dict[str, list[Combo]]] = {}
    for combo in run.combos:
        groups.setdefault(combo.task, {}).setdefault(combo.setup, []).append(combo)
    return [(task, [_cell(row.get(setup, []), anchors) for setup in setups]) for task, row in groups.items()]


def _cell(combos: Sequence[Combo], anchors: dict[str, str]) -> Cell:
    def count(verdict: Verdict) -> int:
        return sum(combo.verdict is verdict for combo in combos)

    passed, failed = count(Verdict.PASSED), count(Verdict.FAILED)
    scored = passed + failed
    scores = [combo.score for combo in combos if combo.score is not None]
    mean = f", mean score {texts.score(sum(scores) / len(scores))}" if scores else ""
    return Cell(
        passed=passed,
        scored=scored,
        invalid=count(Verdict.INVALID),
        unfinished=count(Verdict.UNFINISHED),
        level=round(10 * passed / scored) if scored else None,
        anchor=anchors.get(combos[0].rid, "") if combos else "",
        title=f"{passed} of {scored} scored passed{mean}; {count(Verdict.INVALID)} invalid"
        if combos
        else "not planned",
    )

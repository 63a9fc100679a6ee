"""The summary at the end of a run: one row per combo, totals, the best setup, and each failure's decisive line.

`render` draws it in colour for a terminal (rich) and as plain aligned text for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from devops_bench.plaintext import counted
from devops_bench.report import ranking, texts, verdicts
from devops_bench.report.model import Combo, Run, Verdict

if TYPE_CHECKING:
    from rich.console import Console

HEADERS = ("task", "model", "config", "auth", "result", "exit", "score", "MCP", "checks", "time", "cost")
MOST_LINES = 20
_RIGHT = frozenset({"exit", "score", "MCP", "checks", "time", "cost"})
_COLOURS = {
    Verdict.PASSED: "green",
    Verdict.FAILED: "red",
    Verdict.INVALID: "yellow",
    Verdict.UNFINISHED: "bright_black",
}


def render(run: Run, width: int = 120, color: bool = False) -> str:
    """The whole summary as text. `width` is the terminal's columns; without `color` lines are never wrapped or cut."""
    return _rich(run, width) if color else _plain(run)


def cells(combo: Combo) -> tuple[str, ...]:
    """One row, in the order of HEADERS."""
    return (
        texts.plain(combo.label),
        texts.plain(combo.model),
        texts.plain(combo.preset),
        texts.plain(combo.auth_mode or texts.DASH),
        combo.verdict.value if combo.verdict is not Verdict.UNFINISHED else combo.state,
        texts.number(combo.exit),
        texts.score(combo.score),
        texts.number(combo.mcp_calls),
        texts.ratio(combo.checks_passed, len(combo.checks)),
        texts.seconds(combo.latency_sec),
        texts.usd(combo.cost_usd),
    )


def totals(run: Run) -> list[str]:
    """Counts with their denominators, cost with how much of it is known, and what forbids to compare scores."""
    parts = [f"{run.count(Verdict.PASSED)} passed", f"{run.count(Verdict.FAILED)} failed"]
    rest = [f"{run.count(Verdict.INVALID)} invalid", f"{run.count(Verdict.UNFINISHED)} unfinished"]
    of_plan = f"{run.scored}/{run.planned} scored" if run.complete else f"{run.scored}/{run.planned} scored (no plan)"
    lines = [f"{of_plan}: {', '.join(parts)}; not scored: {', '.join(rest)}"]
    retried = sum(max(combo.attempts - 1, 0) for combo in run.combos)
    if retried:
        lines.append(f"retries: {counted(retried, 'further attempt')}")
    cost, known = run.cost
    of_how_many = f" (known for {known}/{counted(run.planned, 'combo')})" if cost is not None else ""
    lines.append(f"cost: {texts.usd(cost)}{of_how_many}")
    return lines + [f"warning: {texts.plain(line, 600)}" for line in run.warnings]


def leader(run: Run) -> str:
    """The best performer in one line: rate, interval and n, or who it is tied with."""
    ranked = ranking.standings(run)
    found = ranking.best(run, ranked)
    if found is None:
        return "best: none, nothing was scored"
    top = found.leader
    line = (
        f"best: {texts.plain(top.setup)}, {top.passed}/{top.scored} passed ({texts.percent(top.rate)}, "
        f"95% interval {texts.interval(top.low, top.high)}, n={top.scored})"
    )
    if not found.others:
        return line + "; the only setup with scores"
    if not found.tied:
        return line + f"; better than the other {found.others} on shared tasks (McNemar p < {ranking.ALPHA})"
    names = ", ".join(f"{texts.plain(other.setup)} {other.passed}/{other.scored}" for other in found.tied[:4])
    more = f" and {len(found.tied) - 4} more" if len(found.tied) > 4 else ""
    return line + f"; tied with {names}{more}"


def failures(run: Run) -> list[tuple[Combo, verdicts.Why]]:
    """Combos that did not pass, in the plan's order; those that never started are left to the totals."""
    return [
        (combo, verdicts.why(combo, run.stamp))
        for combo in run.combos
        if combo.verdict is not Verdict.PASSED and (combo.verdict is not Verdict.UNFINISHED or combo.attempts)
    ]


def _plain(run: Run) -> str:
    rows = [cells(combo) for combo in run.combos]
    widths = [max(len(row[i]) for row in [HEADERS, *rows]) for i in range(len(HEADERS))]

    def line(row: Sequence[str]) -> str:
        padded = (
            cell.rjust(size) if name in _RIGHT else cell.ljust(size)
            for cell, size, name in zip(row, widths, HEADERS, strict=True)
        )
        return "  ".join(padded).rstrip()

    out = [f"run {run.stamp}", "", line(HEADERS), line(["-" * size for size in widths]), *map(line, rows), ""]
    out += totals(run)
    out.append(leader(run))
    if found := failures(run):
        out += ["", "not passed:"]
        for combo, why in found:
            out.append(f"  {_name(combo)}")
            out.append(f"    {texts.plain(why.line, 240)}")
            if why.cause and why.cause not in why.line:
                out.append(f"    cause: {texts.plain(why.cause, 400)}")
            if why.fix:
                out.append(f"    fix: {texts.plain(why.fix, 400)}")
    out += _tail(run)
    return "\n".join(out) + "\n"


def _name(combo: Combo) -> str:
    return texts.plain(f"{combo.label} · {combo.setup} [{combo.klass or combo.verdict}]")


def _tail(run: Run) -> list[str]:
    out: list[str] = []
    if run.guarded:
        out += [
            "",
            "aimed at clusters of others:",
            *(f"  {texts.plain(line, 400)}" for line in run.guarded[:MOST_LINES]),
        ]
        if len(run.guarded) > MOST_LINES:
            out.append(f"  and {len(run.guarded) - MOST_LINES} more")
    if run.residue:
        out += ["", "left behind by teardown:", *(f"  {texts.plain(line, 400)}" for line in run.residue)]
    if run.problems:
        out += ["", "could not be read:", *(f"  {texts.plain(line, 400)}" for line in run.problems)]
    return out


def _rich(run: Run, width: int) -> str:
    from rich.console import Console

    out = StringIO()
    console = Console(
        file=out, width=width, force_terminal=True, color_system="standard", highlight=False, legacy_windows=False
    )
    _draw(run, console)
    return out.getvalue()


def _draw(run: Run, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(
        title=f"run {run.stamp}",
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for name in HEADERS:
        table.add_column(
            name,
            justify="right" if name in _RIGHT else "left",
            no_wrap=name not in {"task", "model"},
            overflow="fold",
        )
    for combo in run.combos:
        colour = _COLOURS[combo.verdict]
        table.add_row(
            *(
                Text(cell, style=colour if name in {"result", "score"} else "")
                for name, cell in zip(HEADERS, cells(combo), strict=True)
            )
        )
    console.print(table)
    for line in totals(run):
        console.print(Text(line, style="yellow" if line.startswith("warning: ") else ""))
    console.print(Text(leader(run), style="bold"))
    for combo, why in failures(run):
        console.print()
        console.print(Text(_name(combo), style=_COLOURS[combo.verdict]))
        console.print(Text("  " + texts.plain(why.line, 240)))
        if why.cause and why.cause not in why.line:
            console.print(Text("  cause: " + texts.plain(why.cause, 400), style="bright_black"))
        if why.fix:
            console.print(Text("  fix: " + texts.plain(why.fix, 400), style="cyan"))
    for line in _tail(run):
        console.print(Text(line, style="yellow" if line and not line.startswith(" ") else ""))

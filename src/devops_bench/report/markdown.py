"""The report as GitHub-flavoured Markdown, for a pull request or an issue."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from devops_bench.report import ranking, table, texts
from devops_bench.report.model import Run

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~@!])")


def escape(text: str, limit: int = 300) -> str:
    """Text from outside as Markdown that shows it and does nothing: no markup, no HTML, no mention."""
    return (
        _SPECIAL.sub(r"\\\1", texts.plain(text, limit))
        .replace("://", ":\u200b//")
        .replace("\\@", "@\u200b")
        .replace("www.", "www\u200b.")
    )


def to_markdown(run: Run) -> str:
    """Totals, leaderboard, combos, and why each of the rest did not pass."""
    out = [f"# Run {escape(run.stamp)}", ""]
    out += [f"- {escape(line)}" for line in [*table.totals(run), table.leader(run)]]
    out += ["", "## Leaderboard", ""]
    out += _table(
        ("setup", "passed", "rate", "95% interval", "mean score", "mean cost", "mean time", "invalid"),
        (
            (
                escape(s.setup),
                texts.ratio(s.passed, s.scored),
                texts.percent(s.rate),
                texts.interval(s.low, s.high),
                texts.score(s.mean_score),
                texts.usd(s.mean_cost),
                texts.seconds(s.mean_latency),
                texts.ratio(s.invalid, s.planned),
            )
            for s in ranking.standings(run)
        ),
    )
    out += ["", "## Combos", ""]
    out += _table(table.HEADERS, ([escape(cell) for cell in table.cells(combo)] for combo in run.combos))
    if found := table.failures(run):
        out += ["", "## Not passed", ""]
        for combo, why in found:
            fix = f" Fix: {_sentence(why.fix)}" if why.fix else ""
            out.append(f"- **{escape(combo.label)}** · {escape(combo.setup)}: {_sentence(why.line)}{fix}")
    for title, lines in (
        ("Aimed at clusters of others", run.guarded),
        ("Left behind by teardown", run.residue),
        ("Could not be read", run.problems),
    ):
        if lines:
            out += ["", f"## {title}", "", *(f"- {escape(line)}" for line in lines)]
    return "\n".join(out) + "\n"


def _sentence(text: str) -> str:
    """With one full stop at its end, unless it ends otherwise."""
    shown = escape(text)
    return shown if shown.endswith((".", "\\!", "?", ":", "…")) else f"{shown}."


def _table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows]

"""The report as CSV: one line per combo, empty cells for what is not known."""

from __future__ import annotations

import csv
from io import StringIO

from devops_bench.report import texts, verdicts
from devops_bench.report.model import Run, Verdict

COLUMNS = (
    "stamp", "rid", "task", "repeat", "model", "preset", "harness", "provider", "auth_mode", "result", "state", "exit",
    "score", "mcp_calls", "tool_calls", "checks_passed", "checks_total", "latency_sec", "wall_sec", "cost_usd",
    "input_tokens", "output_tokens", "total_tokens", "attempts", "end", "class", "phase", "signature", "why",
    "devops_bench", "code_hash", "task_hash", "agent_version", "rules_hash",
)  # fmt: skip
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def to_csv(run: Run) -> str:
    """CSV text with a header line. Text that a spreadsheet would run as a formula gets a leading apostrophe."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for combo in run.combos:
        why = "" if combo.verdict is Verdict.PASSED else verdicts.why(combo, run.stamp).line
        values: list[object] = [
            run.stamp, combo.rid, combo.task, combo.repeat, combo.model, combo.preset, combo.harness, combo.provider,
            combo.auth_mode, combo.verdict.value, combo.state, combo.exit, combo.score, combo.mcp_calls,
            combo.tool_calls, combo.checks_passed, len(combo.checks) or None, combo.latency_sec, combo.wall_sec,
            combo.cost_usd, combo.tokens.input, combo.tokens.output, combo.tokens.total, combo.attempts, combo.end,
            combo.klass, combo.phase, combo.signature, why,
            combo.made.version, combo.made.code, combo.made.task, combo.made.agent,
            combo.made.rules,
        ]  # fmt: skip
        writer.writerow([_cell(value) for value in values])
    return out.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, float):
        return round(value, 6)
    if not isinstance(value, str):
        return value
    line = texts.plain(value)
    return f"'{line}" if line.startswith(_FORMULA) else line

"""The report as JUnit XML for CI: a suite per setup, a case per combo. Invalid is an error, never a failure."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from devops_bench.report import texts, verdicts
from devops_bench.report.model import Combo, Run, Verdict


def to_junit(run: Run) -> str:
    """XML text. Unfinished combos are skipped cases."""
    groups: dict[str, list[Combo]] = {}
    for combo in run.combos:
        groups.setdefault(combo.setup, []).append(combo)
    out = ['<?xml version="1.0" encoding="UTF-8"?>', f"<testsuites name={_attr(run.stamp)}{_counts(run.combos)}>"]
    for setup, combos in groups.items():
        out.append(f"  <testsuite name={_attr(setup)}{_counts(combos)}>")
        out += [line for combo in combos for line in _case(combo, run.stamp)]
        out.append("  </testsuite>")
    out.append("</testsuites>")
    return "\n".join(out) + "\n"


def _counts(combos: list[Combo] | tuple[Combo, ...]) -> str:
    def count(verdict: Verdict) -> int:
        return sum(combo.verdict is verdict for combo in combos)

    seconds = sum(combo.latency_sec or 0.0 for combo in combos)
    return (
        f' tests="{len(combos)}" failures="{count(Verdict.FAILED)}" errors="{count(Verdict.INVALID)}"'
        f' skipped="{count(Verdict.UNFINISHED)}" time="{seconds:.3f}"'
    )


def _case(combo: Combo, stamp: str) -> list[str]:
    time = f' time="{combo.latency_sec:.3f}"' if combo.latency_sec is not None else ""
    head = f"    <testcase classname={_attr(combo.setup)} name={_attr(combo.label)}{time}"
    if combo.verdict is Verdict.PASSED:
        return [head + "/>"]
    why = verdicts.why(combo, stamp)
    tag = {Verdict.FAILED: "failure", Verdict.INVALID: "error", Verdict.UNFINISHED: "skipped"}[combo.verdict]
    kind = f" type={_attr(why.klass)}" if tag != "skipped" else ""
    body = "" if tag == "skipped" else escape(texts.plain(f"cause: {why.cause}; fix: {why.fix}"))
    return [head + ">", f"      <{tag}{kind} message={_attr(why.line)}>{body}</{tag}>", "    </testcase>"]


def _attr(text: str) -> str:
    return quoteattr(texts.plain(text))

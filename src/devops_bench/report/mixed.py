"""Were all scores of a run made with the same things? A run that was resumed after an upgrade, or repaired on its way,
has combos of several versions; they stand in one table, so the table says it.

Only combos that were judged count: an attempt without a score is compared with nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from devops_bench.plaintext import counted
from devops_bench.report.model import Combo, Made, Verdict
from devops_bench.results.environment import rules_label, short_hash

NAMED = 3  # combos that a line names of each version


def warnings(combos: Iterable[Combo]) -> tuple[str, ...]:
    """One line for each thing of which judged combos had different ones."""
    judged = [combo for combo in combos if combo.verdict in {Verdict.PASSED, Verdict.FAILED}]
    found = list(
        _differ(
            "these scores are of {n} versions of devops-bench and not comparable", judged, lambda c: _program(c.made)
        )
    )
    for task, own in _grouped(judged, lambda c: c.task):
        found += _differ(
            f"task {task} was changed during the run, its scores are of {{n}} contents and not comparable",
            own,
            lambda c: short_hash(c.made.task),
        )
    for agent, own in _grouped(judged, lambda c: c.harness):
        found += _differ(f"agent {agent} ran in {{n}} versions", own, lambda c: c.made.agent)
    found += _differ(
        "agents were given {n} different rules (AGENT_RULES_TEXT), these scores are not comparable",
        judged,
        lambda c: rules_label(c.made.rules),
    )
    return tuple(found)


def _grouped(combos: Iterable[Combo], of: Callable[[Combo], str]) -> Iterable[tuple[str, list[Combo]]]:
    groups: dict[str, list[Combo]] = {}
    for combo in combos:
        groups.setdefault(of(combo), []).append(combo)
    return groups.items()


def _differ(what: str, combos: Sequence[Combo], of: Callable[[Combo], str]) -> Iterable[str]:
    groups = [(label, group) for label, group in _grouped(combos, of) if label]
    if len(groups) > 1:
        parts = "; ".join(f"{label}: {_names(group)}" for label, group in groups)
        yield f"{what.replace('{n}', str(len(groups)))}: {parts}"


def _names(combos: Sequence[Combo]) -> str:
    more = f" and {len(combos) - NAMED} more" if len(combos) > NAMED else ""
    named = ", ".join(combo.rid for combo in combos[:NAMED])
    return f"{counted(len(combos), 'combo')} ({named}{more})"


def _program(made: Made) -> str:
    return f"{made.version or 'unknown'} code {short_hash(made.code)}" if made.code else ""

"""The ladder of scripted agents: what a task is worth to somebody who does nothing, too much, or the obvious. Pure.

A task that the lower rungs climb does not tell agents apart. `calibrate` runs the rungs and keeps the scores; this
module says what they are, computes a score from verdicts as a combo would, and renders docs/catalogue.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from devops_bench.plaintext import columns, counted
from devops_bench.proofs.cases import Case, Kind
from devops_bench.proofs.judge import Judgement, Outcome
from devops_bench.proofs.scripts import read_scripts
from devops_bench.scoring import score
from devops_bench.tasks.spec import Entry, TaskSpec
from devops_bench.verification import EntryResult, Verdict, rollup

SCORES = "scores"  # of a stored proof
CEILING = 0.5  # a task that pays more for these rungs is reworked


class Rung(StrEnum):
    """From the bottom up."""

    IDLE = "idle"
    RESTART = "restart-everything"
    RECREATE = "delete-and-recreate"
    OBVIOUS = "first-obvious-fix"
    PARTIAL = "honest-partial"
    SOLUTION = "solution"


LOW = (Rung.IDLE, Rung.RESTART, Rung.RECREATE, Rung.OBVIOUS)

_IDLE = ":\n"
_EACH = """\
for kind in deployment statefulset daemonset; do
  kubectl get "$kind" -A --no-headers -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name 2>/dev/null |
    while read -r ns name; do
"""
RESTART_SCRIPT = f"""\
#!/usr/bin/env bash
{_EACH}      kubectl -n "$ns" rollout restart "$kind/$name" < /dev/null
    done
done
{_EACH}      kubectl -n "$ns" rollout status "$kind/$name" --timeout=3s < /dev/null
    done
done
exit 0
"""
RECREATE_SCRIPT = f"""\
#!/usr/bin/env bash
{_EACH}      kubectl -n "$ns" get "$kind/$name" -o yaml < /dev/null | kubectl replace --force --timeout=10s -f -
    done
done
exit 0
"""


def rungs_of(task: TaskSpec) -> dict[Rung, Case | None]:
    """A case for each rung; None where the task has no such thing (no cluster to restart, no script of that name).

    `first-obvious-fix` and `honest-partial` are wrong answers with a line `# rung: NAME`. Without one, honest-partial
    is the first solution without its last step. Raises TaskError for a malformed script.
    """
    wrong = {script.rung: script for script in read_scripts(task.folder / "wrong") if script.rung}
    solutions = read_scripts(task.folder / "solution")
    clustered = task.provider != "none"

    def case(rung: Rung, text: str) -> Case:
        return Case(Kind.RUNG, rung.value, text)

    found: dict[Rung, Case | None] = dict.fromkeys(Rung)
    found[Rung.IDLE] = case(Rung.IDLE, _IDLE)
    if clustered:
        found[Rung.RESTART] = case(Rung.RESTART, RESTART_SCRIPT)
        found[Rung.RECREATE] = case(Rung.RECREATE, RECREATE_SCRIPT)
    if solutions:
        found[Rung.SOLUTION] = case(Rung.SOLUTION, solutions[0].text)
        if len(solutions[0].steps) > 1:
            found[Rung.PARTIAL] = case(Rung.PARTIAL, solutions[0].without(solutions[0].steps[-1]))
    for rung in (Rung.OBVIOUS, Rung.PARTIAL):
        if rung.value in wrong:
            found[rung] = case(rung, wrong[rung.value].text)
    return found


def proved_scores(task: TaskSpec, outcomes: Sequence[Outcome]) -> dict[str, float]:
    """Scores of the rungs that the proofs have climbed already, by the text that was run; for the stored proof."""
    climbed: dict[str, Outcome | None] = {}
    climbed |= {outcome.case.script: outcome for outcome in outcomes if outcome.case.kind is not Kind.COPIES}
    climbed[_IDLE] = next((outcome for outcome in outcomes if outcome.case.kind is Kind.IDLE), None)
    found: dict[str, float] = {}
    for rung, case in rungs_of(task).items():
        outcome = climbed.get(case.script) if case is not None else None
        if outcome is not None and outcome.last is not None and not outcome.trouble:
            score = score_of(outcome.last, task.verification_spec)
            if score is not None:
                found[rung.value] = score
    return found


def score_of(judgement: Judgement, entries: Sequence[Entry]) -> float | None:
    """The outcome score that a combo with these verdicts gets; None when it could not be judged."""
    results = [
        EntryResult.of(entry, Verdict(judgement.statuses[entry.name], judgement.reasons[entry.name]))
        for entry in entries
    ]
    found = score(rollup(results))["OutcomeScore"]["score"]
    return None if found is None else float(found)


@dataclass(frozen=True, slots=True)
class Row:
    """One task's scores by rung (None: no such rung), and the hash of the files that they are of."""

    key: str
    content_hash: str
    scores: Mapping[Rung, float | None]

    def too_easy(self) -> list[Rung]:
        """Low rungs that score above the ceiling."""
        return [rung for rung in LOW if (self.scores.get(rung) or 0.0) > CEILING]


def table(rows: Sequence[Row]) -> list[str]:
    """For a terminal: one line per task, then one for each finding."""
    head = ["task", *(rung.value for rung in Rung)]
    cells = [head, *([row.key, *(_cell(row.scores.get(rung)) for rung in Rung)] for row in rows)]
    out = columns(cells)
    found = [f"{row.key}: {rung.value} scores {row.scores[rung]:.2f}, more than {CEILING:g}: rework the task"
             for row in rows for rung in row.too_easy()]  # fmt: skip
    return [*out, "", *found] if found else out


def document(tasks: Sequence[TaskSpec], rows: Mapping[str, Row]) -> str:
    """docs/catalogue.md."""
    lines = [
        "# The catalogue", "",
        "Generated by `devops-bench tasks calibrate --write`; do not edit. How tasks are proved: reference/task.md.",
        "",
        f"{counted(len(tasks), 'task')}: {_counts(tasks)}.", "",
        "| task | runs on | level | category | what it is about |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for task in tasks:
        category = task.category.value if task.category else "-"
        about = " ".join((task.summary or task.title or task.name).split())
        lines.append(f"| `{task.key}` | {task.provider} | {task.difficulty or '-'} | {category} | {about} |")
    lines += [
        "", "## Difficulty: the ladder of scripted agents", "",
        "Outcome scores, 0 to 1. Idle does nothing; restart-everything restarts all workloads; delete-and-recreate",
        "replaces all of them by copies; first-obvious-fix treats the symptom in the first way that comes to mind;",
        "honest-partial does a part of the work and harms nothing; solution is the first of the task's solutions.",
        f"A task on which one of the first four scores more than {CEILING:g} is reworked. `-`: there is no such rung.",
        "",
        "| task | " + " | ".join(rung.value for rung in Rung) + " | of files |", "|---|" + "---|" * (len(Rung) + 1),
    ]  # fmt: skip
    for task in tasks:
        row = rows.get(task.key)
        if row is not None:
            cells = " | ".join(_cell(row.scores.get(rung)) for rung in Rung)
            lines.append(f"| `{task.key}` | {cells} | `{row.content_hash.removeprefix('sha256:')[:12]}` |")
    return "\n".join(lines) + "\n"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _counts(tasks: Sequence[TaskSpec]) -> str:
    levels = [task.difficulty or "ungraded" for task in tasks]
    return ", ".join(
        f"{levels.count(level)} {level}" for level in ("easy", "medium", "hard", "ungraded") if level in levels
    )

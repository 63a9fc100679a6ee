"""What has to be run for a task, as data: one case is one fresh cluster and workspace, one script, one promise."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from devops_bench.errors import TaskError
from devops_bench.proofs.scripts import Script, read_scripts
from devops_bench.tasks.spec import Role, TaskSpec


class Kind(StrEnum):
    """What a case proves."""

    IDLE = "idle"  # untouched, and after an idle agent's whole converge time; judging reads only
    SOLUTION = "solution"  # everything passes, three times over
    MINUS = "minus"  # a solution without one step: something fails
    WRONG = "wrong"  # exactly what the wrong answer names fails
    COPIES = "copies"  # two at once, both pass
    RUNG = "rung"  # promises nothing: its score is what calibration asks for


@dataclass(frozen=True, slots=True)
class Case:
    """One thing to run. `script` is the text to run, empty for an idle agent; `source` the file that it comes from."""

    kind: Kind
    name: str
    script: str = ""
    source: Script | None = None


def cases_of(task: TaskSpec) -> list[Case]:
    """All cases of a task, cheap ones first. Raises TaskError for a malformed script."""
    solutions = read_scripts(task.folder / "solution")
    wrong = read_scripts(task.folder / "wrong")
    cases = [Case(Kind.IDLE, "idle")]
    for solution in solutions:
        cases.append(Case(Kind.SOLUTION, solution.name, solution.text, solution))
        cases += [
            Case(Kind.MINUS, f"{solution.name} without step {number} ({step.title})", solution.without(step), solution)
            for number, step in enumerate(solution.steps, 1)
        ]
    cases += [Case(Kind.WRONG, answer.name, answer.text, answer) for answer in wrong]
    if solutions:
        cases.append(Case(Kind.COPIES, f"two of {solutions[0].name}", solutions[0].text, solutions[0]))
    return cases


def structure_problems(task: TaskSpec) -> list[str]:
    """What is missing before anything is run: scripts, steps, entries that do not exist."""
    solutions = read_scripts(task.folder / "solution")
    wrong = read_scripts(task.folder / "wrong")
    names = {entry.name for entry in task.verification_spec}
    problems = [f"entry {failure.name} (line {failure.line}): {failure.reason}" for failure in task.parse_failures]
    if not any(entry.role is Role.OBJECTIVE for entry in task.verification_spec):
        problems.append("no objective: there is nothing to solve")
    if not solutions:
        problems.append("solution/ holds no script")
    if task.difficulty == "hard" and len(solutions) < 2:
        problems.append("a hard task needs two solutions that differ")
    problems += [f"solution/{script.path.name} has no `# fix:` step" for script in solutions if not script.steps]
    if not wrong:
        problems.append("wrong/ holds no script")
    for script in wrong:
        if not script.breaks and not script.others:
            problems.append(f"wrong/{script.path.name} has no `# breaks:` line")
        for name in sorted(script.breaks - names):
            problems.append(f"wrong/{script.path.name} breaks {name!r}, which is no entry")
    return problems


def load_cases(task: TaskSpec) -> tuple[list[Case], list[str]]:
    """(cases, problems); a script that cannot be read is a problem, not an exception."""
    try:
        return cases_of(task), structure_problems(task)
    except TaskError as error:
        return [], [error.message()]

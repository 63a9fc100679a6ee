"""Compares what a case did with what it promises. Pure: verdicts in, one line for each broken promise out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from devops_bench.proofs.cases import Case, Kind
from devops_bench.tasks.spec import Entry, Role
from devops_bench.verification import Status


@dataclass(frozen=True, slots=True)
class Judgement:
    """Status and reason of every entry at one moment."""

    moment: str
    statuses: Mapping[str, Status]
    reasons: Mapping[str, str]

    def having(self, status: Status) -> frozenset[str]:
        """Names of the entries with `status`."""
        return frozenset(name for name, found in self.statuses.items() if found is status)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one case did. `moved` names what changed while the verifier only looked, `leaks` what the agent could read
    and should not; `trouble` ended it early.
    """

    case: Case
    judgements: tuple[Judgement, ...] = ()
    moved: tuple[str, ...] = ()
    leaks: tuple[str, ...] = ()
    trouble: str = ""
    script_exit: int | None = None
    script_tail: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def last(self) -> Judgement | None:
        """The final judgement, if it came to one."""
        return self.judgements[-1] if self.judgements else None


def findings(outcome: Outcome, entries: Sequence[Entry]) -> list[str]:
    """One line per broken promise of a case; empty when it keeps them all."""
    if outcome.trouble:
        return [outcome.trouble]
    if not outcome.judgements:
        return ["nothing was judged"]
    found = [f"judging changed {item}" for item in outcome.moved] + list(outcome.leaks)
    for judgement in outcome.judgements:
        for name in sorted(judgement.having(Status.ERROR)):
            found.append(f"{judgement.moment}: {name} could not be evaluated: {judgement.reasons[name]}")
    if found:
        return found
    found += _steady(outcome)
    if outcome.case.kind is Kind.RUNG:
        return found
    rule = {Kind.IDLE: _idle, Kind.SOLUTION: _solved, Kind.COPIES: _solved, Kind.MINUS: _minus, Kind.WRONG: _wrong}
    return found + rule[outcome.case.kind](outcome, entries)


def _steady(outcome: Outcome) -> list[str]:
    """The same state judged again must get the same verdicts."""
    first = outcome.judgements[0]
    found = []
    for other in outcome.judgements[1:]:
        for name, status in first.statuses.items():
            if other.statuses.get(name) is not status:
                now = other.statuses.get(name)
                found.append(
                    f"{name} is {status} {first.moment}, {now} {other.moment}: {other.reasons.get(name, 'not judged')}"
                )
    return found


def _idle(outcome: Outcome, entries: Sequence[Entry]) -> list[str]:
    assert outcome.last is not None
    failing = outcome.last.having(Status.FAIL)
    roles = {entry.name: entry.role for entry in entries}
    found = [
        f"safeguard {name} does not hold on the untouched task: {outcome.last.reasons[name]}"
        for name in sorted(failing)
        if roles[name] is Role.SAFEGUARD
    ]
    if not any(roles[name] is Role.OBJECTIVE for name in failing):
        found.append("every objective is met although nobody did anything")
    return found


def _solved(outcome: Outcome, _entries: Sequence[Entry]) -> list[str]:
    assert outcome.last is not None
    return [f"{name} fails: {outcome.last.reasons[name]}{_said(outcome)}" for name in sorted(_failing(outcome))]


def _minus(outcome: Outcome, _entries: Sequence[Entry]) -> list[str]:
    return [] if _failing(outcome) else ["everything passes without this step: no check notices it"]


def _wrong(outcome: Outcome, _entries: Sequence[Entry]) -> list[str]:
    script = outcome.case.source
    assert script is not None and outcome.last is not None
    failing = _failing(outcome)
    if not failing:
        return [f"a wrong answer passes everything{_said(outcome)}"]
    found = [f"{name} should fail, but passes{_said(outcome)}" for name in sorted(script.breaks - failing)]
    if not script.others:
        found += [
            f"{name} should pass, but fails: {outcome.last.reasons[name]}{_said(outcome)}"
            for name in sorted(failing - script.breaks)
        ]
    return found


def _failing(outcome: Outcome) -> frozenset[str]:
    assert outcome.last is not None
    return outcome.last.having(Status.FAIL)


def _said(outcome: Outcome) -> str:
    """What the script complained about, when it did not end well: usually the reason."""
    if not outcome.script_exit:
        return ""
    return f" (the script ended with {outcome.script_exit}: {outcome.script_tail or 'no output'})"


def coverage(outcomes: Sequence[Outcome], entries: Sequence[Entry]) -> tuple[dict[str, str], list[str]]:
    """(entry -> case in which it alone failed, one line for each entry that no case shows to be needed).

    A safeguard needs a case in which no other safeguard fails; an entry of either role one in which nothing else does.
    Solutions without one step count as wrong answers.
    """
    alone: dict[str, str] = {}
    for outcome in outcomes:
        if outcome.case.kind in {Kind.WRONG, Kind.MINUS} and outcome.last is not None and not outcome.trouble:
            failing = outcome.last.having(Status.FAIL)
            if len(failing) == 1:
                alone.setdefault(next(iter(failing)), f"{outcome.case.kind}: {outcome.case.name}")
    missing = [
        f"no wrong answer is caught by {entry.role} {entry.name} alone" for entry in entries if entry.name not in alone
    ]
    return alone, missing

"""What a report knows of a run: plain frozen data, made by `load`, read by every renderer.

None always means "not known" or "does not apply" and is shown as a dash; it is never turned into 0.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from devops_bench.errors import ExitCode


class Verdict(StrEnum):
    """What a combo counts as. Only PASSED and FAILED are about the agent."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Check:
    """One verification entry of the counted attempt. `status` is pass, fail or error."""

    name: str
    title: str
    role: str
    severity: str | None
    mode: str | None
    status: str
    reason: str
    hint: str
    group: str
    weight: float

    @property
    def label(self) -> str:
        """What people call it."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class Tokens:
    """Counts; None where not told."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What an attempt was made with, by its environment.json; empty where that does not tell."""

    version: str = ""
    code: str = ""
    task: str = ""
    agent: str = ""
    rules: str = ""


@dataclass(frozen=True, slots=True)
class Combo:
    """One cell of the matrix with the attempt that counts: the last one that could be judged, else the last one.

    `latency_sec` is seconds of the agent alone, `wall_sec` of the whole attempt, `cost_usd` USD. `directory` is that
    attempt's folder. `klass`, `phase`, `signature` and `reason` are set where the attempt could not be judged. `guard`:
    a line for each command that was aimed at a foreign cluster.
    """

    rid: str
    task: str
    title: str
    category: str
    model: str
    preset: str
    harness: str
    provider: str
    repeat: int
    verdict: Verdict
    state: str
    exit: int | None = None
    attempts: int = 0
    directory: Path | None = None
    score: float | None = None
    auth_mode: str | None = None
    mcp_calls: int | None = None
    tool_calls: int | None = None
    tool_errors: int | None = None
    model_turns: int | None = None
    served_model: str = ""
    sandboxed: bool | None = None
    checks: tuple[Check, ...] = ()
    latency_sec: float | None = None
    wall_sec: float | None = None
    cost_usd: float | None = None
    tokens: Tokens = Tokens()
    klass: str | None = None
    phase: str | None = None
    signature: str | None = None
    reason: str = ""
    end: str | None = None
    raw_end: str | None = None
    catastrophic: tuple[str, ...] = ()
    unresolved: bool = False
    residue: tuple[str, ...] = ()
    made: Made = Made()
    guard: tuple[str, ...] = ()

    @property
    def setup(self) -> str:
        """The leaderboard's unit: model and configuration."""
        return f"{self.model} · {self.preset}"

    @property
    def checks_passed(self) -> int | None:
        """None when no check was evaluated."""
        return sum(check.status == "pass" for check in self.checks) if self.checks else None

    @property
    def label(self) -> str:
        """Task with its repeat, as shown to people."""
        return f"{self.task} #{self.repeat}" if self.repeat else self.task


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run. `planned` counts combos of the plan; `complete` is False without a plan (then only started ones are
    known), `done` is True once no combo is unfinished. `problems` are lines about files that could not be read,
    `warnings` about scores that should not be compared. Times are ISO-8601 UTC.
    """

    stamp: str
    directory: Path
    combos: tuple[Combo, ...]
    planned: int
    complete: bool
    done: bool
    created: str = ""
    started: str = ""
    ended: str = ""
    notes: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    residue: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    agent_timeout_sec: float | None = None
    max_parallel: int | None = None
    sandbox: bool | None = None
    judge_model: str | None = None
    retry_of: str | None = None

    def count(self, verdict: Verdict) -> int:
        """Combos with this verdict."""
        return Counter(combo.verdict for combo in self.combos)[verdict]

    @property
    def scored(self) -> int:
        """Combos that could be judged: passed or failed."""
        return self.count(Verdict.PASSED) + self.count(Verdict.FAILED)

    @property
    def cost(self) -> tuple[float | None, int]:
        """USD over the combos whose cost is known, and how many those are."""
        known = [combo.cost_usd for combo in self.combos if combo.cost_usd is not None]
        return (sum(known) if known else None), len(known)

    @property
    def guarded(self) -> list[str]:
        """What the guard found, a line each with its combo."""
        return [f"{combo.rid}: {line}" for combo in self.combos for line in combo.guard]

    def with_verdict(self, *verdicts: Verdict) -> list[Combo]:
        """Combos of these verdicts in the plan's order."""
        return [combo for combo in self.combos if combo.verdict in verdicts]


RunSummary = Run
"""The name by which other packages know it."""


def exit_code(run: Run) -> ExitCode:
    """0 all passed, 1 at least one failed its task, 3 at least one invalid or unfinished; 3 beats 1."""
    if any(combo.verdict in {Verdict.INVALID, Verdict.UNFINISHED} for combo in run.combos):
        return ExitCode.INVALID
    if len(run.combos) < run.planned:
        return ExitCode.INVALID
    return ExitCode.FAILED if run.count(Verdict.FAILED) else ExitCode.OK

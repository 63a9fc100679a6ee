"""The leaderboard: pass rate per setup with its n and interval, and an honest "tied" where the numbers cannot tell.

Setups are compared on the combos they share (same task, same repeat) with the exact McNemar test; without enough
discordant pairs nothing can be told, and then nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb
from statistics import fmean

from devops_bench.report.model import Combo, Run, Verdict
from devops_bench.scoring.stats import wilson

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """One setup. `scored` is n: invalid and unfinished combos are counted apart and are in no rate.

    `low` and `high` are the 95% Wilson interval of the pass rate; means are over known values, with their own n.
    """

    setup: str
    model: str
    preset: str
    planned: int
    scored: int
    passed: int
    invalid: int
    unfinished: int
    low: float | None
    high: float | None
    mean_score: float | None
    score_n: int
    mean_cost: float | None
    cost_n: int
    mean_latency: float | None
    mean_tokens: float | None
    catastrophic: int

    @property
    def rate(self) -> float | None:
        """Passed / scored; None without any scored combo."""
        return self.passed / self.scored if self.scored else None


def mcnemar_exact(only_first: int, only_second: int) -> float:
    """Two-sided exact p of McNemar's test from the two discordant counts; 1.0 when there are none."""
    n = only_first + only_second
    tail = sum(comb(n, k) for k in range(min(only_first, only_second) + 1))
    return min(1.0, float(2 * tail / 2**n))


def standings(run: Run) -> list[Standing]:
    """One per setup, best first: by pass rate, mean score, n, name. Setups without a scored combo come last."""
    groups: dict[str, list[Combo]] = {}
    for combo in run.combos:
        groups.setdefault(combo.setup, []).append(combo)
    made = [_standing(name, combos) for name, combos in groups.items()]

    def order(s: Standing) -> tuple[float, float, int, str]:
        return (-1.0 if s.rate is None else s.rate) * -1, -(s.mean_score or 0.0), -s.scored, s.setup

    return sorted(made, key=order)


def _standing(name: str, combos: Sequence[Combo]) -> Standing:
    judged = [combo for combo in combos if combo.verdict in {Verdict.PASSED, Verdict.FAILED}]
    passed = sum(combo.verdict is Verdict.PASSED for combo in judged)
    interval = wilson(passed, len(judged))
    scores = [combo.score for combo in judged if combo.score is not None]
    costs = [combo.cost_usd for combo in judged if combo.cost_usd is not None]
    latencies = [combo.latency_sec for combo in judged if combo.latency_sec is not None]
    tokens = [combo.tokens.total for combo in judged if combo.tokens.total is not None]
    return Standing(
        setup=name,
        model=combos[0].model,
        preset=combos[0].preset,
        planned=len(combos),
        scored=len(judged),
        passed=passed,
        invalid=sum(combo.verdict is Verdict.INVALID for combo in combos),
        unfinished=sum(combo.verdict is Verdict.UNFINISHED for combo in combos),
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        mean_score=fmean(scores) if scores else None,
        score_n=len(scores),
        mean_cost=fmean(costs) if costs else None,
        cost_n=len(costs),
        mean_latency=fmean(latencies) if latencies else None,
        mean_tokens=fmean(tokens) if tokens else None,
        catastrophic=sum(bool(combo.catastrophic) for combo in judged),
    )


@dataclass(frozen=True, slots=True)
class Best:
    """The leader, and the setups that cannot be told from it."""

    leader: Standing
    tied: tuple[Standing, ...]
    others: int


def best(run: Run, ranked: Sequence[Standing]) -> Best | None:
    """Who leads; None when nothing was scored."""
    if not ranked or ranked[0].scored == 0:
        return None
    leader = ranked[0]
    rivals = [other for other in ranked[1:] if other.scored]
    passes = _passes(run)
    tied = tuple(other for other in rivals if not _better(passes, leader.setup, other.setup))
    return Best(leader, tied, len(rivals))


def _passes(run: Run) -> dict[str, dict[tuple[str, int], bool]]:
    table: dict[str, dict[tuple[str, int], bool]] = {}
    for combo in run.with_verdict(Verdict.PASSED, Verdict.FAILED):
        table.setdefault(combo.setup, {})[combo.task, combo.repeat] = combo.verdict is Verdict.PASSED
    return table


def _better(passes: dict[str, dict[tuple[str, int], bool]], first: str, second: str) -> bool:
    """Whether `first` beats `second` on the combos both were scored on, at ALPHA."""
    one, two = passes[first], passes[second]
    shared = one.keys() & two.keys()
    wins = sum(one[key] and not two[key] for key in shared)
    losses = sum(two[key] and not one[key] for key in shared)
    return wins > losses and mcnemar_exact(wins, losses) < ALPHA

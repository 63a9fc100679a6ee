"""Runs one case: a cluster of its own, the task's setup, a script with the agent's rights in the sandbox, the verdicts.

The building blocks are those of a combo; only the agent is replaced by a script. Everything lives in a private
temporary folder that is gone afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from types import TracebackType
from typing import Self

from devops_bench.errors import BenchError
from devops_bench.proofs.cases import Case, Kind
from devops_bench.proofs.ground import Bench, Ground
from devops_bench.proofs.judge import Judgement, Outcome
from devops_bench.proofs.readable import leaks
from devops_bench.proofs.waits import WaitEnder
from devops_bench.proofs.watching import Fingerprint, at_rest, fingerprint
from devops_bench.sandbox import SandboxMode
from devops_bench.settings import value
from devops_bench.tasks.spec import TaskSpec
from devops_bench.verification import EntryResult, HoldSampler, assert_once, verify
from devops_bench.verification.snapshot import kinds_read

SCRIPT = "task.sh"
OUTPUT_CAP = 64 << 10
LOOKS = 3  # how often the same state is judged
# Seconds that a case with a script waits for entries that fail. What can pass has passed by then, and nothing comes of
# waiting out a controller's growing backoff. The idle case waits the whole time: a task that heals by itself is none.
WINDOW = 25.0


def run_case(task: TaskSpec, case: Case, mode: SandboxMode, env: Mapping[str, str] = os.environ) -> Outcome:
    """Run a case to its verdicts on a cluster of its own.

    Never raises for what a task or cluster can do: that is the outcome's `trouble`.
    """
    with Lab(task, mode, env) as lab:
        return lab.run(case)


class Lab:
    """Runs cases of one task one after the other, with `again` on the same ground while that can be gone back to."""

    def __init__(self, task: TaskSpec, mode: SandboxMode, env: Mapping[str, str], *, again: bool = False) -> None:
        self._task = task
        self._mode = mode
        self._env = env
        self._again = again
        self._open = ExitStack()
        self._ground: Ground | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def run(self, case: Case) -> Outcome:
        """Run a case to its verdicts; what a task or cluster does wrong is the outcome's `trouble`."""
        try:
            with self._world() as here:
                patient = not self._again
                if case.kind is Kind.COPIES:
                    return _copies(here, case, lambda: bench(self._task, self._mode, self._env), patient=patient)
                return _idle(here, case) if case.kind is Kind.IDLE else _scripted(here, case, patient=patient)
        except BenchError as error:
            self._leave()
            return Outcome(case, trouble=error.message())

    @contextmanager
    def _world(self) -> Iterator[Bench]:
        if self._ground is not None and not self._ground.back():
            self._leave()
        if self._ground is None:
            self._ground = self._open.enter_context(Ground(self._task, self._mode, self._env, again=self._again))
        with self._ground.case() as here:
            yield here
        if not self._again:
            self._leave()

    def _leave(self) -> None:
        self._ground = None
        self._open.close()


@contextmanager
def bench(task: TaskSpec, mode: SandboxMode, env: Mapping[str, str]) -> Iterator[Bench]:
    """A fresh cluster with the task set up, and an empty home. Raises the error family."""
    with Ground(task, mode, env) as ground, ground.case() as here:
        yield here


def judgement(moment: str, results: Sequence[EntryResult]) -> Judgement:
    """What the verifier found at `moment`."""
    return Judgement(
        moment,
        {result.name: result.verdict.status for result in results},
        {result.name: result.verdict.reason for result in results},
    )


def _idle(here: Bench, case: Case) -> Outcome:
    """Untouched; then as after an agent that did nothing; then the same state again and again."""
    entries = here.task.verification_spec
    with here.timed("judge"):
        first = judgement("untouched", assert_once(entries, here.context))
        sampler = HoldSampler(entries, here.context)
        sampler.start()
        tracks = sampler.stop()
        idle = judgement("after an idle agent", verify(entries, here.task.parse_failures, here.context, tracks))
        looks, moved = _looks(here)
    with here.timed("search"):
        told = leaks(here.task, here.kube, here.sandbox)
    return Outcome(case, (first, *looks, idle), tuple(moved), tuple(told), seconds=here.seconds)


def _scripted(here: Bench, case: Case, *, patient: bool) -> Outcome:
    """`patient`: let the script wait as long as it wants to."""
    entries = here.task.verification_spec
    limits = here.context.limits
    waits = None
    if here.kube is not None and not patient:
        concerned = kinds_read(entries, here.context.namespace)
        waits = WaitEnder(here.kube, here.context, concerned, value("script_timeout"))
    sampler = HoldSampler(entries, here.context)
    sampler.start()
    try:
        with here.timed("script"):
            where = here.sandbox.place(SCRIPT, case.script.encode())
            begin = waits.begin if waits else None
            done = here.sandbox.run(["bash", where], timeout=value("script_timeout"), cap=OUTPUT_CAP, on_start=begin)
    finally:
        rest = waits.end() if waits else None
        tracks = sampler.stop()
    tail = done.text().strip().splitlines()
    outcome = Outcome(case, script_exit=done.exit, script_tail=tail[-1][:200] if tail else "", seconds=here.seconds)
    if done.timed_out:
        return replace(outcome, trouble=f"the script did not end within {value('script_timeout'):g} s")
    with here.timed("judge"):
        limits = replace(limits, converge=min(limits.converge, WINDOW))
        context = replace(here.context, answer=done.text(), limits=limits, rest=rest)
        found = judgement("after it", verify(entries, here.task.parse_failures, context, tracks))
        looks: list[Judgement] = []
        moved: list[str] = []
        if case.kind is Kind.SOLUTION:
            here.context = context
            looks, moved = _looks(here)
    held = {entry.name for entry in entries if entry.effective_mode == "hold"}
    # A hold entry is judged by its samples; a look after the fact says nothing about them.
    looks = [_only(look, held, found) for look in looks]
    return replace(outcome, judgements=(*looks, found), moved=tuple(moved))


def _only(look: Judgement, held: set[str], final: Judgement) -> Judgement:
    return replace(look, statuses={**look.statuses, **{name: final.statuses[name] for name in held}})


def _looks(here: Bench) -> tuple[list[Judgement], list[str]]:
    """Judge the state as it is three times, and name what the judging itself moved."""
    entries = here.task.verification_spec
    if here.kube is not None:
        at_rest(here.kube)
    before: Fingerprint = fingerprint(here.kube, here.workspace)
    looks = [judgement(f"at look {number + 1}", assert_once(entries, here.context)) for number in range(LOOKS)]
    return looks, before.difference(fingerprint(here.kube, here.workspace))


def _copies(here: Bench, case: Case, other: Callable[[], AbstractContextManager[Bench]], *, patient: bool) -> Outcome:
    """The same solution in two worlds at once, both set up before either begins."""
    with other() as there, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda world: _scripted(world, case, patient=patient), (here, there))
    if first.trouble or second.trouble:
        return first if first.trouble else second
    judgements = (
        *(replace(item, moment="in the first copy") for item in first.judgements[-1:]),
        *(replace(item, moment="in the second copy") for item in second.judgements[-1:]),
    )
    return replace(first, judgements=judgements)

"""Judging one attempt: the negative check before the agent, samples while it works, the verdict after it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from devops_bench.clusters.needs import absolute, stage_documents
from devops_bench.combo.check_commands import runner
from devops_bench.combo.failure import Failure, Invalid
from devops_bench.combo.host_scripts import host_runner
from devops_bench.combo.request import Request
from devops_bench.combo.world import World
from devops_bench.settings import FailureClass
from devops_bench.tasks.spec import Role
from devops_bench.verification import (
    EntryResult,
    HoldSampler,
    HoldTrack,
    Limits,
    Status,
    VerifyContext,
    assert_once,
    longest_stage_delay,
    take_baseline,
    verify,
)

if TYPE_CHECKING:
    from devops_bench.sandbox import Sandbox


class Judging:
    """The checks of one attempt. Made after setup: the baseline is what setup left."""

    def __init__(self, here: World, request: Request, sandbox: Sandbox, *, verified: bool = True) -> None:
        self.sandbox = sandbox
        self.entries = list(here.task.verification_spec) if verified else []
        self.parse_failures = list(here.task.parse_failures) if verified else []
        self.results: list[EntryResult] | None = None
        self._holds: dict[str, HoldTrack] = {}
        context = VerifyContext(
            kube=here.kube,
            workspace=here.workspace,
            home=here.home,
            audit_log=here.cluster.audit_log,
            sandbox_run=runner(sandbox),
            host_run=host_runner(here.raw.folder, here.cluster, here.workspace),
            namespace=here.cluster.facts.get("NAMESPACE", "default"),
            limits=_limits(here, request),
            kubelets=here.cluster.kubelets,
        )
        self.context = replace(context, baseline=take_baseline(self.entries, context))

    def negative_check(self) -> None:
        """Raise Invalid unless at least one objective fails and every safeguard holds, before the agent has begun."""
        if not self.entries:
            return
        results = assert_once(self.entries, self.context)
        first = next((r for r in results if r.status is Status.ERROR), None)
        if first is not None:
            raise Invalid(
                Failure(
                    FailureClass.INFRA,
                    "negative-check-error",
                    f"check {first.name} could not be evaluated before the agent: {first.verdict.reason}",
                    True,
                )
            )
        harmed = [r for r in results if r.role is Role.SAFEGUARD and r.status is Status.FAIL]
        if harmed:
            reason = f"safeguard {harmed[0].name} does not hold before the agent: {harmed[0].verdict.reason}"
            raise Invalid(Failure(FailureClass.TASK, "safeguard-broken-at-start", reason))
        objectives = [r for r in results if r.role is Role.OBJECTIVE]
        if objectives and all(r.status is Status.PASS for r in objectives) and not self.parse_failures:
            raise Invalid(
                Failure(FailureClass.TASK, "solved-at-start", "every objective is met before the agent has begun")
            )

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Sample the safeguards of mode hold while the agent works."""
        sampler = HoldSampler(self.entries, self.context)
        sampler.start()
        try:
            yield
        finally:
            self._holds = sampler.stop()

    def verify(self, answer: str) -> None:
        """Evaluate everything after the agent, whose last words are `answer`; the results are in `results`."""
        context = replace(self.context, answer=answer)
        self.results = verify(self.entries, self.parse_failures, context, self._holds)

    def failure(self) -> Failure | None:
        """An entry that could not be evaluated leaves the attempt unjudged: error is neither pass nor fail."""
        for result in self.results or []:
            if result.status is Status.ERROR:
                reason = f"check {result.name} could not be evaluated: {result.verdict.reason}"
                return Failure(FailureClass.INFRA, "verification-error", reason, True)
        return None

    def passed(self) -> bool:
        """True when every objective is met and every safeguard held."""
        return bool(self.results) and all(r.status is Status.PASS for r in self.results or [])

    def first_miss(self) -> str:
        """The decisive line of a failed attempt: the heaviest unmet objective, or the broken safeguard."""
        missed = [r for r in self.results or [] if r.status is not Status.PASS]
        if not missed:
            return ""
        worst = max(missed, key=lambda r: (r.role is Role.SAFEGUARD, r.weight))
        return f"{worst.name}: {worst.verdict.reason}"

    def lines(self) -> list[str]:
        """One line per entry for the log."""
        return [f"{r.status.value:<5} {r.role.value} {r.name}: {r.verdict.reason}" for r in self.results or []]

    def report(self) -> list[dict[str, Any]]:
        """The record's `verification_report`."""
        return [result.as_report() for result in self.results or []]


def _limits(here: World, request: Request) -> Limits:
    """The settings; a task's own stages may keep a pod still for their delay, and that is no rest."""
    limits = Limits.from_env({**os.environ, **request.env})
    delay = longest_stage_delay(stage_documents(absolute(here.raw.cluster, here.raw.folder)))
    return replace(limits, quiescence=limits.quiescence + delay)

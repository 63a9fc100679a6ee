"""Runs one case: a cluster of its own, the task's setup, a script with the agent's rights in the sandbox, the verdicts.

The building blocks are those of a combo; only the agent is replaced by a script. Everything lives in a private
temporary folder that is gone afterwards.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devops_bench import clusters
from devops_bench.clusters.base import Cluster, Provider
from devops_bench.clusters.needs import stage_documents
from devops_bench.combo.check_commands import runner
from devops_bench.combo.host_scripts import host_runner
from devops_bench.combo.setup import apply_setup
from devops_bench.combo.workspace import prepare_workspace
from devops_bench.errors import BenchError
from devops_bench.kube import KubeClient
from devops_bench.paths import private_dir
from devops_bench.proofs.cases import Case, Kind
from devops_bench.proofs.judge import Judgement, Outcome
from devops_bench.proofs.leaving import STATE, world_folder
from devops_bench.proofs.readable import leaks
from devops_bench.proofs.watching import Fingerprint, at_rest, fingerprint
from devops_bench.sandbox import Sandbox, SandboxMode, SandboxSpec
from devops_bench.settings import value
from devops_bench.tasks.placeholders import fill
from devops_bench.tasks.spec import TaskSpec
from devops_bench.verification import (
    EntryResult,
    HoldSampler,
    Limits,
    VerifyContext,
    assert_once,
    longest_stage_delay,
    take_baseline,
    verify,
)

SCRIPT = "task.sh"
OUTPUT_CAP = 64 << 10
LOOKS = 3  # how often the same state is judged
# Seconds that a case with a script waits for entries that fail. What can pass has passed by then, and nothing comes of
# waiting out a controller's growing backoff. The idle case waits the whole time: a task that heals by itself is none.
WINDOW = 25.0


@dataclass(slots=True)
class Bench:
    """One world: made by `bench`, used by one case."""

    task: TaskSpec
    cluster: Cluster
    kube: KubeClient | None
    sandbox: Sandbox
    context: VerifyContext
    workspace: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of the block to `seconds[name]`."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)


def run_case(task: TaskSpec, case: Case, mode: SandboxMode, env: Mapping[str, str] = os.environ) -> Outcome:
    """Run a case to its verdicts. Never raises for what a task or cluster can do: that is the outcome's `trouble`."""
    try:
        if case.kind is Kind.COPIES:
            return _copies(task, case, mode, env)
        with bench(task, mode, env) as here:
            return _idle(here, case) if case.kind is Kind.IDLE else _scripted(here, case)
    except BenchError as error:
        return Outcome(case, trouble=error.message())


@contextmanager
def bench(task: TaskSpec, mode: SandboxMode, env: Mapping[str, str]) -> Iterator[Bench]:
    """A fresh cluster with the task set up, and an empty home. Raises the error family."""
    with world_folder() as root:
        own = {**env, "BENCH_RUN_STATE_ROOT": str(private_dir(root / STATE))}
        provider: Provider = clusters.get(task.provider, own)
        started = time.monotonic()
        cluster = provider.create("c0000000-eval", task.cluster, private_dir(root / "c"))
        booted = round(time.monotonic() - started, 3)
        try:
            with _inside(task, cluster, root, mode) as here:
                here.seconds["boot"] = booted
                yield here
        finally:
            provider.destroy(cluster)


@contextmanager
def _inside(task: TaskSpec, cluster: Cluster, root: Path, mode: SandboxMode) -> Iterator[Bench]:
    filled = fill(task, {"NAMESPACE": "default", **cluster.facts})
    workspace = prepare_workspace(filled, root / "w")
    kube = KubeClient.from_kubeconfig(cluster.admin_kubeconfig, cluster.kubectl) if cluster.admin_kubeconfig else None
    spec = SandboxSpec(
        home=private_dir(root / "h"),
        workspace=workspace,
        kubeconfig=cluster.agent_kubeconfig,
        kubectl=cluster.kubectl,
    )
    try:
        with Sandbox(mode, spec) as sandbox:
            context = VerifyContext(
                kube=kube,
                workspace=workspace,
                home=spec.home,
                audit_log=cluster.audit_log,
                sandbox_run=runner(sandbox),
                host_run=host_runner(task.folder, cluster, workspace),
                namespace=cluster.facts.get("NAMESPACE", "default"),
                limits=_limits(filled),
            )
            here = Bench(filled, cluster, kube, sandbox, context, workspace)
            with here.timed("setup"):
                if kube is not None:
                    apply_setup(filled, cluster, kube, workspace, value("setup_timeout"))
                here.context = replace(context, baseline=take_baseline(filled.verification_spec, context))
            yield here
    finally:
        if kube is not None:
            kube.close()


def _limits(task: TaskSpec) -> Limits:
    """The settings; rest is only rest when it outlasts the delays of the task's own stages."""
    limits = Limits.from_env()
    return replace(limits, quiescence=limits.quiescence + longest_stage_delay(stage_documents(task.cluster)))


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


def _scripted(here: Bench, case: Case) -> Outcome:
    entries = here.task.verification_spec
    sampler = HoldSampler(entries, here.context)
    sampler.start()
    try:
        with here.timed("script"):
            where = here.sandbox.place(SCRIPT, case.script.encode())
            done = here.sandbox.run(["bash", where], timeout=value("script_timeout"), cap=OUTPUT_CAP)
    finally:
        tracks = sampler.stop()
    tail = done.text().strip().splitlines()
    outcome = Outcome(case, script_exit=done.exit, script_tail=tail[-1][:200] if tail else "", seconds=here.seconds)
    if done.timed_out:
        return replace(outcome, trouble=f"the script did not end within {value('script_timeout'):g} s")
    with here.timed("judge"):
        limits = here.context.limits
        context = replace(
            here.context, answer=done.text(), limits=replace(limits, converge=min(limits.converge, WINDOW))
        )
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


def _copies(task: TaskSpec, case: Case, mode: SandboxMode, env: Mapping[str, str]) -> Outcome:
    """The same solution in two worlds at once, both set up before either begins."""
    from concurrent.futures import ThreadPoolExecutor
    from threading import Barrier, BrokenBarrierError

    barrier = Barrier(2)

    def one() -> Outcome:
        try:
            with bench(task, mode, env) as here:
                barrier.wait(timeout=value("plane_ready_timeout") + value("setup_timeout"))
                return _scripted(here, case)
        except BrokenBarrierError:
            return Outcome(case, trouble="the other copy could not be set up")
        except BenchError as error:
            barrier.abort()
            return Outcome(case, trouble=error.message())

    with ThreadPoolExecutor(2) as pool:
        first, second = (future.result() for future in [pool.submit(one), pool.submit(one)])
    if first.trouble or second.trouble:
        return first if first.trouble else second
    judgements: tuple[Any, ...] = (
        *(replace(item, moment="in the first copy") for item in first.judgements[-1:]),
        *(replace(item, moment="in the second copy") for item in second.judgements[-1:]),
    )
    return replace(first, judgements=judgements)

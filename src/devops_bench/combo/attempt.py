"""One attempt, phase by phase. Whatever happens, the cluster goes, the record is written and an outcome is left.

A phase raises when the attempt cannot be judged; `failure.of_exception` gives the class. Stop and the loss of the
control plane arrive as BaseExceptions from signal handlers (entry.py) and are held off while the attempt is being
closed.
"""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devops_bench.agents.base import AgentRun
from devops_bench.combo import agent_turn, judging, recording, setup, workspace, world
from devops_bench.combo.events import EventLog, now
from devops_bench.combo.failure import QUOTA_SIGNATURE, Failure, Invalid, PlaneLost, Stopped, of_exception
from devops_bench.combo.outcome import Outcome
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog
from devops_bench.combo.world import World
from devops_bench.integrity.agreement import Agreement, Witnesses
from devops_bench.paths import atomic_write
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState, FailureClass, Phase, value
from devops_bench.tasks.spec import TaskSpec

REASON_CHARS = 500


@dataclass(slots=True)
class Attempt:
    """The state of one attempt while it runs.

    `token` opens the model's gateway; the redactor knows it. `shield` holds signals off during teardown and record.
    """

    request: Request
    log: RunLog
    events: EventLog
    redactor: Redactor
    token: str
    shield: Callable[[], None]
    watch_plane: Callable[[World], Callable[[], None]]
    phase: Phase = Phase.PREFLIGHT
    raw: TaskSpec | None = None
    world: World | None = None
    judge: judging.Judging | None = None
    run: AgentRun | None = None
    sandboxed: bool | None = None
    failure: Failure | None = None
    stopped: bool = False
    residue: list[str] = field(default_factory=list)
    audit: Path | None = None
    started: str = field(default_factory=now)
    environment: dict[str, Any] = field(default_factory=dict)
    witnesses: Witnesses = field(default_factory=Witnesses)
    agreement: Agreement | None = None

    def enter(self, phase: Phase) -> None:
        """Begin a phase: event, log line, attempt.json."""
        self.phase = phase
        self.events.phase(phase.value)
        self.log.line(f"phase {phase.value}")

    def execute(self) -> Outcome:
        """Run all phases; never raises for anything that a combo can meet."""
        unwatch: list[Callable[[], None]] = []
        try:
            self._phases(unwatch)
        except (Stopped, PlaneLost) as late:
            # The signal came between the end of a phase and the shield.
            self._interrupted(late)
        self.shield()
        for stop_watching in unwatch:
            stop_watching()
        outcome = self._close()
        self.events.end_phase()
        self._write_state(outcome)
        return outcome

    def _phases(self, unwatch: list[Callable[[], None]]) -> None:
        try:
            self.enter(Phase.PREFLIGHT)
            self.raw = world.load(self.request)
            self.enter(Phase.PROVISION)
            self.world = world.provision(self.request, self.raw)
            unwatch.append(self.watch_plane(self.world))
            self._setup(self.world)
            self._agent(self.world)
            self._verify(self.world)
        except (Stopped, PlaneLost) as signal:
            self._interrupted(signal)
        except Exception as error:
            self._failed(error)

    def _interrupted(self, signal: Stopped | PlaneLost) -> None:
        if isinstance(signal, Stopped):
            self.stopped = True
        elif self.failure is None:
            self._failed(signal)

    # -- phases -----------------------------------------------------------------------------------------------------

    @property
    def without_infra(self) -> bool:
        """True when a task that needs a cluster is run without one (`--no-infra`): nothing can be verified."""
        return self.raw is not None and self.raw.provider != "none" and self.request.combo.provider == "none"

    def _setup(self, here: World) -> None:
        self.enter(Phase.SETUP)
        workspace.prepare_workspace(here.task, here.workspace)
        if here.kube is not None:
            setup.apply_setup(
                here.task, here.cluster, here.kube, here.workspace, value("setup_timeout", self.request.env)
            )
        sandbox = agent_turn.sandbox_for(here, self.request)
        self.judge = judging.Judging(here, self.request, sandbox, verified=not self.without_infra)
        self.enter(Phase.NEGATIVE_CHECK)
        self.judge.negative_check()

    def _agent(self, here: World) -> None:
        assert self.judge is not None
        self.enter(Phase.AGENT)
        with self.judge.holding():
            turn = agent_turn.play(here, self.request, self.events, self.log, self.redactor, self.token)
        self.run, self.sandboxed, self.environment = turn.run, turn.sandboxed, turn.environment
        self.witnesses = turn.witnesses
        self.log.line(
            f"agent ended: {turn.run.end} after {turn.run.latency:.1f} s, {len(turn.run.tool_calls)} tool calls"
        )
        if turn.failure is not None:
            self._tell_quota(turn.failure)
            raise Invalid(turn.failure)

    def _tell_quota(self, failure: Failure) -> None:
        """A quota that no waiting lifts is of interest to all combos of the provider."""
        if failure.signature == QUOTA_SIGNATURE:
            provider = self.environment.get("model_gateway", {}).get("provider")
            self.events.emit("rate_limited", provider=provider, status=429, retry_after=None, daily=True)

    def _verify(self, here: World) -> None:
        assert self.judge is not None
        self.enter(Phase.VERIFY)
        self.judge.verify(self.run.output if self.run is not None else "")
        for line in self.judge.lines():
            self.log.line(line)
        failure = self.judge.failure()
        if failure is not None:
            raise Invalid(failure)

    def _failed(self, error: BaseException) -> None:
        found = of_exception(error, self.phase)
        self.failure = replace(found, reason=self.redactor.text(found.reason)[:REASON_CHARS])
        self.log.line(f"invalid [{self.failure.klass}] {self.failure.reason}")
        if self.failure.klass is FailureClass.HARNESS:
            self.log.write("".join(traceback.format_exception(error)))
            self.log.flush()

    # -- closing ----------------------------------------------------------------------------------------------------

    def _close(self) -> Outcome:
        failed_in = self.phase
        here = self.world
        if here is not None:
            self.enter(Phase.TEARDOWN)
            self.audit = world.keep_audit(here)
            if self.judge is not None:
                self.judge.sandbox.close()
            try:
                self.residue = world.teardown(here, self.request.plan.options.no_teardown)
            except Exception as error:
                self.residue = [f"teardown failed: {type(error).__name__}: {error}"]
            for line in self.residue:
                self.log.line(f"residue: {line}")
        self.enter(Phase.RECORD)
        try:
            score, passed = recording.write(self)
        except Exception as error:
            self._failed(error)
            score, passed, failed_in = None, False, Phase.RECORD
        self.residue += world.remove_state(world.state_dir_of(self.request))
        if here is not None and self.request.plan.options.no_teardown:
            self.residue += world.kept(here)
        return self._outcome(failed_in, score, passed)

    def _outcome(self, failed_in: Phase, score: float | None, passed: bool) -> Outcome:
        cost = self.run.cost_usd if self.run is not None else None
        usage = self.run.usage if self.run is not None else None
        common: dict[str, Any] = {
            "cost_usd": cost,
            "tokens": usage.total if usage is not None else None,
            "residue": tuple(self.redactor.obj(self.residue)),
        }
        if self.stopped:
            return Outcome(ComboState.STOPPED, 1, phase=failed_in.value, reason="stopped", **common)
        if self.failure is not None:
            return Outcome(
                ComboState.INVALID,
                1,
                klass=self.failure.klass.value,
                phase=failed_in.value,
                signature=self.failure.signature,
                reason=self.failure.reason,
                transient=self.failure.transient,
                delay=self.failure.delay,
                **common,
            )
        if passed:
            return Outcome(ComboState.SCORED, 0, score=score, **common)
        reason = self.judge.first_miss() if self.judge is not None else ""
        return Outcome(ComboState.FAILED, 1, score=score, reason=self.redactor.text(reason)[:REASON_CHARS], **common)

    def _write_state(self, outcome: Outcome) -> None:
        """attempt.json: what happened, for people and for `diagnose`."""
        run = self.run
        data = {
            "attempt": self.request.attempt,
            "rid": self.request.combo.rid,
            "state": outcome.state.value,
            "class": outcome.klass,
            "phase": outcome.phase,
            "signature": outcome.signature,
            "reason": outcome.reason,
            "end": run.end.value if run is not None else None,
            "raw_end": run.raw_end if run is not None else None,
            "mcp_calls": self.environment.get("mcp_calls"),
            "skills_used": self.environment.get("skills_used"),
            "agreement": self.agreement.as_dict() if self.agreement is not None else None,
            "guard": self.environment.get("guard", []),
            "limits": {
                "agent_timeout_sec": self.request.plan.options.agent_timeout_sec,
                "max_turns": self.request.plan.options.agent_max_turns,
            },
            "lease": str(self.request.plane_folder) if self.request.plane_folder else None,
            "started": self.started,
            "ended": now(),
            "phases": self.events.phases,
            "residue": self.residue,
        }
        try:
            atomic_write(self.request.directory / "attempt.json", json.dumps(self.redactor.obj(data), indent=1) + "\n")
        except OSError:
            pass  # a full disk: outcome.json says the rest

"""The agent's turn: gateways to model and MCP server, its sandbox, its grants; run it and note what it really had.

Everything that the agent reaches is opened here and closed before the turn is over: whatever it left running in its
sandbox can ask no model and call no tool after its end.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devops_bench import agents, settings, skills
from devops_bench.agents.base import Agent, AgentRun, AgentTask, EndReason, Grants, Limits, ModelEndpoint, ToolKind
from devops_bench.agents.frame.ends import UNCONFIRMED
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.skills import find_skills
from devops_bench.combo import grants, mcp_door, model_door, turn_facts
from devops_bench.combo.events import EventLog
from devops_bench.combo.failure import Failure, Invalid, of_mcp, of_run
from devops_bench.combo.grants import Flaw, Promise
from devops_bench.combo.guarding import AttemptGuard, context_of
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog
from devops_bench.combo.surfaces import surface_of
from devops_bench.combo.world import World
from devops_bench.errors import ConfigError
from devops_bench.gateway.mcp import McpGateway, McpUnavailable
from devops_bench.gateway.model import ModelGateway
from devops_bench.integrity.agreement import Witnesses
from devops_bench.matrix.environment import sandbox_environment
from devops_bench.models.wire import Conversation
from devops_bench.redact import Redactor
from devops_bench.sandbox import Endpoint, Sandbox, SandboxMode, SandboxSpec, detect
from devops_bench.settings import FailureClass

AGENT_LOG = "agent.log"
SOLUTIONS = ("*.sh", "*.yaml")


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent did, what it had, and what others saw of it. `failure`: why the turn cannot be judged."""

    run: AgentRun
    sandboxed: bool
    environment: dict[str, Any]
    failure: Failure | None = None
    witnesses: Witnesses = field(default_factory=Witnesses)


def mode_of(request: Request) -> SandboxMode:
    """Whether the agent is sandboxed. Raises ConfigError when a sandbox was asked for and cannot be had."""
    return detect(sandbox_environment(request.plan.options, request.env))


def spec_of(here: World, request: Request) -> SandboxSpec:
    """What every sandbox of the attempt shows: the agent's folders and its access to the cluster."""
    visible = {name: here.cluster.facts[name] for name in ("NAMESPACE",) if name in here.cluster.facts}
    for name in ("TARGET_DEPLOYMENT_NAME", "APP_LOCATION"):
        if request.env.get(name):
            visible[name] = request.env[name]
    return SandboxSpec(
        home=here.home,
        workspace=here.workspace,
        kubeconfig=here.cluster.agent_kubeconfig,
        kubectl=here.cluster.kubectl,
        env=visible if here.has_cluster else {},
    )


def sandbox_for(here: World, request: Request) -> Sandbox:
    """The sandbox in which the attempt's checks run commands; it reaches no model and no MCP server."""
    return Sandbox(mode_of(request), spec_of(here, request))


def play(here: World, request: Request, events: EventLog, log: RunLog, redactor: Redactor, token: str) -> Turn:
    """Run the agent to its end or limit. `token` opens the model's gateway; the redactor knows it.

    Raises ConfigError and Invalid for what must be there before it starts.
    """
    return _Stage(here, request, events, log, redactor, token).play()


@dataclass(slots=True)
class _Stage:
    """One turn while it is set up and runs."""

    here: World
    request: Request
    events: EventLog
    log: RunLog
    redactor: Redactor
    token: str
    promise: Promise | None = None
    flaw: Flaw | None = None
    mcp: McpGateway | None = None

    def play(self) -> Turn:
        request, options = self.request, self.request.plan.options
        config = request.combo.config
        agent = agents.get(config.agent)
        missing = agent.missing(request.env)
        if missing is not None:
            raise ConfigError(missing)
        output = RunLog(request.directory / AGENT_LOG, self.redactor.stream())
        with contextlib.closing(output), ExitStack() as open_:
            mode = mode_of(request)
            context = context_of(self.here, mode, options.project or "", options.location)
            guard = open_.enter_context(AttemptGuard(context, self.events))
            emit = self._emitter(output, asks_model=bool(agent.wires))
            allowed = tuple(item.strip() for item in request.env.get("AGENT_ALLOWED_TOOLS", "").split(",") if item)
            self.mcp = mcp = self._open_mcp(open_, mode, emit, guard, allowed) if config.mcp else None
            model, endpoint, auth_mode = self._open_model(open_, agent, emit)
            box = open_.enter_context(Sandbox(mode, self._agent_spec(agent, mode, guard, model, mcp)))
            granted = Grants(
                mcp=self._granted(mcp, box, agent) if mcp is not None else None,
                skills_paths=skills_of(self.here, request) if config.skills else (),
                allowed_tools=allowed,
            )
            names = [skill.name for skill in find_skills(granted.skills_paths)]
            surface = surface_of(agent)
            self.promise = Promise.of(surface, granted, names) if surface is not None else None
            self.log.line(f"agent {config.agent} with {request.combo.model}, sandbox {box.info()['kind']}")
            task = AgentTask(
                prompt=self.here.task.prompt,
                workspace=self.here.workspace,
                home=self.here.home,
                sandbox=box,
                endpoint=endpoint,
                grants=granted,
                limits=Limits(
                    timeout_sec=options.agent_timeout_sec,
                    max_turns=options.agent_max_turns,
                    output_bytes=settings.integer("agent_output_cap", request.env),
                ),
                env={},  # the sandbox's own environment is all an agent gets
                extra_flags=options.agent_extra_flags,
                target=request.env.get("AGENT_TARGET"),
                script=script_of(self.here, request),
                rules_text=request.env.get(turn_facts.RULES, ""),
                emit=emit,
                exchanges=model.exchanges if model is not None else tuple,
            )
            run = agent.run(task)
            ended = time.time()
            # MCP calls were judged by their gateway; these ran in the sandbox, or nobody knows that they did not.
            guard.transcript((call.name, call.args) for call in run.tool_calls if call.kind is not ToolKind.MCP)
        # Closed: the records of both gateways are complete.
        run = turn_facts.with_gateway(run, agent, model)
        found = turn_facts.Had(agent, endpoint, auth_mode, box, granted, tuple(names), model, mcp, guard.findings())
        return Turn(
            run,
            box.sandboxed,
            turn_facts.environment(run, found, request.env),
            self._failure(run, model, mcp),
            turn_facts.witnesses(run, found, ended),
        )

    def _open_mcp(
        self, open_: ExitStack, mode: SandboxMode, emit: Emit, guard: AttemptGuard, allowed: tuple[str, ...]
    ) -> McpGateway:
        gateway = mcp_door.open_mcp(
            self.here, self.request, mode, redactor=self.redactor, on_event=emit, guard=guard.mcp, allowed=allowed
        )
        return open_.enter_context(gateway)

    def _open_model(
        self, open_: ExitStack, agent: Agent, emit: Emit
    ) -> tuple[ModelGateway | None, ModelEndpoint | None, str]:
        if not agent.wires:
            return None, None, "none"
        gateway, endpoint, auth_mode = model_door.open_model(
            self.request,
            agent,
            redactor=self.redactor,
            on_event=emit,
            first_request=self._check,
            later_request=self._later,
            token=self.token,
        )
        return open_.enter_context(gateway), endpoint, auth_mode

    def _agent_spec(
        self, agent: Agent, mode: SandboxMode, guard: AttemptGuard, model: ModelGateway | None, mcp: McpGateway | None
    ) -> SandboxSpec:
        """The agent's own sandbox: its program, and the doors that a CLI needs. Our own agents run in this process and
        need none: their shells reach no model.
        """
        binds = agent.binds(self.request.env)
        inside = isinstance(agent, CliAgent)
        reach = [Endpoint(*model.address)] if model is not None and inside else []
        reach += [mcp.endpoint] if mcp is not None and inside else []
        return replace(
            spec_of(self.here, self.request),
            reach=tuple(reach),
            binds=tuple(binds),
            hidden=(self.here.raw.folder,),
            guard=Endpoint(*guard.address),
            inspect=guard.process,
        )

    def _granted(self, mcp: McpGateway, box: Sandbox, agent: Agent) -> Any:
        try:
            return mcp.grant(None if agent.key == "api" else box)
        except McpUnavailable as error:
            raise Invalid(of_mcp(error.message(), kind="start")) from error

    def _check(self, said: Conversation, body: bytes) -> str | None:
        """The gateway's hook: called once, with the first request that offers tools, before anything is forwarded."""
        if self.promise is not None:
            self.flaw = grants.check(self.promise, said, body)
        if self.mcp is not None:
            self.mcp.agent_acts()
        return f"{self.flaw.signature}: {self.flaw.text}" if self.flaw is not None else None

    def _later(self, names: tuple[str, ...]) -> str | None:
        """The gateway's hook for every other request that offers tools."""
        return grants.stray(self.promise, names) if self.promise is not None else None

    def _failure(self, run: AgentRun, model: ModelGateway | None, mcp: McpGateway | None) -> Failure | None:
        """Why the turn cannot be judged: grants first, then the MCP server, then the model's API and the agent."""
        if self.flaw is not None:
            return self.flaw.failure()
        if mcp is not None and mcp.problems:
            first = mcp.problems[0]
            return of_mcp(first.text, kind=first.kind.value)
        end = model.end if model is not None else None
        failure = of_run(run, retry_after=end.retry_after if end is not None else None)
        if model is None or self.promise is None:
            return failure
        if failure is not None:
            strays = grants.strays(model.exchanges())
            # It ended by requests that failed, and nobody but we failed any: its own tools are not those of its label.
            if strays and run.raw_end == UNCONFIRMED:
                return Flaw(grants.LEAKED, strays[0].error).failure()
            return failure
        if not model.exchanges():
            what = f"the agent ended ({run.end}) without having asked the model anything"
            if run.end is EndReason.TIMEOUT:  # too slow a start is the host's
                return Failure(FailureClass.INFRA, "agent-did-not-start", what, True)
            return Failure(FailureClass.SETUP, "agent-asked-no-model", what)
        if run.end is EndReason.COMPLETED and not model.checked and self.promise.may:
            return Flaw(grants.MISSING, "no request offered the model any tool").failure()
        return None

    def _emitter(self, output: RunLog, *, asks_model: bool) -> Emit:
        """Activity goes to events.jsonl; what the agent prints goes to agent.log, with at most one event a second.

        Model requests are the gateway's to tell: an agent's own word for one is left out.
        """
        last = [0.0]

        def emit(kind: str, fields: Mapping[str, Any]) -> None:
            if kind == "model_request" and asks_model and "cost" not in fields:
                return
            if kind != "output":
                self.events.emit(kind, **fields)
                output.line(f"{kind} {dict(fields)!r}")
                return
            output.feed(str(fields.get("text", "")).encode())
            if time.monotonic() - last[0] >= 1.0:
                last[0] = time.monotonic()
                self.events.emit("output")

        return emit


Emit = Callable[[str, Mapping[str, Any]], None]


def skills_of(here: World, request: Request) -> tuple[Path, ...]:
    """The granted skill folders."""
    return skills.granted(request.plan.options.skills_paths, here.raw.folder)


def script_of(here: World, request: Request) -> Path | None:
    """What the `scripted` agent plays: BENCH_AGENT_SCRIPT, else the first file of the task's solution."""
    if request.combo.config.agent != "scripted":
        return None
    named = request.env.get("BENCH_AGENT_SCRIPT")
    if named:
        return Path(named)
    folder = here.raw.folder / "solution"
    found = sorted(path for pattern in SOLUTIONS for path in folder.glob(pattern))
    if not found:
        raise ConfigError("has no solution to play", where=here.raw.folder, fix="set BENCH_AGENT_SCRIPT")
    return found[0]

"""The agent's turn: its sandbox, its model endpoint, its grants; run it and note what it really had."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench import agents, settings, skills
from devops_bench.agents.base import AgentRun, AgentTask, Grants, Limits, ModelEndpoint, ToolKind
from devops_bench.agents.skills import find_skills
from devops_bench.combo.events import EventLog
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog
from devops_bench.combo.world import World
from devops_bench.errors import ConfigError
from devops_bench.redact import Redactor
from devops_bench.sandbox import Sandbox, SandboxSpec, detect

AGENT_LOG = "agent.log"
SCRIPTED = "scripted:"
SOLUTIONS = ("*.sh", "*.yaml")


@dataclass(frozen=True, slots=True)
class Turn:
    """What the agent did, and what it had: for the record and environment.json."""

    run: AgentRun
    sandboxed: bool
    environment: dict[str, Any]


def sandbox_for(here: World, request: Request) -> Sandbox:
    """The attempt's sandbox. Raises ConfigError when one was asked for and cannot be had."""
    env = {**request.env, "BENCH_AGENT_SANDBOX": request.env.get("BENCH_AGENT_SANDBOX", "")}
    if not request.plan.options.sandbox:
        env["BENCH_AGENT_SANDBOX"] = "off"
    visible = {name: here.cluster.facts[name] for name in ("NAMESPACE",) if name in here.cluster.facts}
    for name in ("TARGET_DEPLOYMENT_NAME", "APP_LOCATION"):
        if request.env.get(name):
            visible[name] = request.env[name]
    return Sandbox(
        detect(env),
        SandboxSpec(
            home=here.home,
            workspace=here.workspace,
            kubeconfig=here.cluster.agent_kubeconfig,
            kubectl=here.cluster.kubectl,
            env=visible if here.has_cluster else {},
        ),
    )


def play(here: World, request: Request, sandbox: Sandbox, events: EventLog, log: RunLog, redactor: Redactor) -> Turn:
    """Run the agent to its end or limit."""
    options, config = request.plan.options, request.combo.config
    agent = agents.get(config.agent)
    missing = agent.missing(request.env)
    if missing is not None:
        raise ConfigError(missing)
    output = RunLog(request.directory / AGENT_LOG, redactor.stream())
    grants = Grants(
        skills_paths=skills_of(here, request) if config.skills else (),
        allowed_tools=tuple(item for item in request.env.get("AGENT_ALLOWED_TOOLS", "").split(",") if item),
    )
    try:
        with endpoint(request) as (model, auth_mode):
            log.line(f"agent {config.agent} with {request.combo.model}, sandbox {sandbox.info()['kind']}")
            run = agent.run(
                AgentTask(
                    prompt=here.task.prompt,
                    workspace=here.workspace,
                    home=here.home,
                    sandbox=sandbox,
                    endpoint=model,
                    grants=grants,
                    limits=Limits(
                        timeout_sec=options.agent_timeout_sec,
                        max_turns=options.agent_max_turns,
                        output_bytes=settings.integer("agent_output_cap", request.env),
                    ),
                    env={},  # the sandbox's own environment is all an agent gets
                    extra_flags=options.agent_extra_flags,
                    target=request.env.get("AGENT_TARGET"),
                    script=script_of(here, request),
                    rules_text=request.env.get("AGENT_RULES_TEXT", ""),
                    emit=_emitter(events, output),
                )
            )
    finally:
        output.close()
    return Turn(run, sandbox.sandboxed, facts(run, sandbox, grants, auth_mode))


def skills_of(here: World, request: Request) -> tuple[Path, ...]:
    """The granted skill folders."""
    return skills.granted(request.plan.options.skills_paths, here.raw.folder)


def _emitter(events: EventLog, output: RunLog) -> Callable[[str, Mapping[str, Any]], None]:
    """Activity goes to events.jsonl; what the agent prints goes to agent.log, with at most one event a second."""
    last = [0.0]

    def emit(kind: str, fields: Mapping[str, Any]) -> None:
        if kind != "output":
            events.emit(kind, **fields)
            output.line(f"{kind} {dict(fields)!r}")
            return
        output.feed(str(fields.get("text", "")).encode())
        if time.monotonic() - last[0] >= 1.0:
            last[0] = time.monotonic()
            events.emit("output")

    return emit


def facts(run: AgentRun, sandbox: Sandbox, grants: Grants, auth_mode: str) -> dict[str, Any]:
    """What the agent had, from evidence of its run rather than from the plan."""
    info = sandbox.info()
    return {
        "auth_mode": auth_mode,
        "sandbox": info,
        "network": info["network"],
        "mcp": grants.mcp is not None,
        "mcp_calls": sum(call.kind is ToolKind.MCP for call in run.tool_calls),
        "skills": [skill.name for skill in find_skills(grants.skills_paths)],
        "skills_paths": grants.skills_paths,
    }


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


@contextlib.contextmanager
def endpoint(request: Request) -> Iterator[tuple[ModelEndpoint | None, str]]:
    """The model's endpoint and how it is authenticated; a scripted model gets its server for the time of the turn."""
    options, combo = request.plan.options, request.combo
    if combo.config.agent in {"noop", "scripted"}:
        yield None, "none"
        return
    if combo.model.startswith(SCRIPTED):
        from devops_bench.models.server import ScriptedServer

        if options.scenarios_dir is None:
            raise ConfigError("a scripted model needs scenarios", fix="set BENCH_SCENARIOS_DIR or --scenarios-dir")
        provider = options.agent_provider or "google"
        with ScriptedServer(Path(options.scenarios_dir)) as server:
            base = server.endpoint(provider, combo.model)
            yield ModelEndpoint(provider, combo.model, base_url=base, key="scripted"), "scripted"
        return
    from devops_bench.models import providers

    resolved = providers.resolve(combo.model, options.agent_provider, request.env)
    mode = "vertex" if options.vertex else "api-key"
    yield ModelEndpoint(resolved.provider, resolved.model, base_url=resolved.base_url, key=resolved.key), mode

"""`CliAgent`: an adapter made into an agent. Everything that is the same for all CLIs happens here, once.

Order: installation, skills, files in HOME, start in the sandbox, follow, end, read, settle. Whatever the CLI or its
model does, the result is an `AgentRun`; only what the user must change, or what we got wrong, is an exception.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devops_bench.agents.base import Agent, AgentRun, AgentTask, EndReason, Step, ToolKind
from devops_bench.agents.frame import wire_steps
from devops_bench.agents.frame.capture import Capture
from devops_bench.agents.frame.ender import Ender
from devops_bench.agents.frame.ends import Facts, last_word, settle
from devops_bench.agents.frame.home import Home
from devops_bench.agents.frame.kinds import kind_of, waited
from devops_bench.agents.frame.types import Cli, Launch, Left, Reading
from devops_bench.agents.install.types import Installation
from devops_bench.agents.preamble import prompt_with_preamble
from devops_bench.agents.skills import Skill, find_skills, install
from devops_bench.errors import BenchError, ConfigError
from devops_bench.models.exchange import Exchange
from devops_bench.sandbox import Bind, Completed

Find = Callable[[Cli, Mapping[str, str]], Installation | None]
MAX_ERRORS = 20
CONNECTED = "connected"


class CliAgent:
    """The agent of one CLI. `find` is for tests: where an installation comes from."""

    def __init__(self, cli: Cli, find: Find | None = None) -> None:
        self.cli = cli
        self._find = find or _installed

    @property
    def key(self) -> str:
        """Its canonical key."""
        return self.cli.key

    @property
    def wires(self) -> tuple[str, ...]:
        """The wire formats that the CLI speaks."""
        return self.cli.wires

    def installed(self, env: Mapping[str, str]) -> Installation | None:
        """The installation that runs use, None when there is none. ConfigError when the one that counts is unusable."""
        return self._find(self.cli, env)

    def missing(self, env: Mapping[str, str]) -> str | None:
        """None if it is installed, else one line with the command that installs it."""
        try:
            if self.installed(env) is not None:
                return None
        except BenchError as error:
            return f"agent {self.cli.key} ({self.cli.title}): {error.message()}"
        return f"agent {self.cli.key} ({self.cli.title}) is not installed; {how_to_install(self.cli)}"

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """Where it is installed."""
        found = self.installed(env)
        return found.binds if found is not None else ()

    def run(self, task: AgentTask) -> AgentRun:
        """Run the CLI to its end or limit. ConfigError for a grant or model that it cannot be given."""
        found = self._installation(task)
        skills = self._grantable(task)
        task = replace(task, prompt=prompt_with_preamble(task))
        program = found.argv if task.sandbox.sandboxed else found.host_argv
        home = Home(task.home)
        if skills:
            install(skills, home.folder(self.cli.skills_folder))
        launch = self.cli.launch(task, program, skills)
        for name, text in launch.files.items():
            home.write(name, text)
        ran = _execute(self.cli, launch, task)
        run = _account(self.cli, ran, _read(self.cli, ran.left, task), task, found.version)
        granted = {skill.name for skill in skills}
        return replace(run, skills_used=tuple(name for name in run.skills_used if name in granted))

    def _installation(self, task: AgentTask) -> Installation:
        env = {**os.environ, **({"AGENT_TARGET": task.target} if task.target else {})}
        found = self.installed(env)
        if found is None:
            raise ConfigError(f"agent {self.cli.key} ({self.cli.title}) is not installed", fix=how_to_install(self.cli))
        return found

    def _grantable(self, task: AgentTask) -> tuple[Skill, ...]:
        """The granted skills; ConfigError for what this CLI cannot be given: a run must be what its label says."""
        key, grants = self.cli.key, task.grants
        if task.endpoint is None:
            raise ConfigError(f"agent {key} has no model", fix="name one with --model or AGENT_MODEL")
        if task.endpoint.provider not in self.cli.wires:
            raise ConfigError(
                f"agent {key} cannot speak {task.endpoint.provider} to its model",
                fix=f"it speaks {', '.join(self.cli.wires)}",
            )
        refused = unservable(self, mcp=grants.mcp is not None, skills=bool(grants.skills_paths))
        if refused is not None:
            raise refused
        return find_skills(grants.skills_paths)


def unservable(agent: Agent, *, mcp: bool, skills: bool) -> ConfigError | None:
    """Why a label with these grants cannot be kept by the agent; None when it can. Only a CLI may lack the means."""
    if not isinstance(agent, CliAgent):
        return None
    if mcp and not agent.cli.mcp_name:
        return ConfigError(f"agent {agent.key} cannot serve +mcp", fix=f"run {agent.key} without it")
    if skills and not agent.cli.skills_folder:
        return ConfigError(f"agent {agent.key} cannot serve +skills", fix=f"run {agent.key} without them")
    return None


@dataclass(frozen=True, slots=True)
class Ran:
    """A run of the CLI's process: what it left, how the process ended, how long the agent alone took (seconds)."""

    left: Left
    completed: Completed
    flooded: bool
    stderr_tail: str


def how_to_install(cli: Cli) -> str:
    """What to do when it is not there."""
    from devops_bench.agents.install import installable

    if cli.key not in installable():
        how = f"install {cli.package} (npm), or " if cli.package else ""
        return f"{how}put {cli.binary} on PATH, or name it by AGENT_TARGET"
    return f"run `devops-bench agents install {cli.key}`, or name its binary by AGENT_TARGET"


def _installed(cli: Cli, env: Mapping[str, str]) -> Installation | None:
    """By the table of installs; a CLI of another package, which has no row there, by AGENT_TARGET or PATH."""
    from devops_bench.agents import install as installs
    from devops_bench.agents.install import locate, packages

    if cli.key in packages.PACKAGES:
        return installs.find(cli.key, env)
    named = env.get("AGENT_TARGET", "").strip()
    if named:
        return locate.installation(cli.key, Path(named), "target", env, said="AGENT_TARGET")
    on_path = shutil.which(cli.binary, path=env.get("PATH", os.defpath))
    return locate.installation(cli.key, Path(on_path), "path", env) if on_path else None


def _execute(cli: Cli, launch: Launch, task: AgentTask) -> Ran:
    """Start, feed, follow; at the time limit TERM and KILL of the whole tree. The tree is closed on every way out."""
    argv = [*launch.argv, *task.extra_flags]
    began = time.time()
    with Ender(task.exchanges) as ender:
        capture = Capture(task.limits.output_bytes, cli.follow, task.emit, ender.kill)
        completed = task.sandbox.run(
            argv,
            stdin=launch.stdin,
            timeout=task.limits.timeout_sec,
            cap=2,  # kept by the capture
            env={**task.env, **launch.env},
            on_output=capture.stdout,
            on_error=capture.stderr,
            on_start=ender.begin,
        )
    left = Left(
        stdout=bytes(capture.out),
        stderr=bytes(capture.err),
        exit=completed.exit,
        timed_out=completed.timed_out,
        home=task.home,
        started=began,
        ended=time.time(),
        arrived=tuple(capture.arrived),
    )
    return Ran(left, completed, capture.flooded, capture.last_error_line())


def _read(cli: Cli, left: Left, task: AgentTask) -> Reading:
    """What the adapter makes of it. A fault of the adapter is reported, and costs no more than the CLI's own word."""
    try:
        return cli.read(left, task)
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
        return Reading(errors=(f"what {cli.key} left cannot be read: {said}",), raw_end="unreadable")


def _account(cli: Cli, ran: Ran, reading: Reading, task: AgentTask, version: str) -> AgentRun:
    """The adapter's reading and the gateway's exchanges, merged and judged."""
    seen: Sequence[Exchange] = tuple(task.exchanges())
    steps, errors = reading.steps, list(reading.errors)
    if not steps and seen:
        steps = wire_steps.steps_from(seen, cli, task)
        if steps:
            errors.append(f"{cli.key} left no record of its steps that can be read: these are the gateway's")
    # An agent can make it impossible for its CLI to keep or print a reply; it is judged by what it said all the same.
    heard = last_word(seen)
    reading = replace(reading, output=reading.output or _last_words(steps) or (heard.text if heard else ""))
    end = settle(
        reading,
        Facts(
            exit=ran.left.exit,
            timed_out=ran.left.timed_out,
            flooded=ran.flooded,
            broken_grant=_broken_grant(reading, cli, task, seen),
            limit=ran.completed.killed_by or "",
            struck=ran.completed.struck,
            timeout_sec=task.limits.timeout_sec,
            output_bytes=task.limits.output_bytes,
            steps=len(steps),
            exchanges=None if task.exchanges is tuple else seen,
            stderr_tail=ran.stderr_tail,
        ),
    )
    if end.error:
        errors.insert(0, end.error)
    elif end.reason is not EndReason.COMPLETED and not errors:
        errors.append(ran.stderr_tail or f"it ended with {end.raw}")
    calls = [call for step in steps for call in step.tool_calls]
    answered = sum(not one.fault for one in seen)
    return AgentRun(
        end=end.reason,
        output=reading.output,
        steps=steps,
        usage=reading.usage or wire_steps.total_usage(seen),
        latency=ran.completed.duration,
        errors=tuple(errors[:MAX_ERRORS]),
        served_models=reading.served_models or wire_steps.served(seen),
        model_turns=answered if seen and reading.model_turns is None else reading.model_turns,
        tool_wait_sec=waited(calls),
        cost_usd=wire_steps.total_cost(seen) if seen else reading.cost_usd,
        skills_used=tuple(dict.fromkeys(reading.skills_used)),
        version=version,
        raw_end=end.raw,
    )


def _broken_grant(reading: Reading, cli: Cli, task: AgentTask, seen: Sequence[Exchange]) -> str:
    """Why the MCP server is not really there, if the CLI says so: several go on without it and report a success.

    Not believed once the model was offered one of its tools: output can be written to by whoever runs beside the CLI.
    """
    mcp = task.grants.mcp
    state = reading.mcp_servers.get(mcp.server, CONNECTED) if mcp is not None else CONNECTED
    if any(kind_of(cli, task, name.replace("/", "__")) is ToolKind.MCP for one in seen for name in one.tools):
        return ""
    return "" if state in {CONNECTED, "pending"} else f"the CLI says that its MCP server is not there: {state}"


def _last_words(steps: Sequence[Step]) -> str:
    """The last step's message, if the agent's: a call after it means that the model had not finished."""
    last = steps[-1] if steps else None
    return last.message if last is not None and last.source == "agent" and not last.tool_calls else ""

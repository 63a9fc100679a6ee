"""Runs a real CLI in the real sandbox, between the real gateways, against a scripted model. Installs it if missing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devops_bench.agents import install
from devops_bench.agents.base import AgentRun, AgentTask, Grants, Limits, McpGrant, ModelEndpoint
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.frame.types import Cli
from devops_bench.gateway.mcp import McpGateway
from devops_bench.gateway.model import Caps, ModelGateway, Patience, Scripted
from devops_bench.models.exchange import Exchange
from devops_bench.models.scenario import load_scenarios
from devops_bench.sandbox import Endpoint, Sandbox, SandboxMode, SandboxSpec
from tests.gateway.mcp_parts import SERVER

SKILL = "---\nname: read-the-runbook\ndescription: How to find out why the service is down.\n---\nLook at the log.\n"
WORD = "the secret word is tamarind"


@dataclass(frozen=True)
class Result:
    """One run: what the agent gave back, what the gateway saw, what the CLI was told to report as it went."""

    run: AgentRun
    exchanges: tuple[Exchange, ...]
    activity: list[tuple[str, dict[str, Any]]]
    bodies: list[bytes]
    mcp_calls: list[str]
    workspace: Path
    home: Path
    box: Mapping[str, Any] = field(default_factory=dict)


def offered(result: Result) -> set[str]:
    """The tools of the first request that offers any."""
    return set(next((one.tools for one in result.exchanges if one.tools), ()))


def play(
    cli: Cli,
    mode: SandboxMode,
    root: Path,
    scenario: str,
    *,
    mcp: Sequence[str] | None = None,
    skills: bool = False,
    timeout: float = 120,
    turns: int = 20,
    prompt: str = "Make the service answer again.",
    patience: float = 60,
    before: Mapping[str, str] | None = None,
    wire: str | None = None,
    granted: Callable[[McpGrant], McpGrant] = lambda grant: grant,
    model: str = "scripted:s",
    **more: Any,
) -> Result:
    """Play `scenario` (YAML). `mcp` are flags for the test server, None: no server. `before`: workspace files.

    `granted` changes the grant on its way to the CLI; `more` are fields of the task.
    """
    root.mkdir(parents=True, exist_ok=True)
    found = install.install(cli.key, os.environ)
    (root / "scenarios").mkdir()
    (root / "scenarios" / "s.yaml").write_text(scenario)
    activity: list[tuple[str, dict[str, Any]]] = []
    bodies: list[bytes] = []
    with ExitStack() as stack:
        gateway = stack.enter_context(
            ModelGateway(
                Scripted(load_scenarios(root / "scenarios"), "scripted:s"),
                wire=wire or cli.wires[0],
                model=model,
                caps=Caps(requests=turns),
                ending_status=getattr(cli, "ending_status", None),
                patience=Patience(idle=patience, wait=0.5),
                first_request=lambda _said, body: bodies.append(body),
            )
        )
        server = None
        if mcp is not None:
            command = [sys.executable, str(SERVER), *mcp]
            server = stack.enter_context(McpGateway(command, mode=mode, folder=root / "mcp", server="k8s"))
        reach = [Endpoint(*gateway.address), *([Endpoint(*server.address)] if server else [])]
        spec = SandboxSpec(root / "home", root / "workspace", reach=tuple(reach), binds=found.binds)
        box = stack.enter_context(Sandbox(mode, spec))
        for name, text in (before or {}).items():
            (root / "workspace" / name).write_text(text)
        paths: tuple[Path, ...] = ()
        if skills:
            (root / "skills" / "read-the-runbook").mkdir(parents=True)
            (root / "skills" / "read-the-runbook" / "SKILL.md").write_text(SKILL + WORD + "\n")
            paths = (root / "skills",)
        task = AgentTask(
            prompt=prompt,
            workspace=root / "workspace",
            home=root / "home",
            sandbox=box,
            endpoint=ModelEndpoint(wire or cli.wires[0], model, base_url=gateway.base_url(), key=gateway.token),
            grants=Grants(mcp=granted(server.grant(box)) if server else None, skills_paths=paths),
            limits=Limits(timeout_sec=timeout, max_turns=turns, output_bytes=16 << 20),
            env={},
            emit=lambda kind, fields: activity.append((kind, dict(fields))),
            exchanges=gateway.exchanges,
            **more,
        )
        run = CliAgent(cli).run(task)
        strangers = [one.number for one in gateway.exchanges() if one.tools and not one.own]
        assert not strangers, f"turns of the CLI are not known as its own: {strangers}"
        calls = [call.tool for call in server.calls()] if server else []
        return Result(run, gateway.exchanges(), activity, bodies, calls, root / "workspace", root / "home", box.info())

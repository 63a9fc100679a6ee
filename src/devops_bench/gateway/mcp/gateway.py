"""The MCP gateway of one attempt: in the combo's process, between the agent's CLI and the MCP server.

The agent's sandbox holds only a relay. The gateway listens on loopback, and for each connection that brings the token
it runs an instance of the server in a sandbox of the server's own, under an identity of its own. So the record of calls
is written where no agent can reach, and the cluster's audit log tells a tool's requests from those of a shell.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from devops_bench import settings
from devops_bench.agents.base import McpGrant
from devops_bench.errors import ConfigError, HarnessError
from devops_bench.gateway.mcp import policy, program, relay
from devops_bench.gateway.mcp.instance import Instance
from devops_bench.gateway.mcp.policy import Policy
from devops_bench.gateway.mcp.record import McpRecord
from devops_bench.gateway.mcp.serving import McpUnavailable, Serving
from devops_bench.gateway.mcp.types import Guard, McpCall, McpLimits, McpProblem, OnEvent
from devops_bench.paths import private_dir
from devops_bench.redact import Redactor
from devops_bench.sandbox import Endpoint, Network, Sandbox, SandboxMode, SandboxSpec
from devops_bench.sandbox.layout import SYSTEM_PATH

SERVER = "k8s"
HOST = "127.0.0.1"
BINDS_VARIABLE = "AGENT_MCP_BINDS"


def _quiet(_kind: str, _fields: Mapping[str, Any]) -> None:
    """No listener."""


class McpGateway:
    """A context manager. Entering it starts the server; `grant` waits until its tools are known.

    `argv` is the server's command line (`{kubeconfig}` in it stands for its kubeconfig, which is in KUBECONFIG too).
    `folder` is made for the server's private files and removed at the end. `kubeconfig` is the server's own identity.
    `record` is the path of mcp.jsonl. `binds` are more host paths to show the server, `hidden` folders it must never
    see. Callbacks come from the gateway's thread.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        mode: SandboxMode,
        folder: Path,
        kubeconfig: Path | None = None,
        record: Path | None = None,
        redactor: Redactor | None = None,
        on_event: OnEvent = _quiet,
        guard: Guard | None = None,
        allowed_tools: Sequence[str] = (),
        server: str = SERVER,
        env: Mapping[str, str] | None = None,
        host_env: Mapping[str, str] | None = None,
        binds: Sequence[Path] = (),
        hidden: Sequence[Path] = (),
        network: Network = Network.CLOSED,
        limits: McpLimits | None = None,
    ) -> None:
        """Finds the program. ConfigError in one line when it or what it needs is not there.

        `env` are variables for the server; `host_env` gives the PATH and HOME in which its program is looked for.
        """
        self.server = server
        self._program = program.find(argv, os.environ if host_env is None else host_env, binds)
        if kubeconfig is None and any(program.KUBECONFIG in word for word in argv):
            raise ConfigError("the MCP server wants a kubeconfig, but there is no cluster", fix="drop +mcp")
        self._mode = mode
        self._folder = folder
        self._env = dict(env or {})
        self._spec = SandboxSpec(
            home=folder / "home",
            workspace=folder / "workspace",
            kubeconfig=kubeconfig,
            network=network,
            binds=self._program.binds,
            hidden=tuple(hidden),
        )
        self._guard = guard
        self._allowed = tuple(allowed_tools)
        self._on_event = on_event
        self._redactor = redactor or Redactor()
        self._record_path = record
        self._token = secrets.token_hex(32)
        self._limits = limits or McpLimits()

    def __enter__(self) -> McpGateway:
        private_dir(self._folder)
        with ExitStack() as stack:
            stack.callback(shutil.rmtree, self._folder, ignore_errors=True)
            self._record = McpRecord(self._record_path, self._redactor)
            stack.callback(self._record.close)
            # This one checks the kubeconfig; instances have one of their own.
            self._box_info = stack.enter_context(Sandbox(self._mode, self._spec)).info
            self._listening = socket.create_server((HOST, 0), backlog=16)
            self._held = stack.pop_all()
        self.address: tuple[str, int] = (HOST, self._listening.getsockname()[1])
        self._serving = Serving(
            name=Path(self._program.argv[0]).name,
            token=self._token.encode(),
            limits=self._limits,
            cap=settings.integer("tool_result_cap", {}),
            launch=self._launch,
            rules=self._rules,
            record=self._record,
            on_event=self._on_event,
            hint=self._hint(),
        )
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="mcp-gateway", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        with suppress(RuntimeError):  # the loop has ended by itself
            self._loop.call_soon_threadsafe(self._serving.stop)
        self._thread.join(30)
        self._held.close()

    @property
    def endpoint(self) -> Endpoint:
        """What the agent's sandbox must reach."""
        return Endpoint(*self.address)

    def grant(self, box: Sandbox | None = None) -> McpGrant:
        """Wait until the server has named its tools; place the relay in the agent's `box` (None: no CLI).

        Raises McpUnavailable when the server does not come up, ConfigError when AGENT_ALLOWED_TOOLS leaves no tool.
        """
        try:
            tools = self._serving.tools.result(self._limits.startup + 60)
        except TimeoutError:
            raise McpUnavailable(f"MCP server {self._serving.name} did not start") from None
        kept = policy.allowed(self.server, self._allowed, tools)
        offered = tuple(tool for tool in tools if kept is None or tool in kept)
        if not offered:
            raise ConfigError(
                f"AGENT_ALLOWED_TOOLS leaves no tool of the MCP server {self._serving.name}",
                fix=f"it has {', '.join(tools[:30])}",
            )
        argv: tuple[str, ...] = ()
        if box is not None:
            if box.network is Network.CLOSED and self.endpoint not in box.spec.reach:
                raise HarnessError("the agent's sandbox does not reach the MCP gateway")
            argv = ("/bin/bash", box.place(relay.NAME, relay.script(*self.address, self._token)))
        return McpGrant(self.server, argv, self.address, self._token, offered)

    def agent_acts(self) -> None:
        """From now on the agent's commands may use the relay: a connection that comes later may be one of theirs, and
        what goes wrong there voids nothing. A CLI has its own before it asks the model for the first time.
        """
        self._serving.agent_acts = True

    def calls(self) -> tuple[McpCall, ...]:
        """All calls that have ended, in that order. Complete once the gateway is closed."""
        return self._record.calls()

    @property
    def count(self) -> int:
        """How many calls there were, also beyond those that are kept."""
        return self._record.count

    @property
    def problems(self) -> tuple[McpProblem, ...]:
        """What went wrong with the server or the record, in order."""
        return tuple(self._serving.problems)

    @property
    def problem(self) -> str | None:
        """The first of `problems` as one line: evidence that the attempt cannot be judged."""
        return next((problem.text for problem in self.problems), None)

    def info(self) -> dict[str, Any]:
        """What environment.json says about it: the command, its tools and sandbox, what it took."""
        tools = self._serving.tools
        return {
            "server": self.server,
            "command": list(self._program.argv),
            "tools": list(tools.result()) if tools.done() and not tools.exception() else [],
            "calls": self.count,
            "sandbox": self._box_info(),
            "cpu_sec": self._serving.taken.cpu_sec,
            "rss_peak": self._serving.taken.rss_peak,
            "problems": [problem.text for problem in self.problems],
            "problems_of_others": self._serving.others,
        }

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serving.run(self._listening))
            self._loop.run_until_complete(self._loop.shutdown_default_executor())
        finally:
            self._loop.close()

    async def _launch(self) -> Instance:
        # A sandbox for each: bare ones are ended by their tag, which must not hit another instance.
        box = Sandbox(self._mode, self._spec)
        self._box_info = box.info  # of the latest
        home = f"{box.home}/.kube/config"
        argv = [word.replace(program.KUBECONFIG, home) for word in self._program.argv]
        env = dict(self._env)
        if box.sandboxed:
            env["PATH"] = ":".join([*self._program.path, SYSTEM_PATH])
        return await Instance.start(box, argv, env, self._limits.message)

    def _rules(self, tools: tuple[str, ...]) -> Policy:
        needles = policy.needles(self._spec.kubeconfig)
        return Policy(policy.allowed(self.server, self._allowed, tools), self._guard, needles)

    def _hint(self) -> str:
        if self._program.launcher:
            return "install the server and name its own program: its network is closed, nothing can be fetched"
        shown = ", ".join(bind.dest for bind in self._program.binds) or "nothing else"
        return f"its sandbox shows /usr and {shown}; {BINDS_VARIABLE} (colon-separated) shows more"

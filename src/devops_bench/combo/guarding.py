"""The guard of one attempt: where the agent's commands and MCP calls are judged before they run, and seen when they do.

The policy is `devops_bench.guard`; here it learns what is the attempt's own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from devops_bench.combo.events import EventLog
from devops_bench.combo.world import World
from devops_bench.gateway.mcp import SERVER
from devops_bench.guard import Finding, Gate, GuardContext, Refusal, Source, judge_tool, scan_call, scan_process_args
from devops_bench.sandbox import SandboxMode
from devops_bench.sandbox.layout import HOME, WORKSPACE

MOST_RECORDED = 50


def context_of(here: World, mode: SandboxMode, project: str, location: str) -> GuardContext:
    """What belongs to the attempt: its cluster, the contexts of its kubeconfig, its folders as the agent sees them."""
    cluster = here.cluster
    home, workspace = (HOME, WORKSPACE) if mode.sandboxed else (str(here.home), str(here.workspace))
    temporary = ("/tmp",) if mode.sandboxed else ()  # noqa: S108 - the sandbox's own
    return GuardContext(
        cluster=cluster.name if cluster.server is not None else "",
        contexts=_contexts(cluster.agent_kubeconfig),
        server=cluster.server or "",
        project=project,
        location=location,
        folders=(workspace, home, *temporary),
        home=home,
    )


def _contexts(kubeconfig: Path | None) -> frozenset[str]:
    """Names of the contexts of a kubeconfig of ours; it was read before, by the cluster's provider."""
    if kubeconfig is None:
        return frozenset()
    from ruamel.yaml import YAML

    data = YAML(typ="safe", pure=True).load(kubeconfig.read_text()) or {}
    return frozenset(str(item["name"]) for item in data.get("contexts") or ())


class AttemptGuard:
    """A context manager. `address` is where the shims of the agent's sandbox ask; the methods are its other lines."""

    def __init__(self, context: GuardContext, events: EventLog) -> None:
        self._context = context
        self._gate = Gate(context, lambda finding: _tell(events, finding))

    def __enter__(self) -> AttemptGuard:
        return self

    def __exit__(self, *_exc: object) -> None:
        self._gate.close()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        return self._gate.address

    def mcp(self, tool: str, arguments: Mapping[str, Any]) -> str | None:
        """Why an MCP call is not made, or None."""
        refusal = judge_tool(SERVER, tool, arguments, self._context)
        if refusal is None:
            return None
        self._gate.note(refusal, Source.MCP)
        return refusal.text

    def process(self, argv: Sequence[str], env: Mapping[str, str]) -> bool:
        """Whether a process that runs must not."""
        refusal = scan_process_args(argv, self._context, env=env)
        if refusal is None or self._gate.allowed(refusal.words, env.get("KUBECONFIG", "")):
            return False
        self._gate.note(refusal, Source.PROCESS)
        return True

    def transcript(self, calls: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        """Look through the agent's own tool calls (name, arguments) once it has ended: what ran past the other lines,
        or was asked of a tool that is not there, is a finding too. What they saw is none a second time.
        """
        found = [refusal for name, args in calls for refusal in scan_call(name, args, self._context)]
        found = [refusal for refusal in found if not self._gate.allowed(refusal.words)]
        seen = [finding.refusal for finding in self._gate.findings]
        # The same command first; then any of the same tool: a shell had expanded what the transcript only spells.
        for same in (_by_command, _by_tool):
            known = Counter(same(refusal) for refusal in seen)
            left = []
            for refusal in found:
                if known[same(refusal)] > 0:
                    known[same(refusal)] -= 1
                    seen.remove(next(one for one in seen if same(one) == same(refusal)))
                else:
                    left.append(refusal)
            found = left
        for refusal in found:
            self._gate.note(refusal, Source.LOG)

    def findings(self) -> list[dict[str, Any]]:
        """What was refused, for the record."""
        return [finding.as_dict() for finding in self._gate.findings[:MOST_RECORDED]]


def _by_command(refusal: Refusal) -> str:
    return refusal.command


def _by_tool(refusal: Refusal) -> str:
    return refusal.tool


def _tell(events: EventLog, finding: Finding) -> None:
    events.emit("guard_blocked", **{key: text for key, text in finding.as_dict().items() if key != "time"})

"""The agent that does nothing: shows that a task does not solve itself, and costs only the harness."""

from __future__ import annotations

import time
from collections.abc import Mapping

from devops_bench._version import __version__
from devops_bench.agents.base import AgentRun, AgentTask, EndReason, Step
from devops_bench.sandbox import Bind


class NoopAgent:
    """Ends at once, completed, with one step that says so: idling is its job, so it is no empty run."""

    key = "noop"
    wires: tuple[str, ...] = ()

    def missing(self, env: Mapping[str, str]) -> str | None:
        """It is always there."""
        return None

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """None: it runs in this process."""
        return ()

    def run(self, task: AgentTask) -> AgentRun:
        """Do nothing."""
        step = Step(source="agent", message="No action taken.", time=time.time())
        task.emit("text", {"text": step.message})
        return AgentRun(
            end=EndReason.COMPLETED,
            output=step.message,
            steps=(step,),
            usage=None,
            latency=0.0,
            model_turns=0,
            tool_wait_sec=0.0,
            version=__version__,
            raw_end="idle",
        )

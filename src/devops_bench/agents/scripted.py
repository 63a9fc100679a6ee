"""The agent that plays a script with the agent's rights: a bash file (a task's solution), or a YAML list of tool calls.

YAML: a list whose items are `{tool: bash|kubectl|file, args: {...}}` or `{text: "..."}`. A failing call does not end
the script, as it would not end a model's turn; it is recorded as an error.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from devops_bench import settings
from devops_bench._version import __version__
from devops_bench.agents.base import AgentRun, AgentTask, CallStatus, EndReason, Step, ToolCall
from devops_bench.agents.tools import Toolbox
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind


class _Say(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    text: str


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    tool: str
    args: dict[str, Any] = Field(default_factory=dict)


_Script = TypeAdapter(list[Annotated[_Say | _Call, Field(union_mode="left_to_right")]])


class ScriptedAgent:
    """Plays `AgentTask.script`."""

    key = "scripted"
    wires: tuple[str, ...] = ()

    def missing(self, env: Mapping[str, str]) -> str | None:
        """It is always there."""
        return None

    def binds(self, env: Mapping[str, str]) -> tuple[Bind, ...]:
        """None: it runs in this process."""
        return ()

    def run(self, task: AgentTask) -> AgentRun:
        """Play the script to its end or to the time limit. ConfigError when there is none or it cannot be read."""
        if task.script is None:
            raise ConfigError("agent scripted has no script to play", fix="give the task a file in solution/")
        started = time.monotonic()
        deadline = started + task.limits.timeout_sec
        if task.script.suffix in {".yaml", ".yml"}:
            steps = self._play(task, read_script(task.script), deadline)
        else:
            steps = (Step(source="agent", message="", tool_calls=(self._bash(task, deadline),), time=time.time()),)
        timed_out = time.monotonic() >= deadline
        calls = [call for step in steps for call in step.tool_calls]
        failed = [call for call in calls if call.status is CallStatus.ERROR]
        text = f"Played {task.script.name}: {len(calls)} call(s), {len(failed)} failed."
        return AgentRun(
            end=EndReason.TIMEOUT if timed_out else EndReason.COMPLETED,
            output=text,
            steps=(*steps, Step(source="agent", message=text, time=time.time())),
            usage=None,
            latency=time.monotonic() - started,
            errors=("the script was stopped by the time limit",) if timed_out else (),
            model_turns=0,
            tool_wait_sec=sum(call.ended - call.started for call in calls),
            version=__version__,
            raw_end="timeout" if timed_out else "script ended",
        )

    def _bash(self, task: AgentTask, deadline: float) -> ToolCall:
        assert task.script is not None
        source = task.script.read_bytes()
        path = task.sandbox.place("script", source)
        begun = time.time()
        done = task.sandbox.run(
            ["/bin/bash", path],
            timeout=max(0.001, deadline - time.monotonic()),
            cap=settings.integer("tool_result_cap", {}),
            env=task.env,
            on_output=lambda data: task.emit("output", {"text": data.decode(errors="replace")}),
        )
        note = f"[timed out after {done.duration:.0f} s]" if done.timed_out else f"[exit {done.exit}]"
        task.emit("tool_call", {"name": "bash", "phase": "ended", "seconds": round(done.duration, 3)})
        return ToolCall(
            name="bash",
            args={"command": source.decode(errors="replace")},
            result=f"{done.text()}\n{note}".lstrip() if done.exit else done.text(),
            status=CallStatus.ERROR if done.exit else CallStatus.OK,
            started=begun,
            ended=time.time(),
            call_id="call_1",
        )

    def _play(self, task: AgentTask, script: list[_Say | _Call], deadline: float) -> tuple[Step, ...]:
        steps = []
        tools = Toolbox(task.sandbox, deadline=deadline, env=task.env, emit=task.emit)
        try:
            for item in script:
                if time.monotonic() >= deadline:
                    break
                if isinstance(item, _Say):
                    steps.append(Step(source="agent", message=item.text, time=time.time()))
                else:
                    call = tools.call(item.tool, item.args)
                    steps.append(Step(source="agent", tool_calls=(call,), time=call.started))
        finally:
            tools.close()
        return tuple(steps)


def read_script(path: Path) -> list[_Say | _Call]:
    """Read a YAML script; ConfigError with its line or place."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        data = YAML(typ="safe", pure=True).load(path.read_text())
        return _Script.validate_python(data)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        raise ConfigError(f"not YAML: {error.problem}", where=path, line=line, fix="correct the script") from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise ConfigError(
            f"item {place}: {first['msg']}", where=path, fix="write a list of {tool, args} or {text}"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot be read: {error}", where=path) from None

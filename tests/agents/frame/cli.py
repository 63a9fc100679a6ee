"""A CLI of the tests: bash plays it, one JSON object a line, so that the frame is tested without any real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from devops_bench.agents.base import AgentTask, CallStatus, EndReason, Step, ToolCall
from devops_bench.agents.frame import loose
from devops_bench.agents.frame.kinds import kind_of
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.frame.types import Activity, Launch, Left, Reading
from devops_bench.agents.install.types import Installation
from devops_bench.agents.skills import Skill


@dataclass
class BashCli:
    """Runs `script`; its transcript: lines `{"say": ...}`, `{"call": NAME, "result": ...}`, `{"end": WORD}`,
    `{"server": STATE}`.
    """

    script: str
    files: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    fail: str = ""
    key: str = "bash-cli"
    title: str = "Bash CLI"
    package: str = "bash-cli"
    binary: str = "bash"
    wires: tuple[str, ...] = ("anthropic",)
    skills_folder: str = ".cli/skills"
    mcp_name: str = "mcp__{server}__{tool}"
    builtin_tools: frozenset[str] = frozenset({"Shell"})
    skill_tools: frozenset[str] = frozenset({"Skill"})

    def launch(self, task: AgentTask, program: Sequence[str], skills: Sequence[Skill]) -> Launch:
        return Launch(
            argv=(*program, "-c", self.script, "cli"), env=self.env, files=self.files, stdin=task.prompt.encode()
        )

    def follow(self, line: bytes) -> Activity | None:
        if self.fail == "follow":
            raise RuntimeError("no")
        one = loose.record(line) or {}
        return Activity("tool_call", {"name": one["call"], "phase": "started"}) if "call" in one else None

    def read(self, left: Left, task: AgentTask) -> Reading:
        if self.fail == "read":
            raise KeyError("usage")
        steps, end, output, servers = [], None, "", {}
        for when, line in left.lines():
            one = loose.record(line) or {}
            if "say" in one:
                output = loose.text(one["say"])
                steps.append(Step("agent", output, time=when))
            if "call" in one:
                name = loose.text(one["call"])
                kind = kind_of(self, task, name)
                call = ToolCall(name, {}, loose.text(one.get("result")), CallStatus.OK, kind, when, when)
                steps.append(Step("agent", tool_calls=(call,), time=when))
            if "server" in one:
                servers["k8s"] = loose.text(one["server"])
            if "end" in one:
                end = EndReason(one["end"])
        return Reading(steps=tuple(steps), output=output, end=end, raw_end="said" if end else "", mcp_servers=servers)


def agent_of(cli: BashCli) -> CliAgent:
    """The frame around it, as if it were installed."""
    return CliAgent(
        cli, find=lambda found, _env: Installation(found.key, "1.2.3", "path", ("/bin/bash",), ("/bin/bash",))
    )

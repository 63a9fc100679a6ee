"""What every agent is told before its task: where it is, what it may use, how long it has. Part of a setup's identity.

One text for all agents. Our own get it as the system prompt, with their tools and skills; a CLI, which lists its tools
and skills to the model itself, gets it at the head of the prompt.
"""

from __future__ import annotations

from collections.abc import Sequence

from devops_bench.agents.base import AgentTask, Limits
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox

SKILL_FOLDER = ".agents/skills"


def system_prompt(
    sandbox: Sandbox, limits: Limits, tools: Sequence[str], skills: Sequence[Skill], rules_text: str = ""
) -> str:
    """The system prompt of an agent of ours. `tools` are the names the model is offered."""
    lines = _lines(sandbox, limits, f"Tools: {', '.join(tools)}. They run")
    if skills:
        lines.append("Skills are instructions for kinds of work. When one fits, read it with the tool `skill` first:")
        lines += [f"- {skill.name}: {skill.description}" for skill in skills]
    return "\n".join(lines + _rules(rules_text))


def prompt_with_preamble(task: AgentTask) -> str:
    """The whole prompt of a CLI: the preamble, the MCP tools it may count on, the rules, then the task."""
    lines = _lines(task.sandbox, task.limits, "Your tools run")
    mcp = task.grants.mcp
    if mcp is not None:
        lines.append(f"The MCP server {mcp.server} is connected. Its tools: {', '.join(mcp.tools)}.")
    if task.grants.skills_paths:
        lines.append("You have skills: instructions for kinds of work. When one fits, read it first.")
    return "\n".join([*lines, *_rules(task.rules_text), "", "Your task:", "", task.prompt])


def _lines(sandbox: Sandbox, limits: Limits, tools: str) -> list[str]:
    cluster = sandbox.spec.kubeconfig is not None
    return [
        "You are an engineer on call. You are given one task; do it yourself with the tools, then stop.",
        f"Your working folder is {sandbox.workspace} and your home is {sandbox.home}; both are yours to change.",
        "kubectl is set up for the cluster of this task, with the rights you have."
        if cluster
        else "There is no cluster in this task.",
        f"{tools} on your machine, without internet access.",
        f"You have {_duration(limits.timeout_sec)} and at most {limits.max_turns} replies in all.",
        "Nobody answers questions. Check your work before you finish; your last message is your report.",
    ]


def _rules(text: str) -> list[str]:
    return ["Rules:", text.strip()] if text.strip() else []


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes and rest else f"{minutes} min" if minutes else f"{rest} s"

"""What our own agent is told before its task: where it is, what it may use, how long it has. Part of a setup's
identity.
"""

from __future__ import annotations

from collections.abc import Sequence

from devops_bench.agents.base import Limits
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox

SKILL_FOLDER = ".agents/skills"


def system_prompt(
    sandbox: Sandbox, limits: Limits, tools: Sequence[str], skills: Sequence[Skill], rules_text: str = ""
) -> str:
    """The system prompt. `tools` are the names the model is offered."""
    lines = [
        "You are an engineer on call. You are given one task; do it yourself with the tools, then stop.",
        f"Your working folder is {sandbox.workspace} and your home is {sandbox.home}; both are yours to change.",
    ]
    if sandbox.spec.kubeconfig is not None:
        lines.append("kubectl is set up for the cluster of this task, with the rights you have.")
    else:
        lines.append("There is no cluster in this task.")
    lines += [
        f"Tools: {', '.join(tools)}. They run on your machine, without internet access.",
        f"You have {_duration(limits.timeout_sec)} and at most {limits.max_turns} replies in all.",
        "Nobody answers questions. Check your work before you finish; your last message is your report.",
    ]
    if skills:
        lines.append("Skills are instructions for kinds of work. When one fits, read it with the tool `skill` first:")
        lines += [f"- {skill.name}: {skill.description}" for skill in skills]
    if rules_text.strip():
        lines += ["Rules:", rules_text.strip()]
    return "\n".join(lines)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes and rest else f"{minutes} min" if minutes else f"{rest} s"

"""How an agent shows tools to its model: the adapter's own tables, or those of the agent `api`. For grant checks."""

from __future__ import annotations

from dataclasses import dataclass

from devops_bench.agents.base import Agent
from devops_bench.agents.frame.run import CliAgent
from devops_bench.agents.frame.types import Surface

API_SKILL = "skill"


@dataclass(frozen=True, slots=True)
class PlainSurface:
    """A surface as plain data."""

    mcp_name: str
    builtin_tools: frozenset[str]
    skill_tools: frozenset[str]


def surface_of(agent: Agent) -> Surface | None:
    """None for agents that ask no model, and for agents of other packages that tell nothing: those are not checked."""
    if isinstance(agent, CliAgent):
        return agent.cli
    if agent.key == "api":
        from devops_bench.agents.offer import TOOLS

        own = frozenset(TOOLS) - {API_SKILL}
        return PlainSurface("mcp__{server}__{tool}", own, frozenset({API_SKILL}))
    return None

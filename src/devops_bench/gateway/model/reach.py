"""Which agents can reach which providers: nothing is translated, so the wire formats must match. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from devops_bench.errors import ConfigError
from devops_bench.models.player import WIRES
from devops_bench.models.providers import Resolved

# Wire formats that a provider speaks, its own first. A server of one's own may lack the second.
_SPEAKS: Mapping[str, tuple[str, ...]] = {
    "google": ("google",),
    "anthropic": ("anthropic",),
    "openai": ("openai", "openai-responses"),
    "openai-responses": ("openai-responses", "openai"),
    "openai-compatible": ("openai", "openai-responses"),
    "scripted": tuple(sorted(WIRES)),
}
_CLAUDE = "claude"


def speaks(provider: str, model: str) -> tuple[str, ...]:
    """The wire formats by which a model is reached, the provider's own first. On Vertex the model decides."""
    if provider == "vertex":
        return ("anthropic",) if model.lower().startswith(_CLAUDE) else ("google",)
    return _SPEAKS[provider]


def wire_for(agent: str, wires: Sequence[str], resolved: Resolved, told: str | None = None) -> str:
    """The wire format between an agent and its model: the first of the agent's `wires` that the provider speaks.

    `told`, the user's word for a provider, may choose among the agent's formats: then only that one counts. Raises
    ConfigError with one line when there is none.
    """
    there = speaks(resolved.provider, resolved.model)
    wires = (told,) if told is not None and told in wires else wires
    for wire in wires:
        if wire in there:
            return wire
    needs = " or ".join(wires) or "no model"
    raise ConfigError(
        f"agent {agent} cannot use model {resolved.model}: it speaks {needs}, provider {resolved.provider} speaks"
        f" {' and '.join(there)}",
        fix="choose another agent or provider for this model (AGENT_PROVIDER)",
    )

"""Which wire format leads from an agent to a provider. Pure; nothing is translated between wire formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from devops_bench.errors import ConfigError

# Provider -> the wire formats it serves, the one its own clients use first.
SERVES: Mapping[str, tuple[str, ...]] = {
    "google": ("google",),
    "vertex": ("google",),
    "anthropic": ("anthropic",),
    "openai": ("openai", "openai-responses"),
    "openai-responses": ("openai-responses", "openai"),
    "openai-compatible": ("openai", "openai-responses"),
    "scripted": ("google", "anthropic", "openai", "openai-responses"),
}


def wire_between(agent: str, wires: Sequence[str], provider: str, told: str | None = None) -> str:
    """The wire format that `agent` uses towards `provider`: the one that was `told` (AGENT_PROVIDER) if both have it,
    else the first of the agent's own that the provider serves.

    Raises ConfigError when there is none.
    """
    served = SERVES.get(provider, ())
    if told in wires and told in served:
        return str(told)
    for wire in wires:
        if wire in served:
            return wire
    able = sorted(name for name, formats in SERVES.items() if name != "scripted" and set(formats) & set(wires))
    raise ConfigError(
        f"agent {agent} cannot reach a model of provider {provider}",
        fix=f"choose a model of {', '.join(able)}, or another agent" if able else "choose another agent",
    )

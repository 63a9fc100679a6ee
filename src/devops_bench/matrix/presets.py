"""The one table of agent names: preset -> canonical agent key, and the grammar `<agent>[+mcp][+skills]`.

Whatever spelling a user chose, a configuration leaves here in one normal form (`gemini-cli+skills+mcp` becomes
`gcli+mcp+skills`), so that one setup has one run id. A word that is not known is an error, never a silent baseline.
An agent of another package (entry point `devops_bench.agents`) has its key as preset; packages are looked at only
when a name is not in this table.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import AgentConfig
from devops_bench.tasks.suggest import did_you_mean

# preset -> canonical agent key (`harness` of a row). The first preset of a key is its normal form.
PRESETS: dict[str, str] = {
    "oc": "openclaw",
    "gcli": "gemini",
    "cc": "claude",
    "agy": "antigravity",
    "codex": "codex",
    "api": "api",
    "noop": "noop",
    "scripted": "scripted",
    "opencode": "opencode",
    "kubectl-ai": "kubectl-ai",
    "hermes": "hermes",
    "adk": "adk",
}
# Other spellings of a canonical key, beside the key itself.
ALIASES: dict[str, str] = {"gemini-cli": "gemini", "claude-code": "claude"}
FEATURES: tuple[str, ...] = ("mcp", "skills")
DEFAULT_CONFIG = "oc+mcp+skills"

_PRESET_OF = {key: preset for preset, key in reversed(PRESETS.items())}
_KEY_OF = {**{key: key for key in PRESETS.values()}, **ALIASES, **PRESETS}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written, for error messages: a variable, a flag, or a file with a 1-based line."""

    where: str | None = None
    line: int | None = None


NOWHERE = Place()


def canonical_agent(name: str, place: Place = NOWHERE) -> str:
    """The canonical key of an agent given by preset, key or alias (`gcli`, `gemini`, `gemini-cli` -> `gemini`).

    Raises ConfigError with the nearest known name. Whether another package's agent can be loaded is not asked here.
    """
    return _KEY_OF.get(name) or _of_other_package(name, place)


def preset_of(key: str) -> str:
    """The normal form of a canonical key."""
    return _PRESET_OF.get(key, key)


def _of_other_package(name: str, place: Place) -> str:
    from devops_bench.agents import registry

    found = registry.plugin(name, place.where, place.line)
    if found is not None:
        return found.key
    others = registry.plugin_keys()
    # Every spelling may be meant; only the short ones are listed when none is near.
    spellings = {*_KEY_OF, *others}
    known = spellings if get_close_matches(name, spellings, n=1) else {*PRESETS, *others}
    raise ConfigError(f"unknown agent {name!r}", where=place.where, line=place.line, fix=did_you_mean(name, known))


def parse_config(text: str, place: Place = NOWHERE) -> tuple[AgentConfig, tuple[str, ...]]:
    """One value of the configuration axis, in normal form, and notes on what was repeated.

    Raises ConfigError for an unknown agent, an unknown feature or an empty part.
    """
    agent_name, *features = text.split("+")
    if not agent_name or not all(features):
        raise ConfigError(
            f"agent configuration {text!r} has an empty part",
            where=place.where,
            line=place.line,
            fix="write <agent>[+mcp][+skills], as oc+mcp+skills",
        )
    key = canonical_agent(agent_name, place)
    for feature in features:
        if feature not in FEATURES:
            raise ConfigError(
                f"unknown feature {feature!r} in agent configuration {text!r}",
                where=place.where,
                line=place.line,
                fix=did_you_mean(feature, FEATURES),
            )
    chosen = tuple(feature for feature in FEATURES if feature in features)
    preset = "+".join((preset_of(key), *chosen))
    config = AgentConfig(preset=preset, agent=key, mcp="mcp" in chosen, skills="skills" in chosen)
    repeated = len(features) > len(chosen)
    return config, (f"agent configuration {text!r} repeats a feature: read as {preset}",) if repeated else ()


def parse_configs(texts: Iterable[str], place: Place = NOWHERE) -> tuple[tuple[AgentConfig, ...], tuple[str, ...]]:
    """The whole axis in its order, each setup once, and notes on what was repeated."""
    found: dict[str, AgentConfig] = {}
    notes: list[str] = []
    for text in texts:
        config, own = parse_config(text, place)
        notes.extend(own)
        if config.preset in found:
            same = "" if text == config.preset else f" (written {text!r})"
            notes.append(f"agent configuration {config.preset}{same} is given more than once: runs once")
        found.setdefault(config.preset, config)
    return tuple(found.values()), tuple(notes)

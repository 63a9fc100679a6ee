"""Agent configurations: one normal form per setup, and no misspelling that runs something else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.agents import registry
from devops_bench.agents.install.packages import PACKAGES
from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import AgentConfig
from devops_bench.matrix.presets import ALIASES, FEATURES, PRESETS, Place, canonical_agent, parse_config, parse_configs


@pytest.mark.parametrize(
    ("preset", "key"),
    [
        ("oc", "openclaw"),
        ("gcli", "gemini"),
        ("cc", "claude"),
        ("agy", "antigravity"),
        ("codex", "codex"),
        ("api", "api"),
        ("noop", "noop"),
        ("scripted", "scripted"),
        ("opencode", "opencode"),
        ("kubectl-ai", "kubectl-ai"),
    ],
)
def test_each_preset_names_its_canonical_agent(preset: str, key: str) -> None:
    config, notes = parse_config(preset)
    assert config == AgentConfig(preset, key)
    assert notes == ()
    assert canonical_agent(key) == key


@pytest.mark.parametrize(
    ("text", "preset", "agent"),
    [
        ("gemini-cli+mcp", "gcli+mcp", "gemini"),
        ("claude-code", "cc", "claude"),
        ("claude+skills+mcp", "cc+mcp+skills", "claude"),
        ("openclaw", "oc", "openclaw"),
        ("hermes", "hermes", "hermes"),
        ("adk+mcp", "adk+mcp", "adk"),
    ],
)
def test_other_spellings_become_the_normal_form(text: str, preset: str, agent: str) -> None:
    config, _ = parse_config(text)
    assert (config.preset, config.agent) == (preset, agent)


def test_a_misspelt_feature_is_refused_instead_of_running_the_baseline() -> None:
    """`gcli+mpc` silently ran the baseline and was reported as something else."""
    with pytest.raises(ConfigError) as caught:
        parse_config("gcli+mpc", Place("MATRIX_AGENT_CONFIGS"))
    assert str(caught.value) == (
        "MATRIX_AGENT_CONFIGS: unknown feature 'mpc' in agent configuration 'gcli+mpc'; did you mean mcp?"
    )
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gcly", "unknown agent 'gcly'; did you mean gcli?"),
        ("GCLI", "unknown agent 'GCLI'; did you mean gcli?"),
        ("gcli+MCP", "unknown feature 'MCP' in agent configuration 'gcli+MCP'; did you mean mcp?"),
        ("gcli+", "agent configuration 'gcli+' has an empty part"),
        ("+mcp", "agent configuration '+mcp' has an empty part"),
        ("gcli++mcp", "agent configuration 'gcli++mcp' has an empty part"),
        ("zzz", "unknown agent 'zzz'; use one of: adk, agy"),
    ],
)
def test_a_word_that_is_not_known_is_one_line_with_advice(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_repeated_features_and_presets_run_once_and_are_said() -> None:
    configs, notes = parse_configs(["gcli+mcp+mcp", "gemini+mcp", "oc", "oc"])
    assert [config.preset for config in configs] == ["gcli+mcp", "oc"]
    assert notes == (
        "agent configuration 'gcli+mcp+mcp' repeats a feature: read as gcli+mcp",
        "agent configuration gcli+mcp (written 'gemini+mcp') is given more than once: runs once",
        "agent configuration oc is given more than once: runs once",
    )


def test_every_name_that_means_something_is_kept_from_other_packages() -> None:
    taken = {*registry.BUILT, *registry.ALIASES, *registry.RESERVED, *registry.KNOWN}
    assert {*PRESETS, *PRESETS.values(), *ALIASES, *PACKAGES} <= taken


@given(
    st.sampled_from([*PRESETS, *PRESETS.values(), *ALIASES]),
    st.lists(st.sampled_from(FEATURES), max_size=5),
)
def test_every_spelling_of_a_setup_has_one_normal_form(name: str, features: list[str]) -> None:
    config, _ = parse_config("+".join([name, *features]))
    assert config.agent == canonical_agent(name)
    assert config.augmentation == tuple(sorted(set(features)))
    assert parse_config(config.preset) == (config, ())

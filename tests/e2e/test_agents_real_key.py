"""From a script to a real provider by a key alone: the provider here is a server on loopback that insists on that key.

The agent, its sandbox and every file of the attempt never see it.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.models.server import ScriptedServer

from .agents_world import ANSWER, ensure_installed, run
from .world import World, assert_no_residue

pytestmark = pytest.mark.sandbox

KEY = "sk-the-real-one-4f1c9ad07e"
PEEK = "env; cat /proc/self/environ ~/.codex/config.toml ~/.gemini/settings.json 2>/dev/null | tr '\\0' '\\n'"
# Agent, model id, and the variables that its provider's own clients read: the key, the base URL (with its path).
PROVIDERS = {
    "codex": ("gpt-5.2-codex", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
    "claude": ("claude-sonnet-4-5", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", ""),
    "gemini": ("gemini-2.5-pro", "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", ""),
    "api": ("gpt-5.2", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1"),
}
QUICK = {"codex", "claude"}


def provider(folder: Path, model: str) -> ScriptedServer:
    folder.mkdir()
    turns = [{"shell": PEEK}, {"shell": ANSWER}, {"text": "The word is written."}]
    (folder / "real.json").write_text(json.dumps({"model": model, "turns": turns}))
    return ScriptedServer(folder, token=KEY)


@pytest.mark.parametrize(
    "agent", [pytest.param(agent, marks=[] if agent in QUICK else [pytest.mark.soak]) for agent in PROVIDERS]
)
def test_a_real_key_is_all_that_changes(world: World, agent: str) -> None:
    ensure_installed(agent)
    model, key, url, path = PROVIDERS[agent]
    with provider(world.root / "provider", model) as server:
        env = {key: KEY, url: f"{server.url}{path}", "AGENT_MODEL": model}
        ran = run(world, agent, world.task(), {"turns": [{"text": "not asked"}]}, **env)
        asked = [one for one in server.requests if one.turn is not None]
    assert ran.ended == ("scored", None, None), ran.explain()
    assert len(asked) >= 3 and all(one.status == 200 for one in asked)
    assert ran.environment["auth_mode"] == "api-key"
    assert ran.environment["model_gateway"]["requests"] == 3
    assert ran.outcome["cost_usd"] is None or ran.outcome["cost_usd"] > 0
    assert "PATH=" in str(ran.record["trajectory"][0]["result"]), "the agent did look at its environment"
    assert KEY not in ran.all_files() and KEY not in ran.said
    assert_no_residue(world)


def test_a_wrong_key_is_the_configuration_s_fault(world: World) -> None:
    ensure_installed("codex")
    model, key, url, path = PROVIDERS["codex"]
    with provider(world.root / "provider", model) as server:
        env = {key: "sk-another-key-00000", url: f"{server.url}{path}", "AGENT_MODEL": model}
        ran = run(world, "codex", world.task(), {"turns": [{"text": "not asked"}]}, **env)
    assert ran.ended == ("invalid", "config-auth", "model-auth"), ran.explain()
    assert "sk-another-key-00000" not in ran.all_files()


def test_an_agent_that_cannot_reach_the_model_is_told_before_anything_runs(world: World) -> None:
    ensure_installed("codex")
    env = {"ANTHROPIC_API_KEY": KEY, "AGENT_MODEL": "claude-sonnet-4-5", "BENCH_AGENT_TYPE": "codex"}
    done = world.call("combo", str(world.task()), **env)
    assert done.returncode == 2
    assert "agent codex cannot use model claude-sonnet-4-5" in done.stderr
    assert not (world.root / "results").exists()

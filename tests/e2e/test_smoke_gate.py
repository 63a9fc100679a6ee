"""The smoke gate of `run`, with a configuration whose smoke really fails: nothing is started, the reason is named."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from devops_bench.models.server import ScriptedServer

from .world import World, assert_no_residue, of

pytestmark = pytest.mark.sandbox
KEY, WRONG = "sk-the-real-one-4f1c9ad07e", "sk-an-old-one-93be02cd41"
MODEL = "gpt-5.2"


def provider(folder: Path) -> ScriptedServer:
    """A provider on loopback that insists on its key."""
    folder.mkdir()
    turns = [{"shell": "echo ready > answer.txt"}, {"text": "done"}]
    (folder / "real.json").write_text(json.dumps({"model": MODEL, "turns": turns}))
    return ScriptedServer(folder, token=KEY)


def flags(world: World, *more: str) -> list[str]:
    """Two configurations, one of which asks a model."""
    return ["run", *more, *world.matrix(world.task(), models=MODEL, configs="api scripted")]


def nothing_started(world: World) -> None:
    assert not world.runs.exists() or list(world.runs.iterdir()) == []
    assert_no_residue(world)


def test_a_refused_key_starts_nothing_and_no_smoke_goes_past_it(world: World) -> None:
    command = flags(world, "--smoke", "real")
    with provider(world.root / "provider") as server:
        env = {"OPENAI_API_KEY": WRONG, "OPENAI_BASE_URL": f"{server.url}/v1", "SKIP_MODEL_PREFLIGHT": "1"}
        env |= {"AGENT_PROVIDER": "openai", "TMPDIR": str(world.root)}
        refused = world.call(*command, timeout=300, **env)
        said = refused.stderr.splitlines()[-1]
        assert refused.returncode == 2, refused.stderr
        assert said.startswith("error: smoke: api is not what its label says: config-auth in agent"), refused.stderr
        assert "--no-smoke" in said and "records in" in said and WRONG not in refused.stdout + refused.stderr
        nothing_started(world)
        past = world.call("run", "--no-smoke", *command[3:], timeout=300, **env)
    (run_dir,) = world.runs.iterdir()
    ends = {event["rid"].rpartition("__")[2]: event for event in of(run_dir, "combo_finished")}
    assert past.returncode == 3 and set(ends) == {"api", "scripted"}, past.stderr
    assert (ends["api"]["state"], ends["api"]["class"]) == ("invalid", "config-auth")
    assert ends["scripted"]["state"] == "scored", "another configuration is not concerned"
    assert "smoke gate skipped (--no-smoke)" in " ".join(json.loads((run_dir / "plan.json").read_text())["notes"])


def test_a_provider_that_is_not_there_starts_nothing(world: World) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # taken, and nobody listens
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"http://127.0.0.1:{closed.getsockname()[1]}/v1"}
        env |= {"AGENT_PROVIDER": "openai", "SKIP_MODEL_PREFLIGHT": "1", "TMPDIR": str(world.root)}
        refused = world.call(*flags(world, "--smoke", "real"), timeout=400, BENCH_MODEL_WAIT_SEC="1", **env)
    assert refused.returncode == 2 and "error: smoke: api is not what its label says: infra in agent" in refused.stderr
    nothing_started(world)


def test_a_configuration_that_cannot_use_its_tools_fails_the_scripted_gate(world: World) -> None:
    refused = world.call(
        *flags(world, "--smoke", "scripted"), timeout=300, OPENAI_API_KEY=KEY, AGENT_PROVIDER="openai",
        SKIP_MODEL_PREFLIGHT="1", AGENT_ALLOWED_TOOLS="file", TMPDIR=str(world.root),
    )  # fmt: skip
    assert refused.returncode == 2 and "smoke: api is not what its label says" in refused.stderr, refused.stderr
    nothing_started(world)


def test_a_gate_that_holds_lets_the_run_go_on_and_says_so(world: World) -> None:
    with provider(world.root / "provider") as server:
        env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{server.url}/v1", "SKIP_MODEL_PREFLIGHT": "1"}
        ended = world.call(*flags(world, "--smoke", "scripted"), timeout=300, AGENT_PROVIDER="openai", **env)
    (run_dir,) = world.runs.iterdir()
    assert ended.returncode == 0, ended.stderr
    assert "smoke gate passed (scripted): api" in " ".join(json.loads((run_dir / "plan.json").read_text())["notes"])

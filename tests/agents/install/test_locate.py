"""AGENT_TARGET and PATH in all their forms."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.agents import install
from devops_bench.agents.install import node
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Sandbox, SandboxMode, SandboxSpec

Find = Callable[..., "install.Installation | None"]


@pytest.fixture
def find(tmp_path: Path) -> Find:
    """find(target, key): with a cache of its own and the host's PATH."""

    def ask(target: Path | str | None, key: str = "gemini", path: str | None = None):
        env = {"PATH": path or os.environ["PATH"], "HOME": str(tmp_path), "DEVOPS_BENCH_CACHE": str(tmp_path / "c")}
        return install.find(key, {**env, **({"AGENT_TARGET": str(target)} if target else {})})

    return ask


def script(path: Path, text: str, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)
    return path


def run_inside(mode: SandboxMode, tmp_path: Path, found: install.Installation, *args: str) -> str:
    spec = SandboxSpec(tmp_path / "h", tmp_path / "w", binds=found.binds)
    with Sandbox(mode, spec) as box:
        done = box.run([*found.argv, *args], timeout=60)
    assert done.exit == 0, done.text()
    return done.text()


def test_a_shell_script(find: Find, mode: SandboxMode, tmp_path: Path) -> None:
    named = script(tmp_path / "bin" / "my-agent", "#!/bin/sh\necho my-agent 4.5.6-rc.1; echo here $0 $*\n")
    found = find(named)
    assert found is not None and (found.source, found.version) == ("target", "4.5.6-rc.1")
    assert found.argv == ("/opt/agent/my-agent",) and found.host_argv == (str(named),)
    assert "here /opt/agent/my-agent a b" in run_inside(mode, tmp_path, found, "a", "b")


def test_a_native_binary(find: Find, mode: SandboxMode, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    named = Path(shutil.copy(shutil.which("env") or "/usr/bin/env", tmp_path / "bin" / "agent-binary"))
    found = find(named)
    assert found is not None and found.version[0].isdigit()
    assert "HOME=/home/agent" in run_inside(mode, tmp_path, found)


def test_a_node_script_with_its_packages_through_a_link(find: Find, mode: SandboxMode, tmp_path: Path) -> None:
    modules = tmp_path / "lib" / "node_modules"
    script(
        modules / "@maker" / "cli" / "bin" / "run", "#!/usr/bin/env node\nconsole.log(require('helper'), __filename)\n"
    )
    manifest = {"name": "@maker/cli", "version": "7.8.9", "engines": {"node": ">=18"}}
    (modules / "@maker" / "cli" / "package.json").write_text(json.dumps(manifest))
    script(modules / "helper" / "index.js", "module.exports = 'helped'\n", 0o644)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "cli").symlink_to("../lib/node_modules/@maker/cli/bin/run")
    found = find(tmp_path / "bin" / "cli")
    assert found is not None and found.version == "7.8.9"
    assert found.argv == ("/opt/node/bin/node", "/opt/agent/node_modules/@maker/cli/bin/run")
    said = run_inside(mode, tmp_path, found)
    assert "helped /opt/agent/node_modules/@maker/cli/bin/run" in said and str(tmp_path) not in said


def test_a_bare_js_file_needs_no_execute_bit(find: Find, mode: SandboxMode, tmp_path: Path) -> None:
    found = find(script(tmp_path / "x" / "agent.mjs", "console.log('agent 3.2.1')\n", 0o644))
    assert found is not None and found.version == "3.2.1"
    assert found.argv == ("/opt/node/bin/node", "/opt/agent/agent.mjs")
    assert "agent 3.2.1" in run_inside(mode, tmp_path, found)


def test_a_program_on_path_comes_last(find: Find, tmp_path: Path) -> None:
    script(tmp_path / "p" / "kubectl-ai", "#!/bin/sh\necho version: 0.0.9\n")
    found = find(None, "kubectl-ai", path=f"{tmp_path / 'p'}:{os.environ['PATH']}")
    assert found is not None and (found.source, found.version) == ("path", "0.0.9")
    assert find(None, "kubectl-ai", path=str(tmp_path / "empty")) is None


def test_a_version_is_asked_once_for_as_long_as_the_file_stays(find: Find, tmp_path: Path) -> None:
    count = tmp_path / "count"
    named = script(tmp_path / "agent", "#!/bin/sh\necho 1.0.0\n")
    assert [find(named).version for _ in range(2)] == ["1.0.0", "1.0.0"]  # type: ignore[union-attr]
    notes = list((tmp_path / "c" / "agents" / "versions").iterdir())
    assert len(notes) == 1 and not count.exists()
    notes[0].write_text(json.dumps({"version": "9.9.9"}))
    assert find(named).version == "9.9.9", "it was not started again"  # type: ignore[union-attr]
    script(named, "#!/bin/sh\necho 2.0.0 ; exit 0\n")
    assert find(named).version == "2.0.0"  # type: ignore[union-attr]


def test_a_program_that_tells_no_version_is_unknown_and_asked_again(find: Find, tmp_path: Path) -> None:
    named = script(tmp_path / "agent", "#!/bin/sh\nexit 1\n")
    assert find(named).version == "unknown"  # type: ignore[union-attr]
    assert not (tmp_path / "c" / "agents" / "versions").exists()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda path: path, "is not there: it must be the agent's program"),
        (lambda path: path.mkdir() or path, "is a folder: it must be the agent's program"),
        (lambda path: script(path, "#!/bin/sh\n", 0o644), "is not executable"),
        (lambda path: script(path, "#!/home/me/venv/bin/python\n"), "which the sandbox does not show"),
        (lambda path: path.symlink_to("nowhere") or path, "is not there"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_line(find: Find, tmp_path: Path, make, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        find(make(tmp_path / "agent"))
    message = error.value.message()
    assert told in message and f"AGENT_TARGET={tmp_path / 'agent'}" in message
    assert "correct or unset AGENT_TARGET" in message or "needs nothing outside" in message


def test_no_node_that_fits_is_one_line(find: Find, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node, "_wheel", lambda: None)
    named = script(tmp_path / "p" / "agent.js", "1\n")
    (tmp_path / "p" / "package.json").write_text('{"name": "a", "version": "1.0.0", "engines": {"node": ">=99"}}')
    with pytest.raises(ConfigError, match=r"needs Node >=99; found .*; install Node.js, or run: pip install"):
        find(named)
    with pytest.raises(ConfigError, match="needs Node >=99; found none"):
        find(named, path=str(tmp_path / "empty"))


def test_a_target_never_replaces_a_server(find: Find, tmp_path: Path) -> None:
    assert find(script(tmp_path / "agent", "#!/bin/sh\n"), "kubernetes-mcp-server", path=str(tmp_path)) is None

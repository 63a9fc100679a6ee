"""Real agent CLIs in real combos: the combo command with a scripted model, and what it left, read from its files."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devops_bench.agents import install
from tests.gateway.mcp_parts import SERVER

from .world import World

CLIS = ("claude", "codex", "gemini", "openclaw", "opencode")
PRESETS = {"claude": "cc", "codex": "codex", "gemini": "gcli", "openclaw": "oc", "opencode": "opencode", "api": "api"}
GRANTS = ("", "+mcp", "+skills", "+mcp+skills")
# Seconds more for an agent that takes 23 CPU-seconds to start; a deadline is no timing test.
PATIENCE = {"openclaw": 600.0}

SCALE_TASK = """\
task_id: {name}
name: {name}
infrastructure: {{deployer: noop, provider: kwok}}
prompt: The deployment web in namespace shop has too few replicas. Give it three{asked}.
verification_spec:
  - name: scaled
    check: {{type: scaling_complete, deployment: web, min_replicas: 3, namespace: shop}}
{check}  - name: same-object
    role: safeguard
    severity: catastrophic
    check: {{type: identity_preserved, kind: Deployment, resource_name: web, namespace: shop}}
"""
NOTED = """\
  - name: noted
    check: {type: file, file: note.txt, op: contains, value: three}
"""
SHOP = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
"""
SKILL = """\
---
name: {name}
description: How replicas are raised in this team. Read it before you scale anything.
---
Scale with kubectl, then write down the number.
"""
ANSWER = "echo ready > answer.txt"
# A call of the test server.
ECHO = {"mcp": {"tool": "echo", "args": {"text": "one thing, two things"}}}


def ensure_installed(*keys: str) -> None:
    """Install what is missing, from the cache or the registry: nothing is skipped silently. Fails with one line."""
    for key in keys:
        if key != "api" and install.find(key) is None:
            install.install(key)


def scale_task(world: World, name: str = "scale-up", *, noted: bool = True, solution: str | None = None) -> Path:
    """A small task on the embedded cluster. `noted`: a file is asked for too; `solution`: the script that solves it."""
    folder = world.tasks / name
    (folder / "setup").mkdir(parents=True)
    asked, check = (", and note it in note.txt", NOTED) if noted else ("", "")
    (folder / "task.yaml").write_text(SCALE_TASK.format(name=name, asked=asked, check=check))
    (folder / "setup" / "10-shop.yaml").write_text(SHOP)
    if solution is not None:
        (folder / "solution").mkdir()
        script = folder / "solution" / "solve.sh"
        script.write_text(solution)
        script.chmod(0o755)
    return folder


def skill(world: World, name: str = "raise-replicas") -> Path:
    """A folder with one skill."""
    folder = world.root / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL.format(name=name))
    return folder.parent


def mcp_server(world: World, *flags: str) -> dict[str, str]:
    """Settings that make the test server the agent's, under a path of this world, by which its processes are known."""
    path = world.root / "server.py"
    shutil.copyfile(SERVER, path)
    return {"AGENT_MCP_SERVER": " ".join(["/usr/bin/env", "python3", str(path), *flags]), "AGENT_MCP_BINDS": str(path)}


@dataclass
class Ran:
    """One combo that has ended."""

    code: int
    directory: Path
    said: str
    record: Mapping[str, Any] = field(default_factory=dict)
    told: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    environment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> str | None:
        """The agent's end."""
        return self.told["end"]

    @property
    def ended(self) -> tuple[str, str | None, str | None]:
        """State, class, signature."""
        return self.outcome["state"], self.outcome["class"], self.outcome["signature"]

    def lines(self, name: str) -> list[dict[str, Any]]:
        """A JSON-lines file of the attempt."""
        path = self.directory / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def all_files(self) -> str:
        """Everything that was written, as one text."""
        return "\n".join(
            path.read_text(errors="replace") for path in sorted(self.directory.rglob("*")) if path.is_file()
        )

    def explain(self) -> str:
        """For a failed assertion: what the files say."""
        tail = (self.directory / "run.log").read_text(errors="replace")[-1500:]
        return f"{self.outcome}\n{dict(self.told)}\nerrors {self.record.get('errors')}\n{tail}"


def scenario(world: World, document: Mapping[str, Any], name: str = "act") -> str:
    """A scenario file; the model's id."""
    folder = world.root / "scenarios"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps(document))
    return f"scripted:{name}"


def run(
    world: World,
    agent: str,
    task: Path,
    document: Mapping[str, Any],
    *,
    grants: str = "",
    meanwhile: Callable[[int], None] | None = None,
    **env: str,
) -> Ran:
    """Run one combo with the real program. `grants` as in a configuration's name; `meanwhile` gets the pid."""
    model = scenario(world, document)
    results = world.root / "results"
    settings = {
        "AGENT_MODEL": model,
        "BENCH_SCENARIOS_DIR": str(world.root / "scenarios"),
        "BENCH_AGENT_TYPE": agent,
        "BENCH_USE_MCP": "1" if "+mcp" in grants else "0",
        "AGENT_SKILLS_PATHS": str(skill(world)) if "+skills" in grants else "",
        "RESULTS_ROOT": str(results),
        "AGENT_TIMEOUT_SEC": "900" if agent in PATIENCE else "300",
        **env,
    }
    command = [sys.executable, "-m", "devops_bench", str(task)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=world.environment(**settings),
        cwd=world.root,
    ) as program:
        if meanwhile is not None:
            meanwhile(program.pid)
        said, _ = program.communicate(timeout=1500)
    folders = sorted(results.glob("run_*")) if results.is_dir() else []
    assert len(folders) == 1, said
    directory = folders[0]

    def read(name: str) -> Any:
        path = directory / name
        return json.loads(path.read_bytes()) if path.exists() else {}

    records = read("results.json") or [{}]
    return Ran(
        program.returncode,
        directory,
        said,
        records[0],
        read("attempt.json"),
        read("outcome.json"),
        read("environment.json"),
    )

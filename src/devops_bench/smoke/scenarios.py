"""What the scripted model does in a smoke test: one call of everything that the configuration was granted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devops_bench.matrix.plan import AgentConfig
from devops_bench.models.providers import SCRIPTED_PREFIX

SKILL = "smoke-check"
SERVER = "k8s"
# Whatever the server: something that reads. Names that match none leave the turn without a tool, which is told.
READS = "namespaces_list|*namespaces*list*|*list*|*get*|*read*|*search*|*status*|*view*"
WORKSPACE_STEP = "printf 'ready\\n' > answer.txt && cat answer.txt"
CLUSTER_STEP = "kubectl -n default create configmap smoke --from-literal=answer=ready"


def name_of(config: AgentConfig) -> str:
    """The scenario of a configuration, by its grants."""
    return "-".join(("smoke", *(("mcp",) if config.mcp else ()), *(("skills",) if config.skills else ())))


def model_of(config: AgentConfig) -> str:
    """Its model id."""
    return f"{SCRIPTED_PREFIX}{name_of(config)}"


def turns(config: AgentConfig, step: str) -> list[dict[str, Any]]:
    """Skill, MCP, shell, last word; each in a turn of its own."""
    found: list[dict[str, Any]] = []
    if config.skills:
        found.append({"text": "First the skill.", "skill": SKILL})
    if config.mcp:
        found.append({"text": "Now the server's tool.", "mcp": {"tool": READS, "server": SERVER}})
    return [*found, {"text": "Now the shell.", "shell": step}, {"text": "done"}]


def write(folder: Path, configs: tuple[AgentConfig, ...]) -> None:
    """Write the scenario files of `configs` into `folder`."""
    for config in configs:
        document = {
            "sections": [{"when": "kubectl", "turns": turns(config, CLUSTER_STEP)}],
            "turns": turns(config, WORKSPACE_STEP),
        }
        (folder / f"{name_of(config)}.json").write_text(json.dumps(document, indent=1) + "\n")

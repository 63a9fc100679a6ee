"""The smoke combos of a set of configurations: one each, on the embedded cluster for `+mcp`, without a cluster else."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from devops_bench import agents
from devops_bench.matrix import ids
from devops_bench.matrix.expand import plan_of
from devops_bench.matrix.plan import NO_MODEL, AgentConfig, Plan, PlanOptions
from devops_bench.matrix.select import select_tasks
from devops_bench.matrix.spec import MatrixSpec, TaskRef
from devops_bench.smoke import scenarios

DATA = Path(__file__).resolve().parent / "data"
WORKSPACE, CLUSTER = "smoke-workspace", "smoke-cluster"


@dataclass(frozen=True, slots=True)
class SmokeOptions:
    """Seconds; `model` None: the scripted model."""

    model: str | None = None
    timeout_sec: float = 120.0
    max_turns: int = 12


def asks_model(config: AgentConfig) -> bool:
    """Whether a model is behind it. ConfigError when its agent, of another package, cannot be loaded."""
    return config.agent not in NO_MODEL and bool(agents.get(config.agent).wires)


def plan(configs: Sequence[AgentConfig], options: PlanOptions, smoke: SmokeOptions, work: Path) -> Plan:
    """The plan; scenario files are written into `work`. Raises ConfigError when no configuration asks a model."""
    # A smoke test of an agent that asks no model would say nothing.
    chosen = tuple(config for config in configs if asks_model(config))
    scenarios.write(work, chosen)
    merged = replace(
        options,
        agent_timeout_sec=smoke.timeout_sec,
        agent_max_turns=smoke.max_turns,
        skills_paths=(*options.skills_paths, str(DATA / "skills")),
        scenarios_dir=str(work) if smoke.model is None else options.scenarios_dir,
        # The scripted model speaks whatever the agent does.
        agent_provider=options.agent_provider if smoke.model is not None else None,
        judge_model=None,
        judge_provider=None,
        no_teardown=False,
        results_dir=None,
    )
    parts = [_one(config, merged, smoke) for config in chosen]
    return Plan(
        stamp="",
        combos=tuple(combo for part in parts for combo in part.combos),
        options=merged,
        created=parts[0].created if parts else "",
        task_hashes={key: value for part in parts for key, value in part.task_hashes.items()},
    )


def _one(config: AgentConfig, options: PlanOptions, smoke: SmokeOptions) -> Plan:
    """The plan of one configuration; its run id is its own, so that two smoke tests on one host do not meet."""
    task = DATA / "tasks" / (CLUSTER if config.mcp else WORKSPACE)
    tasks, _notes = select_tasks((TaskRef(str(task), DATA),))
    model = smoke.model or scenarios.model_of(config)
    found = plan_of(MatrixSpec(tasks=(), models=(model,), configs=(config,), options=options), tasks)
    (combo,) = found.combos
    rid = f"{combo.rid}-{secrets.token_hex(4)}"
    token = ids.token(rid)
    return replace(found, combos=(replace(combo, rid=rid, token=token, cluster_name=ids.cluster_name(token, "smoke")),))

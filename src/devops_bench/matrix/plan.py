"""The plan of a run: every combo with its identity, written once as `plan.json` before anything starts.

Made by `matrix.expand`; read by the supervisor, the combo process, `status` and `report`. Plain frozen dataclasses with
an explicit JSON form, so that a plan of 10,000 combos loads in well under a second.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.paths import atomic_write

PLAN_VERSION = 1

# Canonical keys of the agents that ask no model.
NO_MODEL = frozenset({"noop", "scripted"})


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """One value of the configuration axis: `preset` in normal form (`gcli+mcp`), `agent` its key (`gemini`)."""

    preset: str
    agent: str
    mcp: bool = False
    skills: bool = False

    @property
    def augmentation(self) -> tuple[str, ...]:
        """The contract's tokens, sorted."""
        return tuple(name for name, on in (("mcp", self.mcp), ("skills", self.skills)) if on)


@dataclass(frozen=True, slots=True)
class Combo:
    """One cell of the matrix. `token` is `c` + 7 hex digits of the rid; `cluster_name` is `<token>-<base>`.

    `task_file` is the absolute path of task.yaml, `task_key` its folder's unique id in the plan (as
    `common/opa-remediation`). `provider` is the cluster provider after overrides. `repeat` counts from 0.
    """

    rid: str
    token: str
    cluster_name: str
    task_file: str
    task_key: str
    task_name: str
    provider: str
    model: str
    config: AgentConfig
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What holds for all combos of a run. `env` holds non-secret variables passed on to combos."""

    max_parallel: int
    agent_timeout_sec: float
    agent_max_turns: int
    sandbox: bool = True
    project: str | None = None
    location: str = "us-central1-a"
    agent_provider: str | None = None
    agent_extra_flags: tuple[str, ...] = ()
    mcp_server: tuple[str, ...] = ()
    skills_paths: tuple[str, ...] = ()
    scenarios_dir: str | None = None
    judge_model: str | None = None
    judge_provider: str | None = None
    vertex: bool = False
    no_teardown: bool = False
    results_dir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """A whole run, before it starts. `task_hashes` maps task_key to the content hash of its folder."""

    stamp: str
    combos: tuple[Combo, ...]
    options: PlanOptions
    created: str
    task_hashes: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    retry_of: str | None = None

    def to_json(self) -> str:
        """Stable JSON text."""
        return json.dumps({"version": PLAN_VERSION, **asdict(self)}, indent=1, sort_keys=True) + "\n"

    def write(self, run_dir: Path) -> None:
        """Write `plan.json` durably into the run folder."""
        atomic_write(run_dir / "plan.json", self.to_json())

    @classmethod
    def read(cls, run_dir: Path) -> Plan:
        """Read `plan.json`. Raises ConfigError with the file's name when it is missing, damaged or too new."""
        path = run_dir / "plan.json"
        try:
            data = json.loads(path.read_text())
        except FileNotFoundError:
            raise ConfigError("no plan.json: this is not a run folder", where=run_dir, fix="check the stamp") from None
        except (OSError, ValueError) as error:
            raise ConfigError(f"cannot be read: {error}", where=path, fix="restore it or launch a new run") from None
        return cls.from_data(data, path)

    @classmethod
    def from_data(cls, data: Any, where: Path) -> Plan:
        """Build from decoded JSON; ConfigError names `where`."""
        try:
            if data["version"] != PLAN_VERSION:
                raise ConfigError(
                    f"plan version {data['version']!r} is not known", where=where, fix="use a matching devops-bench"
                )
            options = dict(data["options"])
            for key in ("agent_extra_flags", "mcp_server", "skills_paths"):
                options[key] = tuple(options[key])
            combos = tuple(Combo(**{**item, "config": AgentConfig(**item["config"])}) for item in data["combos"])
            return cls(
                stamp=data["stamp"],
                combos=combos,
                options=PlanOptions(**options),
                created=data["created"],
                task_hashes=data["task_hashes"],
                notes=tuple(data["notes"]),
                retry_of=data["retry_of"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigError(f"damaged plan: {error!r}", where=where, fix="restore it or launch a new run") from None

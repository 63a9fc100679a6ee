"""The types of a task: what `task.yaml` and `cluster.yaml` may hold, after loading.

Pydantic at the border (files): strict types, unknown keys refused, frozen. `tasks.loader` builds these from YAML with
file:line errors; nobody else constructs a TaskSpec from raw data. Formats are those of docs/reference/task.md.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from devops_bench.tasks.checks import Check, Strict
from devops_bench.tasks.faults import Fault


class Role(StrEnum):
    """What an entry means: an objective is what was asked for, a safeguard is what must not be harmed."""

    OBJECTIVE = "objective"
    SAFEGUARD = "safeguard"


class Severity(StrEnum):
    """How bad a broken safeguard is; objectives have none."""

    RECOVERABLE = "recoverable"
    CATASTROPHIC = "catastrophic"


class Mode(StrEnum):
    """How an entry is evaluated over time: until true, once, or true throughout."""

    CONVERGE = "converge"
    ASSERT = "assert"
    HOLD = "hold"


class Entry(Strict):
    """One verification entry. `mode` None means the role's default: objectives converge, safeguards assert."""

    name: str
    role: Role = Role.OBJECTIVE
    severity: Severity | None = None
    mode: Mode | None = None
    weight: float = Field(default=1.0, gt=0, strict=False)
    check: Check
    title: str | None = None
    description: str | None = None
    group: str | None = None
    failure_hint: str | None = None
    hold_poll_interval_sec: float | None = Field(default=None, gt=0, strict=False)
    hold_window_sec: float | None = Field(default=None, gt=0, strict=False)

    @property
    def effective_mode(self) -> Mode:
        """The mode after defaults."""
        if self.mode is not None:
            return self.mode
        return Mode.CONVERGE if self.role is Role.OBJECTIVE else Mode.ASSERT

    @property
    def effective_severity(self) -> Severity | None:
        """Safeguards default to recoverable; objectives have no severity."""
        if self.role is Role.OBJECTIVE:
            return None
        return self.severity or Severity.RECOVERABLE


class ParseFailure(Strict):
    """An entry that could not be read: it counts as an unmet objective and is reported, never dropped."""

    name: str
    reason: str
    line: int | None = None


class Infrastructure(Strict):
    """What the task needs to run on."""

    deployer: str = "noop"
    provider: str = "kwok"
    stack: str | None = None
    variables: dict[str, Any] = Field(default_factory=dict)
    teardown: bool = True


class DocConstraint(Strict):
    text: str
    critical: bool = False


class Documentation(Strict):
    doc_name: str
    url: str | None = None
    constraints: list[DocConstraint] = Field(default_factory=list)


class CheckGroup(Strict):
    title: str
    description: str = ""


class Category(StrEnum):
    DEPLOY = "deploy"
    REMEDIATE = "remediate"
    SCALE = "scale"
    SECURE = "secure"
    INCIDENT = "incident"
    MIGRATE = "migrate"
    GENERATE = "generate"


class ChaosTrigger(Strict):
    """When a chaos action starts: `delay_seconds` after the agent did."""

    type: Literal["time"]
    delay_seconds: float = Field(default=0, ge=0, strict=False)


class ChaosTarget(Strict):
    """Where the load goes. `duration` is text such as `60s`, or seconds."""

    service_url: str
    qps: int = Field(default=10, gt=0)
    duration: str | int = 60
    concurrency: int = Field(default=1, gt=0)


class ChaosAction(Strict):
    type: Literal["generate_load"]
    target: ChaosTarget


class ChaosEntry(Strict):
    """One chaos event; `verify` is the name of a verification entry that must survive it."""

    name: str
    trigger: ChaosTrigger
    action: ChaosAction
    verify: str | None = None


class NodeGroup(Strict):
    """Nodes of one shape in `cluster.yaml`; `count` > 1 names them name-0, name-1 ..."""

    name: str
    count: int = Field(default=1, ge=1, le=200)
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)
    taints: list[dict[str, str]] = Field(default_factory=list)
    capacity: dict[str, str] = Field(default_factory=dict)
    allocatable: dict[str, str] = Field(default_factory=dict)
    zone: str | None = None


class ClusterNeeds(Strict):
    """`cluster.yaml` beside task.yaml: nodes, extra kwok stages, the agent's rights.

    `agent_role` is a list of RBAC rules (with optional `namespaces`); None means edit in all namespaces but kube-*, and
    read cluster-wide. `stages` are files relative to the task folder; `stages/*.yaml` is read without being named.
    After loading the list holds the absolute paths of all of them, in order. `faults` are taken from the library.
    """

    nodes: list[NodeGroup] = Field(default_factory=list)
    stages: list[str] = Field(default_factory=list)
    faults: list[Fault] = Field(default_factory=list)
    agent_role: list[dict[str, Any]] | None = None

    @property
    def need_own_plane(self) -> bool:
        """Whether only a control plane that was booted for it will do: it has nodes, stages or faults of its own."""
        return bool(self.nodes or self.stages or self.faults)


class TaskSpec(Strict):
    """A loaded task, placeholders still in place. `folder` is absolute; `key` is its path below the catalogue root."""

    folder: Path
    key: str
    task_id: str
    name: str
    prompt: str
    expected_output: str = ""
    infrastructure: Infrastructure = Field(default_factory=Infrastructure)
    verification_spec: list[Entry] = Field(default_factory=list)
    parse_failures: list[ParseFailure] = Field(default_factory=list)
    chaos_spec: list[dict[str, Any]] = Field(default_factory=list)
    documentation: list[Documentation] = Field(default_factory=list)
    retrieval_context: list[str] = Field(default_factory=list)
    recoverable_safety: list[str] = Field(default_factory=list)
    validated: bool = False
    title: str = ""
    summary: str = ""
    category: Category | None = None
    tags: list[str] = Field(default_factory=list)
    check_groups: dict[str, CheckGroup] = Field(default_factory=dict)
    agent_pod_security: Literal["baseline", "privileged"] = "baseline"
    agent_quota_writes: bool = True
    requires_unsandboxed: bool = False
    difficulty: Literal["easy", "medium", "hard"] | None = None
    cluster: ClusterNeeds = Field(default_factory=ClusterNeeds)

    @property
    def provider(self) -> str:
        """Which cluster provider serves it: `none`, `kwok`, `kind`, `gke` or `existing`."""
        return self.infrastructure.provider

"""The types of a task: what `task.yaml` and `cluster.yaml` may hold, after loading.

Pydantic at the border (files): strict types, unknown keys refused, frozen. `tasks.loader` builds these from YAML with
file:line errors; nobody else constructs a TaskSpec from raw data. Formats are those of docs/reference/task.md.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from devops_bench.tasks.faults import Fault

DEFAULT_UID_KEY = "devops-bench.io/original-uid"
DEFAULT_CREATED_KEY = "devops-bench.io/original-creation-timestamp"


class Strict(BaseModel):
    """Base of everything read from a task file: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


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


class Op(StrEnum):
    """Comparison operators of a check."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    CONTAINS = "contains"
    MATCHES = "matches"
    EXISTS = "exists"
    ABSENT = "absent"


class Across(StrEnum):
    """How several matches of one path reduce to a verdict."""

    EVERY = "every"
    NONE = "none"


class CheckBase(Strict):
    """Common to all checks: an optional name for the report."""

    name: str | None = None


class ResourceProperty(CheckBase):
    """A field of one or more objects. Neither name nor selector: all objects of the kind."""

    type: Literal["resource_property"]
    kind: str
    resource_name: str | None = None
    selector: str | None = None
    namespace: str | None = None
    path: str | None = None
    op: Op = Op.EXISTS
    value: Any = None
    across_matches: Across | None = None


class PodHealthy(CheckBase):
    """All pods of a selector are Ready; zero pods fail."""

    type: Literal["pod_healthy"]
    selector: str
    namespace: str | None = None


class ScalingComplete(CheckBase):
    """A Deployment's ready replicas are within bounds and its rollout is complete."""

    type: Literal["scaling_complete"]
    deployment: str
    min_replicas: int = 1
    max_replicas: int | None = None
    namespace: str | None = None


class IdentityPreserved(CheckBase):
    """The object is the one that setup made (UID, creation time), not a recreated one."""

    type: Literal["identity_preserved"]
    kind: str
    resource_name: str
    namespace: str | None = None
    uid_annotation_key: str = DEFAULT_UID_KEY
    creation_timestamp_annotation_key: str = DEFAULT_CREATED_KEY


class GitRepoSync(CheckBase):
    """A field of a YAML file at a ref of a git repository (bare or not), relative to the agent's home or workspace."""

    type: Literal["git_repo_sync"]
    repo_path: str
    ref: str = "HEAD"
    file: str | None = None
    path: str | None = None
    op: Op = Op.EXISTS
    value: Any = None
    across_matches: Across | None = None
    require_new_commit: bool = False


class HttpProbe(CheckBase):
    """An HTTP request from inside the cluster (kind, gke)."""

    type: Literal["http_probe"]
    url: str
    expect_status: int = 200
    expect_body_matches: str | None = None
    namespace: str | None = None
    probe_timeout: float = 10
    host: str | None = None


class PodExec(CheckBase):
    """A command's output inside a container (kind, gke)."""

    type: Literal["pod_exec"]
    resource_name: str | None = None
    selector: str | None = None
    namespace: str | None = None
    container: str | None = None
    command: list[str]
    op: Op = Op.CONTAINS
    value: Any = None


class CloudResourceProperty(CheckBase):
    """A field of a read-only cloud CLI reply."""

    type: Literal["cloud_resource_property"]
    provider: Literal["gcp"] = "gcp"
    args: list[str]
    path: str | None = None
    op: Op = Op.EXISTS
    value: Any = None
    across_matches: Across | None = None


class AuditCheck(CheckBase):
    """How many recorded requests of the agent match: the API server's own record, not the transcript.

    Only granted requests count, unless `include_denied`.
    """

    type: Literal["audit"]
    verbs: list[str] = Field(default_factory=list)
    resources: list[str] = Field(default_factory=list)
    namespaces: list[str] = Field(default_factory=list)
    names: list[str] = Field(default_factory=list)
    min_count: int = 0
    max_count: int | None = None
    include_denied: bool = False


class FileCheck(CheckBase):
    """Content or structure of a file in the workspace. `path` is a JSONPath into YAML or JSON; without it: the text."""

    type: Literal["file"]
    file: str
    path: str | None = None
    op: Op = Op.EXISTS
    value: Any = None
    across_matches: Across | None = None


class CommandCheck(CheckBase):
    """A command run in the sandbox with the workspace mounted read-only (a scratch copy is writable)."""

    type: Literal["command"]
    command: list[str]
    expect_exit: int = 0
    op: Op | None = None
    value: Any = None
    timeout_sec: float = 30


class DryRun(CheckBase):
    """A server-side dry run of `manifest`: must be allowed or denied, optionally with a message. Changes nothing."""

    type: Literal["dry_run"]
    manifest: str
    namespace: str | None = None
    as_user: str | None = None
    allowed: bool = True
    message_matches: str | None = None


class Group(CheckBase):
    """A combination of checks."""

    type: Literal["sequence", "parallel", "all", "any", "none"]
    checks: list[Check] = Field(min_length=1)


Check = Annotated[
    ResourceProperty
    | PodHealthy
    | ScalingComplete
    | IdentityPreserved
    | GitRepoSync
    | HttpProbe
    | PodExec
    | CloudResourceProperty
    | AuditCheck
    | FileCheck
    | CommandCheck
    | DryRun
    | Group,
    Field(discriminator="type"),
]
Group.model_rebuild()

CHECK_TYPES: dict[str, type[CheckBase]] = {
    "resource_property": ResourceProperty,
    "pod_healthy": PodHealthy,
    "scaling_complete": ScalingComplete,
    "identity_preserved": IdentityPreserved,
    "git_repo_sync": GitRepoSync,
    "http_probe": HttpProbe,
    "pod_exec": PodExec,
    "cloud_resource_property": CloudResourceProperty,
    "audit": AuditCheck,
    "file": FileCheck,
    "command": CommandCheck,
    "dry_run": DryRun,
    "sequence": Group,
    "parallel": Group,
    "all": Group,
    "any": Group,
    "none": Group,
}


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

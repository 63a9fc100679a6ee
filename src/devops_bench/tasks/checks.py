"""The types of single checks: what a `check` in task.yaml may hold. Formats are those of docs/reference/task.md.

Pydantic at the border: strict types, unknown keys refused, frozen. `tasks.spec` has the entries around them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

DEFAULT_UID_KEY = "devops-bench.io/original-uid"
DEFAULT_CREATED_KEY = "devops-bench.io/original-creation-timestamp"


class Strict(BaseModel):
    """Base of everything read from a task file: strict types, no unknown keys, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, populate_by_name=True)


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
    """A command run in the sandbox, on a scratch copy of the workspace.

    `path` is a JSONPath into its output, read as JSON; without it `op` is about the text.
    """

    type: Literal["command"]
    command: list[str]
    expect_exit: int = 0
    path: str | None = None
    op: Op | None = None
    value: Any = None
    across_matches: Across | None = None
    timeout_sec: float = 30


class Template(Strict):
    """A workload (Deployment, StatefulSet, DaemonSet, ReplicaSet, Job, CronJob) whose next pod is asked about."""

    kind: str
    resource_name: str


class DryRun(CheckBase):
    """A server-side dry run: must be allowed or denied, optionally with a message. Changes nothing.

    Of `manifest`, or of a pod of the template that `template_of` has now: would it come back? `operation: apply` asks
    about a change to an object that may exist.
    """

    type: Literal["dry_run"]
    manifest: str | None = None
    template_of: Template | None = None
    operation: Literal["create", "apply"] = "create"
    namespace: str | None = None
    as_user: str | None = None
    allowed: bool = True
    message_matches: str | None = None


class Place(Strict):
    """One end of a connection: pods of a namespace (all, by selector, or imagined by their labels), a Service of it, or
    an address outside."""

    namespace: str | None = None
    selector: str | None = None
    labels: dict[str, str] | None = None
    service: str | None = None
    address: str | None = None


class Reachable(CheckBase):
    """Do the NetworkPolicies let `source` connect to `target`? Every pair of pods must be `allowed`, or none may be."""

    type: Literal["reachable"]
    source: Place
    target: Place
    port: int | str
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    allowed: bool = True


class Request(Strict):
    """Requests to the API: every verb on every resource. `pods`, `pods/log`, `deployments.apps`; `*` is the wildcard.

    Without `namespace` the request is cluster-wide. `names` asks about single objects.
    """

    verbs: list[str] = Field(min_length=1)
    resources: list[str] = Field(min_length=1)
    namespace: str | None = None
    names: list[str] = Field(default_factory=list)


class Access(CheckBase):
    """What `user` may do, by access reviews: all of `can`, and nothing of `cannot`."""

    type: Literal["access"]
    user: str
    groups: list[str] = Field(default_factory=list)
    can: list[Request] = Field(default_factory=list)
    cannot: list[Request] = Field(default_factory=list)


class ScriptCheck(CheckBase):
    """A script of the task's folder, run on the host with the admin's kubeconfig; passes when it ends with 0.

    For imported tasks: what it does is not bounded as other checks are, and it may take up to `timeout_sec`.
    """

    type: Literal["script"]
    file: str
    timeout_sec: float = Field(default=60, gt=0, le=600, strict=False)


class AnswerCheck(CheckBase):
    """The agent's final answer as text. None before the agent has run: that fails."""

    type: Literal["answer"]
    op: Op = Op.MATCHES
    value: Any = None


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
    | Reachable
    | Access
    | ScriptCheck
    | AnswerCheck
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
    "reachable": Reachable,
    "access": Access,
    "script": ScriptCheck,
    "answer": AnswerCheck,
    "sequence": Group,
    "parallel": Group,
    "all": Group,
    "any": Group,
    "none": Group,
}

"""What a provider gives a combo: a cluster of its own, with two identities that must never be mixed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from devops_bench.tasks.spec import ClusterNeeds


@dataclass(frozen=True, slots=True)
class Cluster:
    """A running cluster. Paths are on the host; `admin_kubeconfig` never reaches the agent.

    `facts` fill placeholders (CLUSTER_NAME, NAMESPACE ...). `kubectl` is the argv prefix of a fitting kubectl.
    `kubelets`: real ones run its pods.
    """

    name: str
    provider: str
    server: str | None = None
    admin_kubeconfig: Path | None = None
    agent_kubeconfig: Path | None = None
    mcp_kubeconfig: Path | None = None
    audit_log: Path | None = None
    directory: Path | None = None
    kubectl: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    kubelets: bool = False


class Provider(Protocol):
    """One way to get a cluster. All calls block; `create` raises TransientError or ConfigError with one line."""

    name: str

    def create(self, name: str, needs: ClusterNeeds, state_dir: Path) -> Cluster:
        """Make a cluster called `name` with its private files below `state_dir` (0700)."""
        ...

    def destroy(self, cluster: Cluster) -> None:
        """Take it away; idempotent."""
        ...

    def residue(self, name: str, state_dir: Path) -> list[str]:
        """One line per thing of that cluster that still exists (process, directory, socket, namespace ...)."""
        ...

"""Provider `none`: a task that needs a workspace only. There is no API, and nothing to take away.

There is a kubectl all the same: rendering manifests needs no server, and a host need not have one of its own.
"""

from __future__ import annotations

from pathlib import Path

from devops_bench.clusters import binary
from devops_bench.clusters.base import Cluster
from devops_bench.errors import TaskError
from devops_bench.tasks.spec import ClusterNeeds


class NoCluster:
    """The provider; it has no state."""

    name = "none"

    def create(self, name: str, needs: ClusterNeeds, state_dir: Path) -> Cluster:
        """A cluster without a server. Raises TaskError when the task needs nodes or stages after all."""
        if needs.need_own_plane:
            raise TaskError("the task has nodes or stages but provider `none`", fix="set infrastructure.provider: kwok")
        return Cluster(name=name, provider=self.name, facts={"CLUSTER_NAME": name}, kubectl=binary.own_kubectl())

    def destroy(self, cluster: Cluster) -> None:
        """Nothing to do."""

    def residue(self, name: str, state_dir: Path) -> list[str]:
        """Nothing can be left."""
        return []

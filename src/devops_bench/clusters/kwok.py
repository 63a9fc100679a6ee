"""Provider `kwok`: a real API server, scheduler and controllers in one process, with simulated nodes and pods.

Boot and lease are apart: a pool boots ahead (`boot`), a combo takes a booted plane under its own name (`attach`).
`create` does both for a combo that has no pool behind it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from devops_bench.clusters import leases
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.binary import kubectl_of
from devops_bench.clusters.plane import Plane, start
from devops_bench.clusters.sockets import tcp_listeners, unix_sockets_below
from devops_bench.clusters.sweep import end, processes_of, sweep
from devops_bench.errors import RefusedError, TransientError
from devops_bench.paths import atomic_write, private_dir, state_root
from devops_bench.tasks.spec import ClusterNeeds

ADMIN_FILE = "admin.kubeconfig"
# The agent's files are alone in their folders, so that a sandbox can bind the folder.
AGENT_FILE = "agent/config"
MCP_FILE = "mcp/config"
DEFAULT_NAMESPACE = "default"


def boot(
    binary: Path,
    root: Path,
    needs: ClusterNeeds,
    *,
    timeout: float | None = None,
    obeys: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Plane:
    """Start a plane below the state root `root` and wait until it serves. Raises TransientError."""
    plane = start(binary, root, needs, obeys=obeys, env=env)
    plane.wait_ready(timeout)
    return plane


def attach(plane: Plane, name: str, state_dir: Path, binary: Path) -> Cluster:
    """Make the ready `plane` the cluster `name`: lease it to this process and copy its kubeconfigs below `state_dir`.

    Raises TransientError when it has ended meanwhile.
    """
    ready = plane.ready
    if ready is None or plane.reap():
        raise TransientError("control plane ended before it was used", where=plane.folder)
    plane.lease_to(leases.myself(), name)
    copies = {ADMIN_FILE: ready.admin, AGENT_FILE: ready.agent, MCP_FILE: ready.agent_mcp}
    for target, source in copies.items():
        try:
            content = source.read_bytes()
        except OSError as error:  # the directory goes with the plane
            raise TransientError("control plane ended before it was used", where=source) from error
        private_dir((state_dir / target).parent)
        atomic_write(state_dir / target, content, durable=False)
    return Cluster(
        name=name,
        provider=Kwok.name,
        server=ready.server,
        admin_kubeconfig=state_dir / ADMIN_FILE,
        agent_kubeconfig=state_dir / AGENT_FILE,
        mcp_kubeconfig=state_dir / MCP_FILE,
        audit_log=ready.audit_log,
        directory=plane.directory,
        kubectl=kubectl_of(binary),
        facts={"CLUSTER_NAME": name, "NAMESPACE": DEFAULT_NAMESPACE},
    )


class Kwok:
    """The provider. One instance per combo process; `planes` are those that this process holds, by cluster name.

    Planes that it boots while `obeys` is set can be taken back to an earlier state (`rewinding`).
    """

    name = "kwok"

    def __init__(self, binary: Path, env: Mapping[str, str] = os.environ) -> None:
        self.obeys = False
        self.binary = binary
        self.env = env
        self.root = state_root(env)
        self.planes: dict[str, Plane] = {}

    def create(self, name: str, needs: ClusterNeeds, state_dir: Path) -> Cluster:
        """Boot a plane of its own for `name`. Raises RefusedError when one of that name exists, TransientError."""
        sweep(self.root, only=name)
        if left := self.residue(name, state_dir):
            raise RefusedError(
                f"cluster {name} already exists: {left[0]}", fix="end its owner, then run `devops-bench clusters clean`"
            )
        return self.take(boot(self.binary, self.root, needs, obeys=self.obeys, env=self.env), name, state_dir)

    def take(self, plane: Plane, name: str, state_dir: Path) -> Cluster:
        """Use a plane that a pool booted and handed over; it is ended when it cannot be used."""
        try:
            cluster = attach(plane, name, state_dir, self.binary)
        except BaseException:
            plane.end(grace=0)
            raise
        self.planes[name] = plane
        return cluster

    def destroy(self, cluster: Cluster) -> None:
        """End the plane and remove its folder and the copied kubeconfigs; idempotent, from any process of this host."""
        plane = self.planes.pop(cluster.name, None)
        if plane is not None:
            plane.end()
        for folder in self._folders(cluster.name):
            for who in processes_of(folder):
                end(who)
            shutil.rmtree(folder, ignore_errors=True)
        for path in (cluster.admin_kubeconfig, cluster.agent_kubeconfig, cluster.mcp_kubeconfig):
            if path is not None:
                path.unlink(missing_ok=True)

    def residue(self, name: str, state_dir: Path) -> list[str]:
        """One line per process (with its ports), socket, folder, lease or kubeconfig of cluster `name` that is left."""
        left = []
        for folder in self._folders(name):
            for who in processes_of(folder):
                ports = "".join(f", listens on port {port}" for port in tcp_listeners(who.pid))
                left.append(f"process {who.pid} of cluster {name}{ports}")
            left += [f"socket {path}" for path in unix_sockets_below(folder)]
            left.append(f"lease and folder {folder}")
        left += [
            f"file {state_dir / part}" for part in (ADMIN_FILE, AGENT_FILE, MCP_FILE) if (state_dir / part).exists()
        ]
        return left

    def _folders(self, name: str) -> list[Path]:
        return [
            folder
            for folder in leases.folders(self.root)
            if (lease := leases.read(folder)) is not None and lease.name == name
        ]

"""The world of one attempt: task, cluster, workspace, the agent's HOME.

Made in `provision` and `setup`, gone after it.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devops_bench import clusters, paths
from devops_bench.clusters import needs as cluster_needs
from devops_bench.clusters.base import Cluster
from devops_bench.combo import scratch
from devops_bench.combo.request import Request
from devops_bench.errors import BenchError, TaskError
from devops_bench.kube.client import KubeClient
from devops_bench.tasks.fingerprint import content_hash
from devops_bench.tasks.loader import load_task
from devops_bench.tasks.placeholders import fill
from devops_bench.tasks.spec import TaskSpec

AUDIT_COPY = "audit.raw"
EMBEDDED = frozenset({"kwok"})


@dataclass(slots=True)
class World:
    """Everything that belongs to this attempt on this host. `state_dir` is private and removed at the end."""

    raw: TaskSpec
    task: TaskSpec
    cluster: Cluster
    provider: Any
    state_dir: Path
    workspace: Path
    home: Path
    kube: KubeClient | None

    @property
    def has_cluster(self) -> bool:
        """False for workspace and answer-only tasks."""
        return self.cluster.server is not None


def load(request: Request) -> TaskSpec:
    """The task of the combo. Raises TaskError when it does not load or was changed since the plan was made."""
    combo = request.combo
    task = load_task(Path(combo.task_file), key=combo.task_key)
    planned = request.plan.task_hashes.get(combo.task_key)
    if planned is not None and content_hash(task.folder) != planned:
        raise TaskError("was changed after the run was planned", where=task.folder, fix="launch a new run")
    return task


def facts(request: Request, cluster: Cluster) -> dict[str, str]:
    """Values for the placeholders: the cluster's own, then the environment's, then the plan's."""
    options, env = request.plan.options, request.env
    found = {
        "PROJECT_ID": options.project or "",
        "CLUSTER_NAME": cluster.name,
        "NAMESPACE": "default",
        "APP_LOCATION": options.location,
    }
    for name in ("NAMESPACE", "TARGET_DEPLOYMENT_NAME", "APP_LOCATION"):
        if env.get(name):
            found[name] = env[name]
    return {name: value for name, value in {**found, **cluster.facts}.items() if value}


def state_dir_of(request: Request) -> Path:
    """Where the attempt keeps what lives only as long as it does."""
    return paths.state_root(request.env) / request.combo.rid


def provision(request: Request, raw: TaskSpec) -> World:
    """Give the combo its cluster and empty folders. Raises TransientError, ConfigError, TaskError."""
    combo = request.combo
    state_dir = state_dir_of(request)
    remove_state(state_dir)
    paths.private_dir(state_dir)
    provider: Any = clusters.get(combo.provider, request.env)
    if request.plane_folder is not None and request.plane_fd is not None:
        from devops_bench.clusters.plane import adopt

        cluster = provider.take(adopt(request.plane_folder, request.plane_fd), combo.cluster_name, state_dir)
    else:
        cluster = provider.create(combo.cluster_name, cluster_needs.absolute(raw.cluster, raw.folder), state_dir)
    try:
        kube = KubeClient.from_kubeconfig(cluster.admin_kubeconfig) if cluster.admin_kubeconfig else None
        workspace, home = scratch.make(state_dir)
        return World(
            raw=raw,
            task=fill(raw, facts(request, cluster)),
            cluster=cluster,
            provider=provider,
            state_dir=state_dir,
            workspace=workspace,
            home=home,
            kube=kube,
        )
    except BaseException:
        provider.destroy(cluster)
        raise


def remove_state(state_dir: Path) -> list[str]:
    """Remove an attempt's private state and the agent's folders; one line for what is left."""
    left = scratch.remove(state_dir)
    shutil.rmtree(state_dir, ignore_errors=True)
    return left


def keep_audit(world: World) -> Path | None:
    """Copy the audit log out of the plane's folder before the plane goes; None when there is none."""
    source = world.cluster.audit_log
    if source is None or not source.is_file():
        return None
    target = world.state_dir / AUDIT_COPY
    try:
        target.touch(mode=paths.FILE_MODE)
        shutil.copyfile(source, target)
    except OSError:
        return None
    return target


def teardown(world: World, keep: bool) -> list[str]:
    """Take the cluster away, unless the user wants to `keep` it; one line for each thing that is left of it.

    An embedded control plane ends with this process and cannot be kept.
    """
    if world.kube is not None:
        world.kube.close()
    if keep and world.provider.name not in EMBEDDED:
        return []
    world.provider.destroy(world.cluster)
    left: list[str] = world.provider.residue(world.cluster.name, world.state_dir)
    return left


def kept(world: World) -> list[str]:
    """One line for each thing that the user wanted to keep and that is still there, once the private state is gone."""
    try:
        left: list[str] = world.provider.residue(world.cluster.name, world.state_dir)
    except (BenchError, OSError) as error:
        left = [f"cluster {world.cluster.name}, as far as is known: {error}"]
    return [f"kept (BENCH_NO_TEARDOWN): {line}" for line in left]

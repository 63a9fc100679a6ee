"""Where the cases of a task are run: a cluster with the task set up, taken back to that moment for each further case.

The first case on a ground finds it as a combo would. The others find what the setup left, with the same names, UIDs and
times, and with controllers that have just started. What a task kept in its workspace is put back as well; home, sandbox
and audit log are new each time.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from devops_bench import clusters
from devops_bench.clusters.base import Cluster, Provider
from devops_bench.clusters.kwok import Kwok
from devops_bench.clusters.needs import stage_documents
from devops_bench.clusters.rewinding import mark, rewind
from devops_bench.combo.check_commands import runner
from devops_bench.combo.host_scripts import host_runner
from devops_bench.combo.setup import apply_setup
from devops_bench.combo.workspace import prepare_workspace
from devops_bench.kube import KubeClient
from devops_bench.paths import private_dir
from devops_bench.proofs.leaving import STATE, world_folder
from devops_bench.sandbox import Sandbox, SandboxMode, SandboxSpec
from devops_bench.settings import value
from devops_bench.tasks.placeholders import fill
from devops_bench.tasks.spec import TaskSpec
from devops_bench.verification import Limits, VerifyContext, longest_stage_delay, take_baseline

CLUSTER = "c0000000-eval"
# Seconds after the setup for which it is gone back to. Deadlines of rollouts and of jobs run from the setup's times on.
FRESHNESS = 240.0


@dataclass(slots=True)
class Bench:
    """One world: used by one case."""

    task: TaskSpec
    cluster: Cluster
    kube: KubeClient | None
    sandbox: Sandbox
    context: VerifyContext
    workspace: Path
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Add the time of the block to `seconds[name]`."""
        with _timed(self.seconds, name):
            yield


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.monotonic()
    try:
        yield
    finally:
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - started, 3)


class Ground:
    """The cluster and folders of one task. Enter it, then use `case` as often as wanted, one at a time.

    With `again` the ground is made to be used again. Entering raises the error family.
    """

    def __init__(self, task: TaskSpec, mode: SandboxMode, env: Mapping[str, str], *, again: bool = False) -> None:
        self._task = task
        self._mode = mode
        self._env = env
        self._again = again and task.provider == Kwok.name
        self._seconds: dict[str, float] = {}
        self._marked: float | None = None
        self._used = False

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._root = stack.enter_context(world_folder())
            own = {**self._env, "BENCH_RUN_STATE_ROOT": str(private_dir(self._root / STATE))}
            self._provider: Provider = clusters.get(self._task.provider, own)
            if isinstance(self._provider, Kwok):
                self._provider.obeys = self._again
            with _timed(self._seconds, "boot"):
                self._cluster = self._provider.create(CLUSTER, self._task.cluster, private_dir(self._root / "c"))
            stack.callback(self._provider.destroy, self._cluster)
            self._filled = fill(self._task, {"NAMESPACE": "default", **self._cluster.facts})
            self._kube = None
            if self._cluster.admin_kubeconfig is not None:
                self._kube = KubeClient.from_kubeconfig(self._cluster.admin_kubeconfig, self._cluster.kubectl)
                stack.callback(self._kube.close)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @contextmanager
    def case(self) -> Iterator[Bench]:
        """The task, set up and untouched. Raises the error family."""
        home, workspace = private_dir(self._root / "h"), self._root / "w"
        if not self._used:
            prepare_workspace(self._filled, workspace)
        spec = SandboxSpec(
            home=home, workspace=workspace, kubeconfig=self._cluster.agent_kubeconfig, kubectl=self._cluster.kubectl
        )
        with Sandbox(self._mode, spec) as sandbox:
            context = VerifyContext(
                kube=self._kube,
                workspace=workspace,
                home=home,
                audit_log=self._cluster.audit_log,
                sandbox_run=runner(sandbox),
                host_run=host_runner(self._task.folder, self._cluster, workspace),
                namespace=self._cluster.facts.get("NAMESPACE", "default"),
                limits=_limits(self._filled),
                kubelets=self._cluster.kubelets,
            )
            if not self._used:
                self._used = True
                self._set_up(workspace)
            seconds, self._seconds = self._seconds, {}
            context = replace(context, baseline=take_baseline(self._filled.verification_spec, context))
            yield Bench(self._filled, self._cluster, self._kube, sandbox, context, workspace, seconds)

    def _set_up(self, workspace: Path) -> None:
        if self._kube is not None:
            with _timed(self._seconds, "setup"):
                apply_setup(self._filled, self._cluster, self._kube, workspace, value("setup_timeout"))
        if self._again and isinstance(self._provider, Kwok):
            mark(self._provider.planes[CLUSTER])
            shutil.copytree(workspace, self._root / "kept", symlinks=True)
            self._marked = time.monotonic()

    def back(self) -> bool:
        """Go back to the end of the setup, for another `case`; False when that takes a new ground.

        Raises TransientError when the control plane fails.
        """
        if self._marked is None or time.monotonic() - self._marked > FRESHNESS:
            return False
        assert isinstance(self._provider, Kwok)
        with _timed(self._seconds, "rewind"):
            if not rewind(self._provider.planes[CLUSTER]):
                return False
            shutil.rmtree(self._root / "h")
            shutil.rmtree(self._root / "w")
            shutil.copytree(self._root / "kept", self._root / "w", symlinks=True)
        return True


def _limits(task: TaskSpec) -> Limits:
    """The settings; rest is only rest when it outlasts the delays of the task's own stages."""
    limits = Limits.from_env()
    return replace(limits, quiescence=limits.quiescence + longest_stage_delay(stage_documents(task.cluster)))

"""What one evaluation of one entry gets: the context, this pass's view of the cluster, and its deadline."""

from __future__ import annotations

from dataclasses import dataclass

from devops_bench.kube import Deadline, KubeClient
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.sharing import Runs
from devops_bench.verification.snapshot import Snapshot


class CannotEvaluate(Exception):
    """A check lacks what it needs (cluster, workspace, audit log, baseline); reported as an error."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Passed to every check function."""

    context: VerifyContext
    snapshot: Snapshot | None
    deadline: Deadline
    runs: Runs | None = None  # those of this pass; None: nobody else judges it

    @classmethod
    def of_pass(cls, context: VerifyContext, snapshot: Snapshot | None, deadline: Deadline) -> Scope:
        """One for all entries of a pass, so that equal commands run once."""
        return cls(context, snapshot, deadline, Runs(context.sandbox_run) if context.sandbox_run else None)

    def cluster(self) -> Snapshot:
        """This pass's view of the cluster. Raises CannotEvaluate without one."""
        if self.snapshot is None:
            raise CannotEvaluate("this combo has no cluster to look at")
        return self.snapshot

    def commands(self) -> Runs:
        """This pass's commands. Raises CannotEvaluate without a sandbox."""
        if self.context.sandbox_run is None:
            raise CannotEvaluate("this combo has no sandbox to run commands in")
        return self.runs or Runs(self.context.sandbox_run)

    def api(self) -> KubeClient:
        """The cluster's API, for questions that no view answers. Raises CannotEvaluate without a cluster."""
        if self.context.kube is None:
            raise CannotEvaluate("this combo has no cluster to ask")
        return self.context.kube

"""What a verification may look at: the cluster, the agent's folders, the audit log, and what setup left behind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from devops_bench import settings
from devops_bench.kube import KubeClient

if TYPE_CHECKING:
    from devops_bench.verification.baseline import Baseline
    from devops_bench.verification.quiescence import RestWatcher

SandboxRun = Callable[[Sequence[str], float], tuple[int, str, str]]
"""(argv, seconds) -> (exit code, stdout, stderr), run inside the agent's sandbox. Raises TimeoutError, OSError."""

HostRun = Callable[[str, float], tuple[int, str]]
"""(file of the task's folder, seconds) -> (exit code, its last words), run on the host as the admin. As SandboxRun."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. `converge` is per entry, and all entries run side by side; `total` bounds everything together."""

    converge: float
    total: float
    quiescence: float
    hold_interval: float
    call: float = 10.0  # one request to the API server
    once: float = 30.0  # one pass over an entry that is not awaited, retries of errors included

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Limits:
        """The defaults of the settings table, with what the environment changes. Raises ConfigError."""
        return cls(
            converge=settings.value("converge_budget", env),
            total=settings.value("verify_budget", env),
            quiescence=settings.value("quiescence", env),
            hold_interval=settings.value("hold_interval", env),
        )


@dataclass(frozen=True, slots=True)
class VerifyContext:
    """Everything a check may use; None where this combo has no such thing, and a check that needs it is an error.

    `namespace` is used by checks that name none. `workspace` and `home` are the agent's folders on the host.
    `cancelled` ends every wait early; `rest` has followed the cluster until now, if anybody has. `kubelets`: pods are
    run by real kubelets, which pull, probe and restart in silence.
    """

    kube: KubeClient | None = None
    workspace: Path | None = None
    home: Path | None = None
    audit_log: Path | None = None
    baseline: Baseline | None = None
    sandbox_run: SandboxRun | None = None
    host_run: HostRun | None = None
    answer: str | None = None  # the agent's last words; None before it has run
    namespace: str = "default"
    limits: Limits = field(default_factory=Limits.from_env)
    cancelled: threading.Event = field(default_factory=threading.Event)
    rest: RestWatcher | None = None
    kubelets: bool = False

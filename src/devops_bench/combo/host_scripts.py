"""Scripts of a task that run on the host with the admin's rights: setup, and the verifiers of imported tasks.

They are part of the task, never of the agent. Each runs in a session of its own, which is killed as a whole when its
time is over: a `kubectl wait` in the background must not outlive it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from devops_bench.clusters.base import Cluster
from devops_bench.errors import HarnessError

_KEPT = 4096  # bytes of output that are kept for a message


def run_as_admin(file: Path, cluster: Cluster, workspace: Path, seconds: float) -> tuple[int, str]:
    """(exit code, last line that it said). `kubectl` on PATH is the cluster's own, KUBECONFIG is the admin's.

    Raises TimeoutError, OSError.
    """
    if cluster.admin_kubeconfig is None:
        raise HarnessError(f"cluster {cluster.name} has no admin kubeconfig")
    bin_dir = cluster.admin_kubeconfig.parent / "setup-bin"
    bin_dir.mkdir(mode=0o700, exist_ok=True)
    if cluster.kubectl:
        # Called by this name, because a binary may hold several tools. Scripts run side by side.
        with suppress(FileExistsError):
            (bin_dir / "kubectl").symlink_to(Path(cluster.kubectl[0]).absolute())
    env = {
        "PATH": f"{bin_dir}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(bin_dir),
        "LC_ALL": "C.UTF-8",
        "KUBECONFIG": str(cluster.admin_kubeconfig),
        "WORKSPACE": str(workspace),
    }
    with subprocess.Popen(
        [str(file)], cwd=workspace, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
    ) as process:  # fmt: skip
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError from None
        finally:
            _end(process)
    said = output[-_KEPT:].decode(errors="replace").strip().splitlines()
    return process.returncode, said[-1] if said else "no output"


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the script's session. The leader is not reaped before, so its id is still its own."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)


def host_runner(folder: Path, cluster: Cluster, workspace: Path) -> Callable[[str, float], tuple[int, str]] | None:
    """Runs a file of the task's folder; None without a cluster to be admin of."""
    if cluster.admin_kubeconfig is None:
        return None
    return lambda file, seconds: run_as_admin(folder / file, cluster, workspace, seconds)

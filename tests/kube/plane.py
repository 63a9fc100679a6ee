"""A real control plane for tests: `kube up` in a folder of its own, ended when its standard input closes."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from devops_bench.kube import KubeClient


@dataclass(frozen=True)
class Plane:
    """A running plane: its process, kubeconfigs by identity, and audit log."""

    process: subprocess.Popen[bytes]
    kubeconfigs: dict[str, Path]
    audit_log: Path

    def client(self, identity: str = "admin", timeout: float = 10.0) -> KubeClient:
        """A client under one identity."""
        return KubeClient.from_kubeconfig(self.kubeconfigs[identity], timeout=timeout)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """The plane's process stopped, as a host under memory pressure or a suspended VM would leave it."""
        self.process.send_signal(signal.SIGSTOP)
        # The signal stops one thread after another; until the last one has stopped it may still answer.
        while any(state != "T" for state in self._states()):
            time.sleep(0.001)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)

    def _states(self) -> Iterator[str]:
        """The state letter of each thread."""
        for stat in Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            yield stat.read_text().rpartition(")")[2].split()[0]


def binary() -> Path:
    """The control-plane binary; built now if it must be."""
    from devops_bench.clusters import binary as product

    return product.ensure()


@contextmanager
def running(folder: Path) -> Iterator[Plane]:
    """A plane that lives as long as the block."""
    errors = (folder / "stderr").open("wb")
    process = subprocess.Popen(
        [str(binary()), "up", "--dir", str(folder / "plane")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"the plane did not start: {(folder / 'stderr').read_text()[-500:]}")
        ready = json.loads(line)
        paths = {name: Path(path) for name, path in ready["kubeconfigs"].items()}
        yield Plane(process, paths, Path(ready["audit_log"]))
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        errors.close()

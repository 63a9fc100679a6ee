"""Starting the control-plane binary as its users do: a pipe as standard input, one JSON line on standard output."""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")

BOOT_DEADLINE = 120.0  # seconds; far more than a start takes
DEADLINE = 60.0  # seconds for anything a running cluster does


@dataclass(frozen=True, slots=True)
class Plane:
    """A running `kube up`. `ready` is its ready line."""

    process: subprocess.Popen[str]
    kube: Path
    dir: Path
    ready: dict[str, Any]

    def kubectl(self, *arguments: str, user: str = "admin", check: bool = True, stdin: str | None = None) -> str:
        """Standard output of kubectl as `user`; raises with its error output when it fails, unless told not to."""
        kubeconfig = self.ready["kubeconfigs"][user]
        done = subprocess.run(
            [self.kube, "kubectl", "--kubeconfig", kubeconfig, *arguments],
            capture_output=True, text=True, timeout=DEADLINE, input=stdin, check=False,
        )  # fmt: skip
        if check and done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout if check else done.stdout + done.stderr

    def get(self, *arguments: str) -> Any:
        """What `kubectl get ... -o json` says, as admin."""
        return json.loads(self.kubectl("get", *arguments, "-o", "json"))

    def apply(self, *documents: dict[str, Any]) -> None:
        """Apply objects as admin."""
        self.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": documents}))

    def audit(self) -> list[dict[str, Any]]:
        """The events of the audit log so far."""
        return [json.loads(line) for line in Path(self.ready["audit_log"]).read_text().splitlines()]

    def end(self) -> int:
        """Close its input and return its exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        status = self.process.wait(DEADLINE)
        dispose(self.process)
        return status


def tell(plane: Plane, command: str) -> dict[str, Any]:
    """The answer to one command of a plane that obeys."""
    assert plane.process.stdin is not None
    assert plane.process.stdout is not None
    plane.process.stdin.write(f"{command}\n")
    plane.process.stdin.flush()
    found: dict[str, Any] = json.loads(plane.process.stdout.readline())
    assert found["done"] == command
    return found


def launch(kube: Path, folder: Path, *flags: str, env: dict[str, str] | None = None) -> subprocess.Popen[str]:
    """`kube up` without waiting for anything."""
    return subprocess.Popen(
        [kube, "up", "--dir", folder, *flags],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
    )  # fmt: skip


def boot(kube: Path, folder: Path, *flags: str, env: dict[str, str] | None = None) -> Plane:
    """`kube up`, ready."""
    process = launch(kube, folder, *flags, env=env)
    assert process.stdout is not None
    assert process.stderr is not None
    if not select.select([process.stdout], [], [], BOOT_DEADLINE)[0]:
        dispose(process)
        raise AssertionError("no ready line")
    line = process.stdout.readline()
    if not line:
        said = f"ended with {process.wait(DEADLINE)}: {process.stderr.read()}"
        dispose(process)
        raise AssertionError(said)
    return Plane(process, kube, folder, json.loads(line))


def dispose(process: subprocess.Popen[str]) -> None:
    """Kill it if it still runs, and close what is left of its pipes."""
    process.kill()
    process.wait(DEADLINE)
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def until(probe: Callable[[], T], wanted: Callable[[T], bool], deadline: float = DEADLINE) -> T:
    """Ask again until the answer is as wanted, and return it."""
    end = time.monotonic() + deadline
    while not wanted(answer := probe()):
        if time.monotonic() > end:
            raise AssertionError(f"still {answer!r}")
        time.sleep(0.05)
    return answer


def listening(pid: int) -> list[str]:
    """Local addresses (hex, as the kernel prints them) of TCP and UDP sockets that the process listens on."""
    inodes = set()
    for fd in Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[8:-1])
    found = []
    for name, states in (("tcp", {"0A"}), ("tcp6", {"0A"}), ("udp", {"07"}), ("udp6", {"07"})):
        for row in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] in states and fields[9] in inodes:
                found.append(f"{name} {fields[1]}")
    return found


def deployment(name: str, image: str, replicas: int = 1, **container: Any) -> dict[str, Any]:
    """A small deployment."""
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app", "image": image, **container}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": spec}


def reasons(pods: Sequence[dict[str, Any]]) -> set[str]:
    """Waiting reasons of the pods' containers; empty text for containers that do not wait."""
    statuses = [status for pod in pods for status in pod["status"].get("containerStatuses", [])]
    return {status["state"].get("waiting", {}).get("reason", "") for status in statuses}

"""The second route to an API server: `kubectl proxy` on a private unix socket, for logins that only kubectl can do.

Cloud kubeconfigs name a plugin that fetches short-lived tokens. kubectl already runs, caches and renews it, so it
carries our requests; the socket's folder is 0700, so nobody else can use the identity.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from devops_bench.errors import ConfigError
from devops_bench.kube.deadline import Deadline

START_TIMEOUT = 20.0  # seconds; kubectl reads its config and listens, the plugin runs with the first request
_READY = b"Starting to serve"


@dataclass(frozen=True, slots=True)
class KubectlProxy:
    """A running proxy. `socket` is its unix socket's path."""

    process: subprocess.Popen[bytes]
    folder: Path
    socket: str

    @classmethod
    def start(cls, kubectl: tuple[str, ...], kubeconfig: Path, context: str | None = None) -> KubectlProxy:
        """Start it and wait until it listens. Raises ConfigError with kubectl's own last line when it does not."""
        folder = Path(tempfile.mkdtemp(prefix="devops-bench-proxy-"))
        socket = str(folder / "s")
        argv = [*kubectl, "--kubeconfig", str(kubeconfig), *(["--context", context] if context else [])]
        # The default filters refuse exec and attach; reads, watches and dry runs pass.
        argv += ["proxy", f"--unix-socket={socket}"]
        try:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise ConfigError(f"kubectl cannot be started: {error}", fix="install kubectl") from None
        proxy = cls(process, folder, socket)
        assert process.stdout is not None
        said = _first_line(process.stdout, Deadline.after(START_TIMEOUT))
        if _READY not in said:
            proxy.stop()
            raise ConfigError(
                f"kubectl proxy did not start: {said.decode(errors='replace').strip() or 'no output'}",
                where=kubeconfig,
                fix="try kubectl with this kubeconfig",
            )
        return proxy

    def stop(self) -> None:
        """End it and remove its socket; idempotent."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _first_line(stream: IO[bytes], deadline: Deadline) -> bytes:
    """What comes up to the first newline, or until the deadline."""
    import os
    import select

    text = b""
    while b"\n" not in text and not deadline.passed:
        if select.select([stream], [], [], deadline.remaining())[0]:
            chunk = os.read(stream.fileno(), 4096)
            if not chunk:
                break
            text += chunk
    return text

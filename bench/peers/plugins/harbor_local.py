"""Harbor's public extension points, filled so that a job runs without a container engine; runs in Harbor's environment.

`LocalEnvironment` (`harbor run --env`) is a folder plus one idle process of its own session, which stands for the
container: like a container it lives on when the driver is killed. `MarkingAgent` (`--agent`) notes when a trial begins
and ends. Both are what a Harbor user would write; nothing of Harbor is replaced or patched.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.models.verifier.result import VerifierResult
from harbor.verifier.base import BaseVerifier


class LocalEnvironment(BaseEnvironment):
    """Files in a temporary folder, commands as local processes."""

    _root: Path | None = None
    _idle: subprocess.Popen[bytes] | None = None

    @staticmethod
    def type() -> str:
        """The name in Harbor's records."""
        return "local-folder"

    def _validate_definition(self) -> None:
        """A folder needs no definition."""

    async def start(self, force_build: bool) -> None:
        """Make the folder; with PEERS_CONTAINER, also the process that stands for the container."""
        self._root = Path(tempfile.mkdtemp(prefix="peer-env-"))
        if os.environ.get("PEERS_CONTAINER"):
            self._idle = subprocess.Popen(["sleep", "3600"], start_new_session=True)

    async def stop(self, delete: bool) -> None:
        """Remove both."""
        if self._idle is not None:
            self._idle.kill()
            self._idle.wait()
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)

    def _inside(self, path: Any) -> Path:
        assert self._root is not None, "start() comes first"
        return self._root / str(path).lstrip("/")

    async def upload_file(self, source_path: Path | str, target_path: str) -> None:
        """Copy one file in."""
        target = self._inside(target_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source_path, target)

    async def upload_dir(self, source_dir: Path | str, target_dir: str) -> None:
        """Copy a folder in."""
        shutil.copytree(source_dir, self._inside(target_dir), dirs_exist_ok=True)

    async def download_file(self, source_path: str, target_path: Path | str) -> None:
        """Copy one file out."""
        shutil.copyfile(self._inside(source_path), target_path)

    async def download_dir(self, source_dir: str, target_dir: Path | str) -> None:
        """Copy a folder out; a folder that nobody made is empty."""
        source = self._inside(source_dir)
        if source.is_dir():
            shutil.copytree(source, target_dir, dirs_exist_ok=True)

    async def exec(
        self,
        command: str,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        timeout_sec: int | None = None,
        user: str | int | None = None,
    ) -> ExecResult:
        """Claim success: the folder has none of the container's paths, and a no-op agent asks for nothing real."""
        return ExecResult(stdout="", stderr="", return_code=0)


class MarkingAgent(BaseAgent):
    """Does nothing for PEERS_SECONDS; notes begin and end in PEERS_MARKS."""

    @staticmethod
    def name() -> str:
        """The name in Harbor's records."""
        return "marking"

    def version(self) -> str:
        """Any."""
        return "1"

    async def setup(self, environment: BaseEnvironment) -> None:
        """Nothing to install."""

    async def run(self, instruction: str, environment: BaseEnvironment, context: Any) -> None:
        """The instruction is the combo's name."""
        name = instruction.strip().split()[-1]
        _mark("begin", name)
        await asyncio.sleep(float(os.environ.get("PEERS_SECONDS") or 0))
        _mark("end", name)


def _mark(what: str, name: str) -> None:
    with open(os.environ["PEERS_MARKS"], "a") as file:
        file.write(f"{what} {name}\n")


class PassVerifier(BaseVerifier):
    """Every trial passes."""

    async def verify(self) -> VerifierResult:
        """No look at anything."""
        return VerifierResult(rewards={"reward": 1.0})

"""Commands of checks: in a sandbox of their own, on a copy of the workspace, with an empty HOME and no cluster.

Judging must not change what is judged, and what a check does must not look like the agent's doing in the audit log.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from devops_bench.sandbox import Sandbox, SandboxSpec

OUTPUT_CAP = 1 << 20  # bytes kept of what a command prints


def runner(sandbox: Sandbox) -> Callable[[Sequence[str], float], tuple[int, str, str]]:
    """(argv, seconds) -> (exit, stdout, stderr) on a fresh copy of the sandbox's workspace as it is at that moment.

    Raises TimeoutError when the command does not end, OSError when the workspace cannot be copied.
    """

    def run(argv: Sequence[str], timeout: float) -> tuple[int, str, str]:
        base = Path(tempfile.mkdtemp(prefix="c-", dir=sandbox.spec.workspace.parent))
        try:
            copy_workspace(sandbox.spec.workspace, base / "workspace")
            (base / "home").mkdir(mode=0o700)
            spec = SandboxSpec(home=base / "home", workspace=base / "workspace", kubectl=sandbox.spec.kubectl)
            with Sandbox(sandbox.mode, spec) as place:
                done = place.run(argv, timeout=timeout, cap=OUTPUT_CAP, on_error=lambda _chunk: None)
        finally:
            shutil.rmtree(base, ignore_errors=True)
        if done.timed_out:
            raise TimeoutError(f"{argv[0]} did not end within {timeout:g} s")
        return done.exit, done.text(), done.err.decode(errors="replace")

    return run


def copy_workspace(source: Path, target: Path) -> None:
    """Copy files, folders and links; pipes, sockets and devices that an agent left there are left out."""

    def special(folder: str, names: list[str]) -> set[str]:
        odd = set()
        for name in names:
            mode = os.lstat(os.path.join(folder, name)).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
                odd.add(name)
        return odd

    shutil.copytree(source, target, symlinks=True, ignore=special)

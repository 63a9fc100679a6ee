"""The agent's folders on the host, under a name that says nothing.

A bind mount's source can be read inside a sandbox (/proc/self/mountinfo). So workspace and HOME do not lie below the
state folder, whose path names task and model, but in a folder with a random name; the state folder holds links to
them. The link comes first: whoever finds a dead combo's state finds its folders too.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path

from devops_bench.errors import TransientError
from devops_bench.paths import DIR_MODE
from devops_bench.sandbox import SandboxLimits, disk

PREFIX = "w-"
NAMES = ("workspace", "home")
ROOTS = (Path("/var/tmp"), Path(tempfile.gettempdir()))  # noqa: S108 - only the parents; what is made there is 0700


def make(state_dir: Path) -> tuple[Path, Path]:
    """Make the folders of one attempt, bounded as `sandbox.disk` can, and link them in `state_dir`; (workspace, home).

    TransientError when it cannot.
    """
    root = next((path for path in ROOTS if os.access(path, os.W_OK)), None)
    if root is None:
        raise TransientError(f"no room for workspaces: {ROOTS[0]} is not writable")
    base = root / f"{PREFIX}{secrets.token_hex(8)}"
    for name in NAMES:
        (state_dir / name).symlink_to(base / name)
    try:
        base.mkdir(mode=DIR_MODE)
        limits = SandboxLimits()
        disk.provide(base, NAMES, limits.disk_bytes, limits.disk_files)
    except OSError as error:
        disk.withdraw(base)
        shutil.rmtree(base, ignore_errors=True)
        raise TransientError(f"cannot make a workspace: {error.strerror}", where=root) from error
    return base / "workspace", base / "home"


def remove(state_dir: Path) -> list[str]:
    """Remove the folders that `state_dir` links to, if they are ours; one line for what is left."""
    left = []
    for name in NAMES:
        try:
            base = Path(os.readlink(state_dir / name)).parent
        except OSError:
            continue
        # A link is believed only if it has the form that `make` gives it: never remove a folder of somebody else's.
        if base.parent in ROOTS and base.name.startswith(PREFIX):
            disk.withdraw(base)
            shutil.rmtree(base, ignore_errors=True)
            if base.exists():
                left.append(f"folder {base}")
    return left

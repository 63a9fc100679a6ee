"""Small file systems that tests mount, and the ones that a killed test session left mounted."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

LOCK = ".lock"  # pytest writes its process id there, in each folder pytest-N


@contextmanager
def small_disk(at: Path) -> Iterator[Path]:
    """A file system of 300 MiB at `at`, which is made; skips the test where nothing can be mounted."""
    at.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(at)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    try:
        yield at
    finally:
        subprocess.run(["umount", "-l", str(at)], check=False)


def sweep(root: Path) -> list[Path]:
    """Unmount what sessions that are gone left mounted below `root` (that of their folders pytest-N), and say what."""
    gone = []
    # The newest first: a mount may lie below another one.
    for mount in reversed(psutil.disk_partitions(all=True)):
        path = Path(mount.mountpoint)
        if root not in path.parents or not _abandoned(root / path.relative_to(root).parts[0]):
            continue
        subprocess.run(["umount", "-l", str(path)], check=False, capture_output=True)
        if mount.device.startswith("/dev/loop"):
            subprocess.run(["losetup", "-d", mount.device], check=False, capture_output=True)
        gone.append(path)
    return gone


def _abandoned(session: Path) -> bool:
    """Whether a session's folder names a process that is gone. One without a name is left alone."""
    try:
        return not psutil.pid_exists(int((session / LOCK).read_text()))
    except (OSError, ValueError):
        return False

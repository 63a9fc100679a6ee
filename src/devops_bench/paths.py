"""Where things live on this host, and how files are written so that a crash leaves the old one or the new one.

Every directory we make is 0700 and every file 0600: transcripts and kubeconfigs are nobody else's business.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

DIR_MODE = 0o700
FILE_MODE = 0o600


def runs_root(env: Mapping[str, str] = os.environ) -> Path:
    """Root of all runs: `DEVOPS_BENCH_RUNS`, else `~/matrix-runs`. Holds stamp folders only."""
    return Path(env.get("DEVOPS_BENCH_RUNS") or Path(env.get("HOME") or "~").expanduser() / "matrix-runs").expanduser()


def state_root(env: Mapping[str, str] = os.environ) -> Path:
    """Root of what lives only while a combo runs (kubeconfigs, planes, leases): `BENCH_RUN_STATE_ROOT`."""
    default = Path(env.get("HOME") or "~").expanduser() / ".local/state/devops-bench/state"
    return Path(env.get("BENCH_RUN_STATE_ROOT") or default).expanduser()


def cache_root(env: Mapping[str, str] = os.environ) -> Path:
    """What may be deleted at any time (built binaries, installed agents): `DEVOPS_BENCH_CACHE`, else XDG."""
    explicit = env.get("DEVOPS_BENCH_CACHE")
    if explicit:
        return Path(explicit).expanduser()
    base = env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or "~").expanduser() / ".cache"
    return Path(base).expanduser() / "devops-bench"


def private_dir(path: Path) -> Path:
    """Make `path` (and missing parents) with mode 0700, whatever the umask; returns it."""
    missing = []
    here = path
    while not here.exists():
        missing.append(here)
        here = here.parent
    for part in reversed(missing):
        part.mkdir(mode=DIR_MODE, exist_ok=True)
        part.chmod(DIR_MODE)
    return path


def fsync_dir(path: Path) -> None:
    """Make renames and creations inside `path` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def atomic_write(path: Path, data: bytes | str, *, durable: bool = True) -> None:
    """Write `data` to `path` by a temporary file in the same directory and a rename; mode 0600.

    With `durable` the file and the directory are fsynced, so that after a crash the old or the new content is there,
    whole. Raises OSError (ENOSPC, EROFS ...) and leaves no temporary file behind.
    """
    raw = data.encode() if isinstance(data, str) else data
    fd, tmp = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as handle:
            os.fchmod(handle.fileno(), FILE_MODE)
            handle.write(raw)
            handle.flush()
            if durable:
                os.fsync(handle.fileno())
        os.rename(tmp, path)
    except BaseException:
        Path(tmp).unlink(missing_ok=True)
        raise
    if durable:
        fsync_dir(path.parent)

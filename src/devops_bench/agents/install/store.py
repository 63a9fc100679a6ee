"""The cache of pinned installs: `agents/<key>/<lock>/`, each complete from the moment it has its name.

An install is staged beside its place and renamed into it. One process installs at a time, the others wait and show its
progress. A killed installer leaves its staging folder, which the next one removes, and npm's downloads, from which the
next one goes on. `installed.json` tells what was installed: `install` checks names and sizes of all files against it
before it relies on an older install.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from devops_bench.agents.install import node
from devops_bench.agents.install.npm import InstallProgress, Progress, npm_ci
from devops_bench.agents.install.packages import Lock, lock
from devops_bench.errors import ConfigError
from devops_bench.paths import atomic_write, cache_root, fsync_dir, private_dir

STAMP = "installed.json"
WAIT_INTERVAL = 0.25  # seconds between looks at another installer
KEPT = 2  # installs of one key: a run may still use the one before an upgrade
LEAST_FREE = 1 << 30  # bytes; the largest install takes 650 MiB, and its downloads 150 for a while


@dataclass(frozen=True, slots=True)
class Stamp:
    """What an install holds: `tree` is a hash over all names and sizes, `size` in bytes, `seconds` what it took."""

    version: str
    tree: str
    files: int
    size: int
    seconds: float


def folder(key: str, env: Mapping[str, str]) -> Path:
    """Where the pinned install of `key` is, or would be."""
    return cache_root(env) / "agents" / key / lock(key).key


def stamp(home: Path) -> Stamp | None:
    """The stamp of an install; None when it is not there or not readable. Looks at nothing else."""
    try:
        data = json.loads((home / STAMP).read_bytes())
        return Stamp(
            str(data["version"]), str(data["tree"]), int(data["files"]), int(data["size"]), float(data["seconds"])
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def pinned(key: str, env: Mapping[str, str]) -> Path | None:
    """The folder of an install that is there, by a quick look: its stamp, and its program."""
    home = folder(key, env)
    program = home / "node_modules" / lock(key).package.program()
    return home if stamp(home) is not None and program.is_file() and os.access(program, os.R_OK) else None


def whole(home: Path) -> bool:
    """Whether every file is there with its size (0.1 to 0.5 s)."""
    seen = stamp(home)
    return seen is not None and measure(home)[:2] == (seen.tree, seen.files)


def measure(home: Path) -> tuple[str, int, int]:
    """(hash over names and sizes, files, bytes) of what is below `node_modules`."""
    digest, count, size = hashlib.sha256(), 0, 0
    root = home / "node_modules"
    for place, folders, names in os.walk(root):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(place, name)
            length = os.lstat(path).st_size
            digest.update(f"{os.path.relpath(path, root)}\0{length}\n".encode())
            count, size = count + 1, size + length
    return digest.hexdigest(), count, size


def ensure(
    key: str,
    env: Mapping[str, str],
    report: Progress,
    *,
    npm: tuple[str, ...] | None = None,
    complete: Callable[[Path], None] = lambda _home: None,
) -> Path:
    """The folder of a whole install of `key`, made now if need be. Raises ConfigError.

    `complete` is called with the staged folder before it gets its name.
    """
    wanted, home = lock(key), folder(key, env)
    try:
        private_dir(home.parent)
        with _Turn(key, home.parent, report):
            if not whole(home):
                _install(wanted, home, npm or node.require_npm(env), env, report, complete)
    except OSError as error:
        raise ConfigError(
            f"cannot install {key}: {error.strerror or error}",
            where=home.parent,
            fix="free disk space, or set DEVOPS_BENCH_CACHE to another disk",
        ) from error
    return home


class _Turn:
    """The lock of one key; while another process holds it, its progress is reported as ours."""

    def __init__(self, key: str, parent: Path, report: Progress) -> None:
        self.key = key
        self.parent = parent
        self.report = report
        self.lock = FileLock(parent / "lock", mode=0o600)

    def __enter__(self) -> None:
        began = time.monotonic()
        while True:
            try:
                self.lock.acquire(timeout=0)
                return
            except Timeout:
                seen = _read_progress(self.parent)
                waited = time.monotonic() - began
                self.report(seen or InstallProgress(self.key, "fetch", 0, 0, waited, waiting=True))
                time.sleep(WAIT_INTERVAL)

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def _install(
    wanted: Lock,
    home: Path,
    npm: tuple[str, ...],
    env: Mapping[str, str],
    report: Progress,
    complete: Callable[[Path], None],
) -> None:
    key, parent, began = wanted.package.key, home.parent, time.monotonic()
    for stale in parent.glob("part-*"):
        shutil.rmtree(stale, ignore_errors=True)  # of installers that were killed: it is our turn
    if (free := shutil.disk_usage(parent).free) < LEAST_FREE:
        raise OSError(28, f"{free >> 20} MiB are free, {LEAST_FREE >> 20} are needed")
    work = parent / f"part-{os.getpid()}-{os.urandom(3).hex()}"
    work.mkdir(mode=0o700)

    def tell(progress: InstallProgress) -> None:
        atomic_write(parent / "progress.json", json.dumps(asdict(progress)), durable=False)
        report(progress)

    try:
        tell(InstallProgress(key, "fetch", 0, wanted.count, 0.0))
        npm_ci(wanted, npm, work, parent / "downloads", env, tell)
        shutil.rmtree(work / ".home")
        complete(work)
        tree, files, size = measure(work)
        taken = time.monotonic() - began
        made = Stamp(wanted.version, tree, files, size, round(taken, 1))
        atomic_write(work / STAMP, json.dumps(asdict(made)))
        if home.exists():  # damaged
            home.rename(parent / f"part-{os.getpid()}-{os.urandom(3).hex()}")
        work.rename(home)
        fsync_dir(parent)
        tell(InstallProgress(key, "done", wanted.count, wanted.count, taken, size))
        shutil.rmtree(parent / "downloads", ignore_errors=True)
        _prune(parent, home)
    finally:
        (parent / "progress.json").unlink(missing_ok=True)
        for rest in parent.glob("part-*"):
            shutil.rmtree(rest, ignore_errors=True)


def _prune(parent: Path, keep: Path) -> None:
    homes = sorted((path.parent for path in parent.glob(f"*/{STAMP}")), key=lambda path: path.stat().st_mtime)
    for home in homes[:-KEPT]:
        if home != keep:
            shutil.rmtree(home, ignore_errors=True)


def _read_progress(parent: Path) -> InstallProgress | None:
    try:
        data = json.loads((parent / "progress.json").read_bytes())
        done, total, size = (int(data[name]) for name in ("done", "total", "size"))
        return InstallProgress(
            str(data["key"]), str(data["phase"]), done, total, float(data["seconds"]), size, waiting=True
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None

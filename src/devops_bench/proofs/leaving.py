"""The folders of worlds under proof, and that none outlives its process: not at its end, not at a signal, and not for
long after a SIGKILL.

Everything of a world (cluster state, sandbox, workspace) lies in its folder, and its processes are descendants of this
one: control planes end with their input, sandboxes with their parent. So leaving at once is ending descendants and
removing folders; threads that still wait for something in a world are not waited for.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import psutil

from devops_bench.clusters import leases
from devops_bench.clusters.sweep import end, processes_of
from devops_bench.errors import TransientError
from devops_bench.process import ProcessIdentity, identity

PREFIX = "dbp-"
OWNER = "owner.json"
STATE = "s"
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
PATIENCE = 10.0  # seconds for descendants to be gone and folders to stay removed
UNSIGNED_AGE = 3600.0  # seconds; a folder without its owner's name is microseconds old, or its maker was killed then

# A signal's handler runs in the main thread, which may hold it.
_lock = threading.RLock()
_open: set[Path] = set()
_leaving = False


@contextlib.contextmanager
def world_folder() -> Iterator[Path]:
    """A private folder for one world; removed at the end. Raises TransientError when this process is leaving."""
    with _lock:
        if _leaving:
            raise TransientError("given up: the command was interrupted")
        root = Path(tempfile.mkdtemp(prefix=PREFIX))
        _open.add(root)
        me = identity()
        (root / OWNER).write_text(json.dumps(me.to_data() if me is not None else {}))
    try:
        yield root
    finally:
        shutil.rmtree(root, ignore_errors=True)
        with _lock:
            _open.discard(root)


@contextlib.contextmanager
def tidy_signals() -> Iterator[None]:
    """In this block SIGTERM, SIGINT and SIGHUP end the process at once and leave nothing of its worlds.

    For the main thread of a command; its exit code is 128 + the signal's number.
    """
    before = {number: signal.signal(number, _leave) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    global _leaving
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    with _lock:
        _leaving = True
        roots = list(_open)
    left = remove(roots)
    named = ", ".join(map(str, left))
    said = f"error: interrupted; {f'left: {named}' if left else 'nothing is left'}\n"
    with contextlib.suppress(OSError):
        os.write(2, said.encode())
    os._exit(128 + number)


def remove(roots: list[Path]) -> list[Path]:
    """End every descendant of this process and remove `roots`; those that are still there."""
    deadline = time.monotonic() + PATIENCE
    while True:
        descendants = psutil.Process().children(recursive=True)
        for process in descendants:
            with contextlib.suppress(psutil.Error):
                process.kill()
        psutil.wait_procs(descendants, timeout=max(0.1, deadline - time.monotonic()))
        for root in roots:
            shutil.rmtree(root, ignore_errors=True)
        # A thread may have been about to write or to start something.
        left = [root for root in roots if root.exists()]
        if not left or time.monotonic() >= deadline:
            return left


def stale() -> Iterator[Path]:
    """Folders of worlds whose process is dead: it was killed."""
    for root in sorted(Path(tempfile.gettempdir()).glob(f"{PREFIX}*")):
        try:
            stat = root.lstat()
            if stat.st_uid == os.geteuid() and root.is_dir() and not root.is_symlink() and _dead(root, stat.st_mtime):
                yield root
        except OSError:
            continue


def _dead(root: Path, changed: float) -> bool:
    try:
        owner = ProcessIdentity.from_data(json.loads((root / OWNER).read_text()))
    except (OSError, ValueError):
        owner = None
    if owner is None or owner.foreign:  # of another container or boot: nobody here can ask for it
        return time.time() - changed >= UNSIGNED_AGE
    return not owner.alive()


def sweep(root: Path) -> bool:
    """End what still runs of a stale world and remove its folder; True when it is gone."""
    for folder in leases.folders(root / STATE):
        for who in processes_of(folder):
            end(who)
    shutil.rmtree(root, ignore_errors=True)
    return not root.exists()

"""What must hold on this host before a combo is tried again: the parts of the `Before any retry` list that change.

Asked by the supervisor before each further attempt, and by `devops-bench preflight` for a whole run.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from devops_bench import settings
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo
from devops_bench.supervisor.inotify import Inotify

FILES_LEAST = 64  # open files that must be left: pipes, sockets and watches of one more combo


def for_combo(combo: Combo, run_dir: Path, state_root: Path) -> list[Finding]:
    """What keeps `combo` from being tried again. The caller holds its token."""
    return [*residue(combo, state_root), *disk(run_dir), *disk(state_root), *watches(state_root)]


def residue(combo: Combo, state_root: Path) -> list[Finding]:
    """What is left of an earlier attempt. The sweep removes what it can first: a dead combo cannot do it itself."""
    state_dir = state_root / combo.rid
    if not state_dir.exists():
        return []
    from devops_bench.combo.cleanup import sweep_combo

    left = sweep_combo(state_root, combo.rid, combo.cluster_name)
    return [Finding(Level.ERROR, f"left of an earlier attempt: {one}", "remove it", combo.rid) for one in left]


def disk(path: Path) -> list[Finding]:
    """Whether `path` (or its nearest parent) can be written and has room."""
    while not path.exists():
        path = path.parent
    least = int(settings.TABLE["least_free"].value)
    room = os.statvfs(path)
    free = room.f_bavail * room.f_frsize
    if room.f_flag & os.ST_RDONLY or not os.access(path, os.W_OK):
        return [Finding(Level.ERROR, "cannot be written", "mount it writable, or use another folder", str(path))]
    if free < least:
        what = f"{free >> 20} MiB are free, {least >> 20} MiB are needed"
        return [Finding(Level.ERROR, what, "free some: old runs, images, caches", str(path))]
    if not room.f_favail and room.f_files:
        return [Finding(Level.ERROR, "no inodes are left", "remove files", str(path))]
    return []


def watches(path: Path) -> list[Finding]:
    """Whether one more inotify instance, a watch, and some open files can be had."""
    while not path.exists():
        path = path.parent
    found = []
    try:
        watcher = Inotify()
        try:
            watcher.watch(path)
        finally:
            watcher.close()
    except OSError as error:
        fix = "sysctl fs.inotify.max_user_instances=1024 fs.inotify.max_user_watches=1048576"
        found.append(Finding(Level.ERROR, f"inotify is exhausted: {error.strerror}", fix))
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(os.listdir("/proc/self/fd"))
    if soft != resource.RLIM_INFINITY and soft - used < FILES_LEAST:
        found.append(Finding(Level.ERROR, f"{used} of {soft} open files are in use", "raise ulimit -n"))
    return found

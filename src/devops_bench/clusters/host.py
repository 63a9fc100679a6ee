"""What this host can carry, read from /proc and /sys: memory, cores, inotify, disk. `capacity` judges it."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
CGROUP = Path("/sys/fs/cgroup")


@dataclass(frozen=True, slots=True)
class Host:
    """Free capacity now. Bytes; `None` where the host does not tell."""

    memory_available: int
    cores: int
    disk_free: int
    disk_path: Path
    inotify_instances: int | None = None
    inotify_watches: int | None = None
    inotify_used: int = 0
    open_files: int | None = None


def look(directory: Path) -> Host:
    """Measure this host; `directory` (or its nearest existing parent) says which disk counts."""
    place = directory.absolute()
    while not place.exists():
        place = place.parent
    return Host(
        memory_available=memory_available(),
        cores=cores(),
        disk_free=shutil.disk_usage(place).free,
        disk_path=place,
        inotify_instances=_number(PROC / "sys/fs/inotify/max_user_instances"),
        inotify_watches=_number(PROC / "sys/fs/inotify/max_user_watches"),
        inotify_used=inotify_used(),
        open_files=_number(PROC / "sys/fs/file-max"),
    )


def cores() -> int:
    """Cores that this process may use."""
    return max(1, len(os.sched_getaffinity(0)))


def memory_available() -> int:
    """Bytes that can be taken without swapping: the kernel's MemAvailable, or what a container's limit leaves."""
    free = _meminfo("MemAvailable")
    for limit_file, used_file in (
        (CGROUP / "memory.max", CGROUP / "memory.current"),
        (CGROUP / "memory/memory.limit_in_bytes", CGROUP / "memory/memory.usage_in_bytes"),
    ):
        limit, used = _number(limit_file), _number(used_file)
        if limit is not None and used is not None:
            free = min(free, max(0, limit - used + _inactive_file(limit_file.parent)))
    return free


def memory_of(pid: int) -> int | None:
    """Resident bytes of a process, None when it is gone."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS:")), None)


def inotify_used() -> int:
    """inotify instances that this user's visible processes hold."""
    return sum(_inotify_of(name) for name in os.listdir(PROC) if name.isdigit())


def _inotify_of(pid: str) -> int:
    folder = PROC / pid / "fd"
    try:
        if folder.stat().st_uid != os.getuid():
            return 0
        return sum(_link(folder / fd) == "anon_inode:inotify" for fd in os.listdir(folder))
    except OSError:
        return 0


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _meminfo(field: str) -> int:
    for line in (PROC / "meminfo").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) << 10
    return 0


def _inactive_file(folder: Path) -> int:
    """Page cache that a container gives back under pressure counts as free, as MemAvailable counts it."""
    try:
        lines = (folder / "memory.stat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "total_inactive_"))), 0)


def _number(path: Path) -> int | None:
    """The number in a one-line file; None when there is none (`max`, missing)."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None

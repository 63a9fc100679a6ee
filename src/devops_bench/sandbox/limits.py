"""What an agent's tree may take, and what it took.

The best the host gives, and which it was is recorded: cgroup v2, else cgroup v1, else only rlimits. Without a cgroup
the CPU and memory figures come from wait4, which counts what was reaped inside.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count
from pathlib import Path

from devops_bench.process import identity

PREFIX = "agent-sandbox-"  # seen from inside, so it says nothing
V1_CONTROLLERS = ("pids", "memory", "cpuacct")
_numbers = count()


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Bytes and counts, for the whole tree unless said otherwise.

    1,024 processes: a Node CLI with an MCP server needs under 100, a fork bomb is stopped. 4 GiB: the heaviest CLI
    takes 1.3. 2 GiB for any single file, 1 GiB for /tmp. 8,192 open files a process.
    """

    processes: int = 1024
    memory_bytes: int = 4 << 30
    file_bytes: int = 2 << 30
    tmp_bytes: int = 1 << 30
    open_files: int = 8192


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU seconds and peak memory in bytes of a tree; None where not known. `source`: cgroup2, cgroup1 or rusage."""

    cpu_sec: float | None
    rss_peak: int | None
    source: str


@dataclass(slots=True)
class Cage:
    """The cgroup folders of one tree; none of them when the host gives none."""

    version: str
    folders: dict[str, Path] = field(default_factory=dict)

    @classmethod
    def create(cls, limits: SandboxLimits) -> Cage:
        """Make the folders and set the limits; never fails, `version` says what was possible."""
        name = f"{PREFIX}{os.getpid()}-{_ticks(os.getpid())}-{next(_numbers)}"
        for version, parents in _places(os.getpid()):
            folders: dict[str, Path] = {}
            for controller, parent in parents.items():
                folder = parent / name
                try:
                    folder.mkdir(mode=0o700)
                    folders[controller] = folder
                except OSError:
                    continue
            cage = cls(version, folders)
            if version == "cgroup2" and folders and not (folders["all"] / "pids.max").exists():
                cage.close()  # not delegated: it would count, but hold nothing back
                continue
            if folders:
                cage._limit(limits)
                return cage
        return cls("none")

    def _limit(self, limits: SandboxLimits) -> None:
        processes, memory = limits.processes, limits.memory_bytes
        files: dict[str, dict[str, int]] = {
            "all": {"pids.max": processes, "memory.max": memory, "memory.swap.max": 0},
            "pids": {"pids.max": processes},
            "memory": {"memory.limit_in_bytes": memory},
        }
        for controller, folder in self.folders.items():
            for name, value in files.get(controller, {}).items():
                _write(folder / name, str(value))

    @property
    def counts_processes(self) -> bool:
        """True when a fork bomb stops here."""
        return "all" in self.folders or "pids" in self.folders

    def add(self, pid: int) -> None:
        """Move one process in; its later children follow."""
        for folder in self.folders.values():
            _write(folder / "cgroup.procs", str(pid))

    def kill(self) -> None:
        """Kill what is still inside."""
        folder = self.folders.get("all")
        if folder is not None and (folder / "cgroup.kill").exists():
            _write(folder / "cgroup.kill", "1")
            return
        for folder in self.folders.values():
            for pid in _read(folder / "cgroup.procs").split():
                try:
                    os.kill(int(pid), 9)
                except OSError:
                    pass

    def figures(self, usage: resource.struct_rusage | None) -> Figures:
        """What the tree took; `usage` is wait4's answer, the fallback."""
        if "all" in self.folders:
            stat = dict(line.split() for line in _read(self.folders["all"] / "cpu.stat").splitlines())
            peak = _read(self.folders["all"] / "memory.peak")
            if stat.get("usage_usec"):
                return Figures(int(stat["usage_usec"]) / 1e6, int(peak) if peak else None, self.version)
        if "cpuacct" in self.folders:
            spent = _read(self.folders["cpuacct"] / "cpuacct.usage")
            peak = _read(self.folders["memory"] / "memory.max_usage_in_bytes") if "memory" in self.folders else ""
            if spent:
                return Figures(int(spent) / 1e9, int(peak) if peak else None, self.version)
        if usage is None:
            return Figures(None, None, "none")
        return Figures(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, "rusage")

    def close(self) -> None:
        """Remove the folders; the kernel may need a moment after the last process."""
        deadline = time.monotonic() + 1.0
        for folder in self.folders.values():
            while True:
                try:
                    folder.rmdir()
                except FileNotFoundError:
                    break
                except OSError:
                    if time.monotonic() > deadline:
                        break  # left for the next sweep
                    time.sleep(0.002)
                    continue
                break
        self.folders = {}


def apply_rlimits(pid: int, limits: SandboxLimits, *, count_processes: bool) -> None:
    """Bound what a cgroup does not: file size, open files, core dumps; and processes when no cgroup counts them.

    The process limit does not bind root (the kernel exempts it): a cgroup is needed there.
    """
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_bytes,
        resource.RLIMIT_NOFILE: limits.open_files,
    }
    if count_processes and os.getuid() != 0:
        wanted[resource.RLIMIT_NPROC] = limits.processes
    for kind, value in wanted.items():
        _soft, hard = resource.prlimit(pid, kind)
        bound = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.prlimit(pid, kind, (bound, bound))


@lru_cache(maxsize=2)
def _places(pid: int) -> list[tuple[str, dict[str, Path]]]:
    """Where process `pid`, which is us, may make cgroups, best first; swept once of what dead processes left."""
    own: dict[str, str] = {}
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _number, controllers, path = line.split(":", 2)
        own |= dict.fromkeys(controllers.split(",") if controllers else ["all"], path)
    mounts: dict[str, Path] = {}
    for line in _read(Path("/proc/self/mountinfo")).splitlines():
        left, _dash, right = line.partition(" - ")
        point, kind = Path(left.split()[4]), right.split()[0]
        if kind == "cgroup2":
            mounts["all"] = point
        elif kind == "cgroup":
            mounts |= {name: point for name in right.split()[2].split(",") if name in V1_CONTROLLERS}
    folders = {name: point / own.get(name, "/").lstrip("/") for name, point in mounts.items()}
    v2 = {"all": folders["all"]} if "all" in folders else {}
    v1 = {name: folder for name, folder in folders.items() if name != "all"}
    for folder in folders.values():
        _sweep(folder)
    return [(version, parents) for version, parents in (("cgroup2", v2), ("cgroup1", v1)) if parents]


def _sweep(parent: Path) -> None:
    """Remove what dead owners left. Folders of live ones are not empty or not ours to judge."""
    for folder in parent.glob(f"{PREFIX}*"):
        pid, _dash, rest = folder.name.removeprefix(PREFIX).partition("-")
        if pid.isdigit() and str(_ticks(int(pid))) != rest.partition("-")[0]:
            try:
                folder.rmdir()
            except OSError:
                pass


def _ticks(pid: int) -> int:
    who = identity(pid)
    return who.ticks if who is not None else 0


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError:
        pass

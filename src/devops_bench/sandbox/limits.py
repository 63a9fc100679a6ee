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
from devops_bench.sandbox.completed import Limit

PREFIX = "agent-sandbox-"  # seen from inside, so it says nothing
V1_CONTROLLERS = ("pids", "memory", "cpuacct")
_numbers = count()


@dataclass(frozen=True, slots=True)
class SandboxLimits:
    """Bytes and counts, for the whole tree unless said otherwise.

    1,024 processes: a Node CLI with an MCP server needs under 100, a fork bomb is stopped. 4 GiB: the heaviest CLI
    takes 1.3. 2 GiB and 200,000 files for HOME and workspace together, 2 GiB for any single file, 1 GiB for /tmp.
    8,192 open files a process. 1 GiB of output: nobody reads it, and a loop that prints should not run to its time
    limit.
    """

    processes: int = 1024
    memory_bytes: int = 4 << 30
    file_bytes: int = 2 << 30
    tmp_bytes: int = 1 << 30
    open_files: int = 8192
    disk_bytes: int = 2 << 30
    disk_files: int = 200_000
    output_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Figures:
    """CPU seconds and peak memory in bytes of a tree; None where not known. `source`: cgroup2, cgroup1 or rusage.

    Memory is what processes hold, not the kernel's cache of files they read: the largest sum over all processes that
    was seen by looking a few times a second. For a command too short to be seen it is the kernel's own peak, which
    counts cached files, or that of the largest process, which counts ours before it became the command; the smaller.
    """

    cpu_sec: float | None
    rss_peak: int | None
    source: str


@dataclass(slots=True)
class Cage:
    """The cgroup folders of one tree; none of them when the host gives none."""

    version: str
    folders: dict[str, Path] = field(default_factory=dict)
    held: int = 0

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
        """Move one process in; its later children follow. Folders that do not take it are given up."""
        for controller, folder in list(self.folders.items()):
            _write(folder / "cgroup.procs", str(pid))
            if str(pid) not in _read(folder / "cgroup.procs").split():
                del self.folders[controller]
                _remove(folder)
        if not self.folders:
            self.version = "none"

    def pids(self) -> list[int] | None:
        """Every process inside, daemons too; None when no cgroup holds them."""
        folder = next(iter(self.folders.values()), None)
        return [int(pid) for pid in _read(folder / "cgroup.procs").split()] if folder is not None else None

    def sample(self) -> None:
        """Note what the processes hold in memory now, for the peak: the kernel's own peak counts cached files too."""
        for controller, names in (("all", ("anon",)), ("memory", ("rss", "mapped_file"))):
            if controller in self.folders:
                stat = _pairs(self.folders[controller] / "memory.stat")
                self.held = max(self.held, sum(stat.get(name, 0) for name in names))

    def struck(self) -> tuple[Limit, ...]:
        """Limits of the cgroup that refused something or killed somebody."""
        found = []
        if "all" in self.folders:
            events = _pairs(self.folders["all"] / "memory.events")
            memory = events.get("oom_kill", 0) or events.get("oom", 0)
        else:
            folder = self.folders.get("memory")
            memory = _pairs(folder / "memory.oom_control").get("oom_kill", 0) if folder is not None else 0
        if memory:
            found.append(Limit.MEMORY)
        counted = self.folders.get("all") or self.folders.get("pids")
        if counted is not None and _pairs(counted / "pids.events").get("max"):
            found.append(Limit.PROCESSES)
        return tuple(found)

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
        largest = usage.ru_maxrss * 1024 if usage is not None else 0
        bounds = [bound for bound in (self._kernel_peak(), largest) if bound]
        peak = self.held or (min(bounds) if bounds else None)
        if "all" in self.folders:
            spent = _pairs(self.folders["all"] / "cpu.stat").get("usage_usec")
            if spent is not None:
                return Figures(spent / 1e6, peak, self.version)
        if "cpuacct" in self.folders:
            text = _read(self.folders["cpuacct"] / "cpuacct.usage")
            if text:
                return Figures(int(text) / 1e9, peak, self.version)
        if usage is None:
            return Figures(None, None, "none")
        return Figures(usage.ru_utime + usage.ru_stime, largest, "rusage")

    def _kernel_peak(self) -> int:
        for controller, name in (("all", "memory.peak"), ("memory", "memory.max_usage_in_bytes")):
            if controller in self.folders:
                text = _read(self.folders[controller] / name)
                return int(text) if text.isdigit() else 0
        return 0

    def close(self) -> None:
        """Remove the folders."""
        for folder in self.folders.values():
            _remove(folder)
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
    v1 = {name: _below(mounts[name], own.get(name, "/")) for name in V1_CONTROLLERS if name in mounts}
    places: list[tuple[str, dict[str, Path]]] = []
    if "all" in mounts:
        # A cgroup that holds processes cannot hand out controllers (the kernel's rule), one above it often does.
        here = _below(mounts["all"], own.get("all", "/"))
        above = [here, *(parent for parent in here.parents if mounts["all"] in (parent, *parent.parents))]
        places += [("cgroup2", {"all": folder}) for folder in above]
    if v1:
        places.append(("cgroup1", v1))
    for _version, folders in places:
        for folder in folders.values():
            _sweep(folder)
    return places


def _below(mount: Path, path: str) -> Path:
    """Our cgroup's folder; in a container the path may be the host's and not be there: then the mount itself."""
    folder = mount / path.lstrip("/")
    return folder if folder.is_dir() else mount


def _remove(folder: Path) -> None:
    """The kernel may need a moment after the last process."""
    deadline = time.monotonic() + 1.0
    while True:
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            if time.monotonic() > deadline:
                return  # left for the next sweep
            time.sleep(0.002)
            continue
        return


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


def _pairs(path: Path) -> dict[str, int]:
    """The numbers of a file of `name number` lines."""
    words = (line.split() for line in _read(path).splitlines())
    return {two[0]: int(two[1]) for two in words if len(two) == 2 and two[1].isdigit()}


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

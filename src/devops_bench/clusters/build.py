"""Build the control-plane binary from its Go sources, once per host however many processes ask.

The builder holds a lock and writes its progress beside it; the others wait for the lock and show that progress. The
binary appears under its name whole or not at all. When the builder dies, Go ends at its next line of output, and the
next process goes on from Go's own build cache.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from devops_bench.clusters.gotool import Go
from devops_bench.errors import ConfigError
from devops_bench.paths import atomic_write, fsync_dir, private_dir

BINARY = "kube"
KUBECTL = "kube-kubectl"  # the kubectl of BINARY as a program of its own, in the same folder
PACKAGES = (".", "./kubectl")
PROGRAMS = "programs"  # what Go writes them to
WAIT_INTERVAL = 0.25  # seconds between looks at the lock and the progress of another builder
REPORT_INTERVAL = 0.2  # seconds between two reports: a bar needs no more
NICENESS = 10
LEAST_FREE = 3 << 30  # bytes; modules, build cache and link step of a cold build together
LINK = ("-trimpath", "-buildvcs=false", "-ldflags=-s -w")


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is: `done` of `total` packages (0 of 0 while modules load), `seconds` since it began.

    `waiting` is true in a process that waits for another one's build.
    """

    phase: str
    done: int
    total: int
    seconds: float
    waiting: bool = False


Progress = Callable[[BuildProgress], None]


def build_once(sources: Path, home: Path, go: Go, progress: Progress | None = None) -> Path:
    """The binary `home/kube`, built from the Go module in `sources` unless it is there. Blocks until it is.

    Raises ConfigError with one line and the log's name when the build fails or the disk is full.
    """
    report = progress or (lambda _progress: None)
    target = home / BINARY
    try:
        private_dir(home)
        with _lock(home, report):
            if not target.is_file():
                _build(sources, home, go, report)
    except OSError as error:
        raise _disk_error(home, error.strerror or str(error)) from error
    return target


class _lock:
    """The build lock of `home`; while another process holds it, its progress is reported as ours."""

    def __init__(self, home: Path, report: Progress) -> None:
        self.home = home
        self.report = report
        self.lock = FileLock(home / "lock", mode=0o600)

    def __enter__(self) -> None:
        while True:
            try:
                self.lock.acquire(timeout=0)
                return
            except Timeout:
                if (seen := read_progress(self.home)) is not None:
                    self.report(seen)
                time.sleep(WAIT_INTERVAL)

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def read_progress(home: Path) -> BuildProgress | None:
    """The progress that the builder of `home` wrote last, marked as waiting; None when there is none."""
    try:
        data = json.loads((home / "progress.json").read_bytes())
        phase, done, total, seconds = (data[name] for name in ("phase", "done", "total", "seconds"))
        return BuildProgress(str(phase), int(done), int(total), float(seconds), waiting=True)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _build(sources: Path, home: Path, go: Go, report: Progress) -> None:
    """Compile into a temporary folder, make the result durable, rename it into place."""
    for stale in home.glob("work-*"):
        shutil.rmtree(stale, ignore_errors=True)  # of builders that were killed: we hold the lock
    if (free := shutil.disk_usage(home).free) < LEAST_FREE:
        raise _disk_error(home, f"{free >> 20} MiB are free, {LEAST_FREE >> 20} are needed")
    work = home / f"work-{os.getpid()}"
    work.mkdir(mode=0o700)
    try:
        Compile(sources, home, work, go, report).run()
        kubectl = work / PROGRAMS / "kubectl"
        [plane] = [path for path in kubectl.parent.iterdir() if path != kubectl]  # has the name of its module
        for path, name in ((kubectl, KUBECTL), (plane, BINARY)):  # whoever finds the last has both
            with open(path, "rb") as built:
                os.fsync(built.fileno())
            path.rename(home / name)
        fsync_dir(home)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        (home / "progress.json").unlink(missing_ok=True)


class Compile:
    """One run of `go list` (modules and the package graph) and `go build` (with package names as they start)."""

    def __init__(self, sources: Path, home: Path, work: Path, go: Go, report: Progress) -> None:
        self.sources = sources
        self.home = home
        self.work = work
        self.go = go
        self.report = report
        self.began = time.monotonic()
        self.last = 0.0
        self.log = home / "build.log"
        self.graph: dict[str, list[str]] = {}
        self.built: set[str] = set()

    def run(self) -> None:
        """Leave the programs in `work`; raises ConfigError."""
        self.log.write_bytes(b"")
        self._tell("modules", force=True)
        listing = self.work / "packages"
        self._go("modules", "list", "-deps", "-f", '{{.ImportPath}} {{join .Imports " "}}', *PACKAGES, stdout=listing)
        rows = (line.split() for line in listing.read_text().splitlines())
        self.graph = {row[0]: row[1:] for row in rows if row}
        self._tell("compile", force=True)
        self._go("compile", "build", "-v", *LINK, "-o", f"{self.work / PROGRAMS}/", *PACKAGES)
        self.built = set(self.graph)
        self._tell("done", force=True)

    def _go(self, phase: str, *arguments: str, stdout: Path | None = None) -> None:
        env: Mapping[str, str] = {**self.go.env, "GOTMPDIR": str(self.work)}
        with open(self.log, "ab") as log, open(stdout or os.devnull, "wb") as out:
            with subprocess.Popen(
                [self.go.program, *arguments],
                cwd=self.sources,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
            ) as child:
                try:
                    os.setpriority(os.PRIO_PROCESS, child.pid, NICENESS)
                except OSError:
                    pass  # it has ended already
                try:
                    assert child.stderr is not None
                    for line in child.stderr:
                        log.write(line)
                        self._heard(phase, line.decode(errors="replace").strip())
                except BaseException:
                    child.terminate()
                    raise
            log.flush()
        if child.returncode != 0:
            raise self._failure(child.returncode)

    def _heard(self, phase: str, line: str) -> None:
        """A package that starts to compile has all its imports behind it, cached or built."""
        if line in self.graph:
            pending = list(self.graph[line])
            while pending:
                name = pending.pop()
                if name not in self.built and name in self.graph:
                    self.built.add(name)
                    pending += self.graph[name]
        self._tell("link" if self.graph and len(self.built) >= len(self.graph) - 1 else phase)

    def _tell(self, phase: str, *, force: bool = False) -> None:
        now = time.monotonic()
        if not force and now - self.last < REPORT_INTERVAL and phase != "link":
            return
        self.last = now
        state = BuildProgress(phase, len(self.built), len(self.graph), round(now - self.began, 1))
        atomic_write(self.home / "progress.json", json.dumps(asdict(state)), durable=False)
        self.report(state)

    def _failure(self, code: int) -> ConfigError:
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines()]
        said = [line for line in lines if line and line not in self.graph and not line.startswith(("#", "go: downl"))]
        if any("no space left on device" in line for line in said):
            return _disk_error(self.home, "no space left on device")
        last = said[-1][:300] if said else f"go ended with status {code}"
        return ConfigError(f"building the control plane failed: {last}", where=self.log, fix="see that log")


def _disk_error(home: Path, what: str) -> ConfigError:
    return ConfigError(
        f"cannot build the control plane: {what}",
        where=home,
        fix="free some disk space (Go's caches count too), or set DEVOPS_BENCH_CACHE to another disk",
    )

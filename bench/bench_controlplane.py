"""Cold start and memory of one control plane, beside kwokctl with the same versions built by the same compiler.

The other launcher gets its components from our sources built with the tag `components`, so that only the way of running
them differs. Each start is cold: a fresh directory, nothing shared but the page cache. Needs Go and some minutes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.measure import row
from devops_bench.clusters import binary, gotool

TIMES = 5
SETTLE = 5.0  # seconds from ready until memory is looked at
KWOKCTL = "sigs.k8s.io/kwok/cmd/kwokctl"
COMPONENTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kwok-controller", "kubectl")


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds of wall clock and CPU until usable; memory in MB then and settled; seconds to go away."""

    wall: float
    cpu: float
    at_ready: float
    settled: float
    end: float


def main() -> None:
    """Print a table of medians; the last column is the target."""
    ours = binary.ensure()
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        theirs = _other(root)
        pairs = [(_start(ours, root / f"plane{n}"), _kwokctl(theirs, root / f"home{n}")) for n in range(TIMES)]
    mine, other = (_median([pair[side] for pair in pairs]) for side in (0, 1))
    _row("wall seconds until usable", mine.wall, other.wall, "<= 2.5, <= 0.45 x")
    _row("CPU seconds until usable", mine.cpu, other.cpu, "")
    _row("MB when usable", mine.at_ready, other.at_ready, "")
    _row(f"MB {SETTLE:.0f} s later", mine.settled, other.settled, "<= 320, <= 0.45 x")
    _row("wall seconds to end", mine.end, other.end, "<= 1")


def _row(name: str, mine: float, other: float, target: str) -> None:
    row(name, f"{mine:.2f}", f"kwokctl {other:.2f}, {mine / other:.2f} x", target)


def _median(starts: list[Start]) -> Start:
    names = ("wall", "cpu", "at_ready", "settled", "end")
    return Start(*(statistics.median(getattr(start, name) for start in starts) for name in names))


def _other(root: Path) -> Path:
    """A folder with kwokctl and the separate components."""
    sources = binary.source_dir()
    assert sources is not None
    go = gotool.require(gotool.wanted_version(sources))
    folder = root / "bin"
    folder.mkdir()
    print("building the separate components ...", file=sys.stderr, flush=True)
    build = [go.program, "build", "-trimpath", "-ldflags=-s -w", "-tags", "components"]
    subprocess.run([*build, "-o", str(folder / "kube"), "."], cwd=sources, env=go.env, check=True)
    for name in COMPONENTS:
        (folder / name).symlink_to("kube")
    version = binary.versions(folder / "kube")["kwok"]
    env = {**go.env, "GOBIN": str(folder), "GOFLAGS": ""}
    subprocess.run([go.program, "install", f"{KWOKCTL}@{version}"], env=env, cwd=root, check=True)
    return folder


def _start(kube: Path, folder: Path) -> Start:
    began = time.monotonic()
    process = subprocess.Popen([kube, "up", "--dir", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    json.loads(process.stdout.readline())
    wall = time.monotonic() - began
    tree = [psutil.Process(process.pid)]
    cpu, at_ready = _cpu(tree), _memory(tree)
    time.sleep(SETTLE)
    settled = _memory(tree)
    began = time.monotonic()
    process.stdin.close()
    process.wait()
    return Start(wall, cpu, at_ready, settled, time.monotonic() - began)


def _kwokctl(folder: Path, home: Path) -> Start:
    home.mkdir()
    env = {"HOME": str(home), "PATH": f"{folder}:{os.defpath}", "KWOK_WORKDIR": str(home / "kwok")}
    binaries = [f"--{name}-binary={folder / name}" for name in COMPONENTS if name != "kubectl"]
    before = {process.pid for process in psutil.process_iter()}
    began = time.monotonic()
    _quiet([folder / "kwokctl", "create", "cluster", "--runtime=binary", "--wait=120s", *binaries], env)
    _quiet([folder / "kwokctl", "scale", "node", "--replicas=3"], env)
    kubectl = [folder / "kubectl", "--kubeconfig", home / ".kube" / "config"]
    _quiet([*kubectl, "wait", "--for=condition=Ready", "node", "--all", "--timeout=120s"], env)
    _quiet([*kubectl, "wait", "--for=create", "serviceaccount/default", "--timeout=120s"], env)
    wall = time.monotonic() - began
    tree = [process for process in psutil.process_iter() if process.pid not in before and _is_in(process, folder)]
    cpu, at_ready = _cpu(tree), _memory(tree)
    time.sleep(SETTLE)
    settled = _memory(tree)
    began = time.monotonic()
    _quiet([folder / "kwokctl", "delete", "cluster"], env)
    return Start(wall, cpu, at_ready, settled, time.monotonic() - began)


def _quiet(argv: list[object], env: dict[str, str]) -> None:
    done = subprocess.run([str(word) for word in argv], env=env, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{argv[0]} failed: {done.stderr[-2000:]}")


def _is_in(process: psutil.Process, folder: Path) -> bool:
    try:
        return Path(process.exe()).parent == folder
    except psutil.Error:
        return False


def _cpu(tree: list[psutil.Process]) -> float:
    return sum(times.user + times.system for times in (process.cpu_times() for process in tree))


def _memory(tree: list[psutil.Process]) -> float:
    return sum(process.memory_info().rss for process in tree) / 1e6

"""Where the control-plane binary comes from: environment, wheel, cache, or a build on first need.

`find` never builds and costs milliseconds; `ensure` builds. Cached binaries are keyed by the content of the sources,
the Go version and the architecture, so that changed sources are never served by an older binary.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import devops_bench
from devops_bench.clusters import gotool
from devops_bench.clusters.build import BINARY, KUBECTL, Progress, build_once
from devops_bench.errors import ConfigError, HarnessError
from devops_bench.paths import cache_root

VARIABLE = "DEVOPS_BENCH_KUBE"
WHEEL = "devops_bench_controlplane"
KEPT_BUILDS = 3
MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
LARGEST_SOURCE = 16 << 20  # bytes; a file beyond that is a binary
NOT_SOURCE = ("_test.go", ".md", ".test", ".out")


@dataclass(frozen=True, slots=True)
class Found:
    """A binary and where it comes from: `environment`, `wheel` or `cache`."""

    path: Path
    origin: str


def find(env: Mapping[str, str] = os.environ) -> Path | None:
    """The binary if there is one already. Raises ConfigError when DEVOPS_BENCH_KUBE names something unusable."""
    found = locate(env)
    return found.path if found else None


def kubectl(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The argv prefix of a kubectl for a cluster that is not ours: that of PATH, which fits it, else `own_kubectl`."""
    return _on_path(env) or own_kubectl(env)


def own_kubectl(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The argv prefix of the pinned kubectl, which renders the same on every host; until it is built, that of PATH."""
    return kubectl_of(path) if (path := find(env)) else _on_path(env)


def _on_path(env: Mapping[str, str]) -> tuple[str, ...]:
    found = shutil.which("kubectl", path=env.get("PATH", os.defpath))
    return (found,) if found else ()


def kubectl_of(binary: Path) -> tuple[str, ...]:
    """The argv prefix of a control plane's kubectl: the program beside it, which starts faster, or the one inside."""
    alone = binary.with_name(KUBECTL)
    return (str(alone),) if os.access(alone, os.X_OK) else (str(binary), "kubectl")


def locate(env: Mapping[str, str] = os.environ) -> Found | None:
    """As `find`, with its origin."""
    if named := env.get(VARIABLE):
        path = Path(named).expanduser().absolute()
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise ConfigError(f"{VARIABLE}={named} is not an executable file", fix=f"correct or unset {VARIABLE}")
        return Found(path, "environment")
    sources = source_dir()
    if (wheel := _from_wheel(sources)) is not None:
        return Found(wheel, "wheel")
    if sources is None:
        return None
    arch = MACHINES.get(platform.machine(), platform.machine())
    built = [path for path in _builds(env).glob(f"{source_key(sources)}-*-{arch}/{BINARY}") if os.access(path, os.X_OK)]
    return Found(max(built, key=lambda path: path.stat().st_mtime), "cache") if built else None


def ensure(progress: Progress | None = None, env: Mapping[str, str] = os.environ) -> Path:
    """The binary, built now if need be (minutes on a cold host; blocks; safe in several processes at once).

    `progress` is called now and then from this thread, also while another process builds. Raises ConfigError.
    """
    if (found := find(env)) is not None:
        return found
    sources = source_dir()
    if sources is None:
        raise HarnessError("the control plane's sources are not in this installation", fix="reinstall devops-bench")
    go = gotool.require(gotool.wanted_version(sources), env)
    home = _builds(env) / f"{source_key(sources)}-go{go.version}-{go.arch}"
    path = build_once(sources, home, go, progress)
    _prune(_builds(env), keep=home)
    return path


def source_dir() -> Path | None:
    """The Go sources: of the checkout that this package runs from, else those packaged with it."""
    package = Path(devops_bench.__file__).resolve().parent
    for path in (package.parents[1] / "controlplane", package / "_controlplane"):
        if (path / "go.mod").is_file():
            return path
    return None


def source_key(sources: Path) -> str:
    """12 hex digits over names and contents of everything that takes part in a build."""
    digest = hashlib.sha256()
    for path in source_files(sources):
        name = path.relative_to(sources).as_posix()
        digest.update(f"{name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def source_files(sources: Path) -> list[Path]:
    """What takes part in a build: all files but tests, documents, hidden ones and what somebody compiled in place."""
    return [
        path
        for path in sorted(sources.rglob("*"))
        if path.is_file()
        and not path.name.endswith(NOT_SOURCE)
        and not any(part.startswith(".") for part in path.relative_to(sources).parts)
        and path.stat().st_size <= LARGEST_SOURCE
    ]


@lru_cache(maxsize=4)
def versions(binary: Path) -> dict[str, str]:
    """What runs inside (`kube versions`): kubernetes, etcd, kwok, go. Raises ConfigError when it does not run."""
    try:
        reply = subprocess.run([binary, "versions"], capture_output=True, text=True, timeout=60, env={}, check=True)
        return {str(name): str(content) for name, content in json.loads(reply.stdout).items()}
    except (OSError, ValueError, AttributeError, subprocess.SubprocessError) as error:
        detail = " ".join(str(getattr(error, "stderr", "") or error).split())[:200]
        raise ConfigError(f"the control-plane binary does not run: {detail}", where=binary) from error


def _from_wheel(sources: Path | None) -> Path | None:
    """The binary of the installed wheel, unless it was built from other sources than this package's."""
    if find_spec(WHEEL) is None:
        return None
    wheel = import_module(WHEEL)
    path = Path(wheel.path())
    fits = sources is None or source_key(sources) == wheel.SOURCE_KEY
    return path if fits and os.access(path, os.X_OK) else None


def _builds(env: Mapping[str, str]) -> Path:
    return cache_root(env) / "controlplane"


def _prune(builds: Path, keep: Path) -> None:
    """Drop all but the newest few builds: each is nearly 200 MB. A running plane keeps its open file."""
    import shutil

    homes = sorted((path.parent for path in builds.glob(f"*/{BINARY}")), key=lambda path: path.stat().st_mtime)
    for home in homes[:-KEPT_BUILDS]:
        if home != keep:
            shutil.rmtree(home, ignore_errors=True)

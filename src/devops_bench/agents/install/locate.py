"""From a file that somebody names, or that is on PATH, to an installation: what it is, and what the sandbox must show.

A script for Node is shown with the packages around it and the real Node binary; a native binary or another script
alone. Inside, all of it is below /opt, so that no path of this host tells the agent anything.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from devops_bench.agents.install.node import Node, require_node
from devops_bench.agents.install.packages import SCRIPTS
from devops_bench.agents.install.probe import version_of
from devops_bench.agents.install.types import Installation
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind

AGENT = "/opt/agent"
NODE = "/opt/node/bin/node"
SHOWN = ("/usr/", "/bin/", "/sbin/", "/lib")  # what every sandbox shows of the host


def installation(
    key: str, named: Path, source: str, env: Mapping[str, str], *, pinned_node: Path | None = None, said: str = ""
) -> Installation:
    """The installation whose program is the file `named`. `said` is the variable that names it, for messages.

    Raises ConfigError when it is no file, not executable, or wants an interpreter that is not there.
    """
    path = named.expanduser().absolute()
    where = f"{said}={named}" if said else str(named)
    fix = f"correct or unset {said}" if said else "install it again"
    real = path.resolve()
    if not real.is_file():
        kind = "a folder" if real.is_dir() else "not there"
        raise ConfigError(f"{where} is {kind}: it must be the agent's program", fix=fix)
    words = interpreter(real)
    if real.suffix in SCRIPTS or (words and Path(words[0]).name in {"node", "nodejs"}):
        package = package_root(real)
        wanted, version = _described(package)
        node = require_node(wanted, where, env, pinned_node)
        shown = modules_root(real) or package or real
        found = node_installation(key, real, shown, node, source, version, tuple(words[1:]))
        return found if version else replace(found, version=version_of(found, real, env))
    if not os.access(real, os.X_OK):
        raise ConfigError(f"{where} is not executable", fix=f"chmod +x it, or {fix}")
    if words and not words[0].startswith(SHOWN):
        raise ConfigError(
            f"{where} is a script for {words[0]}, which the sandbox does not show",
            fix="name a program that needs nothing outside /usr",
        )
    inside = f"{AGENT}/{real.name}"
    found = Installation(key, "", source, (inside,), (str(real),), (Bind(real, inside),), None)
    return replace(found, version=version_of(found, real, env))


def node_installation(
    key: str, script: Path, shown: Path, node: Node, source: str, version: str, flags: tuple[str, ...] = ()
) -> Installation:
    """An installation of a Node script: `shown` (its folder of packages, or itself) below /opt, Node beside it."""
    inside = f"{AGENT}/{shown.name}"
    program = inside if shown == script else f"{inside}/{script.relative_to(shown).as_posix()}"
    host = (str(node.program), *flags, str(script))
    binds = (Bind(shown, inside), Bind(node.program, NODE))
    return Installation(key, version, source, (NODE, *flags, program), host, binds, shown if shown.is_dir() else None)


def interpreter(path: Path) -> list[str]:
    """The words of a script's first line, `env` and its -S left out; empty for anything that is no script."""
    try:
        with path.open("rb") as handle:
            first = handle.readline(512)
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", where=path) from None
    if not first.startswith(b"#!"):
        return []
    try:
        words = shlex.split(first[2:].decode(errors="replace"))
    except ValueError:
        return []
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if word != "-S"]
        return [f"/usr/bin/{words[0]}", *words[1:]] if words else []
    return words


def modules_root(script: Path) -> Path | None:
    """The outermost `node_modules` that holds the script: its dependencies may lie beside its own package."""
    return next((parent for parent in reversed(script.parents) if parent.name == "node_modules"), None)


def package_root(script: Path) -> Path | None:
    """The nearest folder with a package.json that names a package."""
    for parent in script.parents:
        if (parent / "package.json").is_file():
            return parent
    return None


def _described(package: Path | None) -> tuple[str, str]:
    """(range of Node versions, version) from a package.json; `*` and empty when it does not tell."""
    if package is None:
        return "*", ""
    try:
        data = json.loads((package / "package.json").read_bytes())
        engines = data.get("engines") or {}
        return str(engines.get("node") or "*"), str(data.get("version") or "")
    except (OSError, ValueError, AttributeError):
        return "*", ""

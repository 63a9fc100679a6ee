"""Agents of other packages: entry points in the group `devops_bench.agents`, found without importing any of them.

An entry point `KEY = "module:Class"` makes an agent. Its key becomes a part of run ids (`<task>__<model>__<key>+mcp`)
and of `setupId` (`<model>-<key>-mcp`), so it must be one that no other setup can be mistaken for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, distributions

from devops_bench.errors import ConfigError

GROUP = "devops_bench.agents"
# With `+mcp+skills` behind it, it still fits the configuration's part of a run id (30 bytes) as it is written.
KEY_MAX = 19
_KEY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
# What `setupId` appends to a key: a key that ends so would be taken for another agent's setup.
_TOKENS = frozenset({"mcp", "skills", "unsandboxed"})
KEY_RULE = (
    f"a key has lower-case letters, digits and single inner dashes, at most {KEY_MAX} characters, "
    f"and does not end in {', '.join(sorted(_TOKENS))}"
)


@dataclass(frozen=True, slots=True)
class Plugin:
    """One entry point of the package `package` in `version`. `problem` says in one clause why no run can use it (empty:
    it can, as far as names tell), `fix` what to do about it.
    """

    key: str
    package: str
    version: str
    entry: EntryPoint
    problem: str = ""
    fix: str = ""

    @property
    def label(self) -> str:
        """Its package with its version."""
        return f"{self.package} {self.version}".strip()

    def error(self, where: str | None = None, line: int | None = None) -> ConfigError:
        """The problem as an error; `where` is the place that named it."""
        return ConfigError(
            f"agent {self.key!r} of package {self.package}: {self.problem}", where=where, line=line, fix=self.fix
        )


@dataclass(frozen=True, slots=True)
class Found:
    """All plugins by the name of their entry point, and a line for each package whose entry points cannot be read."""

    plugins: Mapping[str, Plugin]
    unreadable: tuple[str, ...]


def find(taken: Collection[str]) -> Found:
    """The plugins of this interpreter's packages, sorted. `taken` names stand for something else already."""
    entries, unreadable = _scan(tuple(sys.path))
    by_key: dict[str, list[Plugin]] = {}
    for package, version, entry in entries:
        by_key.setdefault(entry.name, []).append(Plugin(entry.name, package, version, entry))
    return Found({key: _judged(by_key[key], taken) for key in sorted(by_key)}, unreadable)


def _judged(same: list[Plugin], taken: Collection[str]) -> Plugin:
    """One of the plugins of one name, with what is wrong with the name."""
    one = same[0]
    problem = ""
    fix = f"rename its entry point in {one.package}"
    if one.key in taken:
        problem = "the name is taken by devops-bench, which does not ask it"
    elif not _KEY.fullmatch(one.key) or len(one.key) > KEY_MAX or one.key.rpartition("-")[2] in _TOKENS:
        problem, fix = "the name cannot be part of an id", f"{fix}: {KEY_RULE}"
    elif len(same) > 1:
        others = " and ".join(other.package for other in same[1:])
        problem, fix = f"{others} has an agent of this name too", f"uninstall {one.package} or {others}"
    return Plugin(one.key, one.package, one.version, one.entry, problem, fix if problem else "")


@lru_cache(maxsize=4)
def _scan(_path: tuple[str, ...]) -> tuple[tuple[tuple[str, str, EntryPoint], ...], tuple[str, ...]]:
    """(package, version, entry point) of each, and what could not be read. Once for each `sys.path`."""
    # Not `entry_points()`: one malformed file of any package would take all agents away.
    seen: set[str] = set()
    entries: list[tuple[str, str, EntryPoint]] = []
    unreadable: list[str] = []
    for dist in distributions():
        package, version = "", ""
        try:
            if GROUP not in (dist.read_text("entry_points.txt") or ""):
                continue
            package, version = _identity(dist)
            # A package that is on the path twice is the first of the two.
            if (plain := re.sub(r"[-_.]+", "-", package).lower()) in seen:
                continue
            seen.add(plain)
            entries += [(package, version, entry) for entry in dist.entry_points if entry.group == GROUP]
        except Exception as error:
            if package:  # else nobody knows whether it has agents at all
                said = " ".join(f"{type(error).__name__}: {error}".split())
                unreadable.append(
                    f"package {package} has agents, but its entry points cannot be read: {said}; reinstall {package}"
                )
    return tuple(entries), tuple(unreadable)


def _identity(dist: Distribution) -> tuple[str, str]:
    metadata = dist.metadata
    return str(metadata["Name"] or "unknown"), str(metadata["Version"] or "")

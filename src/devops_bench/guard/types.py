"""What the guard knows and what it says."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

EXCERPT_CHARS = 300


class Rule(StrEnum):
    """What a refused command would have done."""

    FOREIGN_CLUSTER = "foreign-cluster"
    NEW_CLUSTER = "new-cluster"
    FOREIGN_TARGET = "foreign-target"
    FOREIGN_CONTEXT = "foreign-context"
    OUTSIDE_WORKSPACE = "outside-workspace"


class Source(StrEnum):
    """Where it was seen. `SHIM` and `MCP` were stopped before they ran, a `PROCESS` had begun and was ended; a `LOG`
    (the transcript) says that it was asked for and that nobody stopped it.
    """

    SHIM = "shim"
    MCP = "mcp"
    PROCESS = "process"
    LOG = "log"


@dataclass(frozen=True, slots=True)
class GuardContext:
    """What belongs to the attempt. Empty: there is none, so every change of one is foreign.

    `cluster`, `project`, `location`: as the provider's own command line names them; empty project or location are not
    compared. `contexts`: of the agent's kubeconfig. `server`: its API server's URL. `folders`: where infrastructure
    code may be applied. Paths as the agent sees them.
    """

    cluster: str = ""
    contexts: frozenset[str] = frozenset()
    server: str = ""
    project: str = ""
    location: str = ""
    folders: tuple[str, ...] = ("/workspace", "/home/agent", "/tmp")  # noqa: S108 - the sandbox's own
    home: str = "/home/agent"

    def owns_cluster(self, name: str) -> bool:
        """True for the own cluster's name, plain or as the last part of a resource path or ARN."""
        return bool(self.cluster) and name.rstrip("/").rpartition("/")[2] == self.cluster

    def owns_server(self, url: str) -> bool:
        """True for the own API server, however its URL is written."""
        return bool(self.server) and _address(url) == _address(self.server)

    def owns_folder(self, path: str) -> bool:
        """True for an absolute path in one of the own folders; links are not followed."""
        full = posixpath.normpath(path)
        return any(full == folder or full.startswith(f"{folder.rstrip('/')}/") for folder in self.folders)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command must not run. `reason` completes "refused: "; `command` is what was asked for, shortened; `words`
    are the tool and its arguments, whole.
    """

    rule: Rule
    tool: str
    reason: str
    command: str
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What the agent is told."""
        return (
            f"{self.tool}: refused: {self.reason}. Only this task's own cluster and working folder may be changed; "
            "reading is allowed. This attempt has been noted."
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """A refusal for the record. `time` in epoch seconds."""

    refusal: Refusal
    source: Source
    time: float = field(default_factory=time.time)

    @property
    def blocked(self) -> bool:
        """True when it never ran."""
        return self.source in {Source.SHIM, Source.MCP}

    def as_dict(self) -> dict[str, Any]:
        """JSON form, for events and the record. `command` may hold what the agent typed: redact it."""
        return {
            "rule": self.refusal.rule.value,
            "tool": self.refusal.tool,
            "reason": self.refusal.reason,
            "command": self.refusal.command,
            "source": self.source.value,
            "blocked": self.blocked,
            "time": self.time,
        }


@dataclass(frozen=True, slots=True)
class Call:
    """One command to judge: arguments without the program, and what surrounds it.

    `configs` maps the path of every kubeconfig it would read to its text ("" when it cannot be read); None: nobody
    looked.
    """

    tool: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    configs: Mapping[str, str] | None = None

    def refuse(self, rule: Rule, reason: str) -> Refusal:
        """A refusal of this call."""
        return Refusal(
            rule, self.tool, _shown(reason), _shown(" ".join([self.tool, *self.args])), (self.tool, *self.args)
        )


def _shown(text: str) -> str:
    """Hostile text on one line, printable and short."""
    line = "".join(char if char.isprintable() else " " for char in text[: EXCERPT_CHARS + 1])
    return line if len(line) <= EXCERPT_CHARS else line[: EXCERPT_CHARS - 1] + "…"


def _address(url: str) -> tuple[str, int] | str:
    try:
        parts = urlsplit(url if "://" in url else f"https://{url}")
        host = (parts.hostname or "").rstrip(".")
        port = parts.port or (80 if parts.scheme == "http" else 443)
    except ValueError:
        return url
    return ("127.0.0.1" if host == "localhost" else host), port

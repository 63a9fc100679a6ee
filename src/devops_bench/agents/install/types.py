"""What an installed agent is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from devops_bench.sandbox import Bind


@dataclass(frozen=True, slots=True)
class Installation:
    """An agent's program on this host, and how the sandbox shows it.

    `binds`: the host folders it needs (its package, its Node), each at a neutral place below /opt. `argv`: the
    program as seen inside (`("/opt/node/bin/node", "/opt/agent/bundle/gemini.js")`). `host_argv`: the same on the host,
    for a run without a sandbox and for `--version`. `source`: target, pinned or path.
    """

    key: str
    version: str
    source: str
    argv: tuple[str, ...]
    host_argv: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    root: Path | None = None

"""Where an agent's commands run: a bubblewrap sandbox from an empty root, or, said loudly, no sandbox at all.

One `Sandbox` serves one attempt. `detect` says once per process whether the host can do it; `Sandbox.run` starts one
command, `Sandbox.shell` a long-lived shell whose /tmp and background processes last from call to call. Whatever kills
the harness kills everything inside: the process namespace ends with bubblewrap, and bubblewrap with us.
"""

from __future__ import annotations

from devops_bench.sandbox.box import Sandbox
from devops_bench.sandbox.completed import Completed, Limit
from devops_bench.sandbox.disk import DiskKind
from devops_bench.sandbox.layout import Bind, SandboxSpec
from devops_bench.sandbox.limits import SandboxLimits
from devops_bench.sandbox.mode import SandboxKind, SandboxMode, detect
from devops_bench.sandbox.network import Endpoint, Network
from devops_bench.sandbox.shell import Shell, ShellEnded

__all__ = [
    "Bind",
    "Completed",
    "DiskKind",
    "Endpoint",
    "Limit",
    "Network",
    "Sandbox",
    "SandboxKind",
    "SandboxLimits",
    "SandboxMode",
    "SandboxSpec",
    "Shell",
    "ShellEnded",
    "detect",
]

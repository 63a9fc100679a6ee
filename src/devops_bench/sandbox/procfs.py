"""What of /proc must not be there to write or to read, beside the sandbox's own processes.

A new /proc shows the kernel's settings too. Their owner is root, and where the harness runs as root the agent is the
same root by another number: without capabilities, but the owner. Writing /proc/sys/kernel/core_pattern would run a
program of the agent's on the host. So everything that is no process is read-only, and what only root may read is blank.
"""

from __future__ import annotations

import os
import stat
from functools import lru_cache

# Readable by all on some kernels, but about the host: as container runtimes blank them.
BLANK = frozenset(["kcore", "kmsg", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "config.gz"])


@lru_cache(maxsize=1)
def options() -> tuple[str, ...]:
    """bubblewrap options that follow its `--proc /proc`."""
    out: list[str] = []
    for name in sorted(os.listdir("/proc")):
        path = f"/proc/{name}"
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if name.isdigit() or stat.S_ISLNK(mode):
            continue
        if stat.S_ISDIR(mode):
            out += ["--ro-bind", path, path]
        elif name in BLANK or not mode & 0o077:
            out += ["--ro-bind", "/dev/null", path]
        elif mode & 0o222:
            out += ["--ro-bind", path, path]
    return tuple(out)

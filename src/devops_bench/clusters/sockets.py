"""Which sockets a process listens on, from /proc: residue after a destroy names ports and unix sockets."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc")
LISTEN = "0A"


def unix_sockets_below(folder: Path) -> list[str]:
    """Paths of unix sockets below `folder`, bound or left behind."""
    return sorted(str(path) for path in folder.rglob("*") if path.is_socket()) if folder.is_dir() else []


def tcp_listeners(pid: int) -> list[int]:
    """TCP ports (IPv4 and IPv6) on which process `pid` listens; empty when it cannot be inspected."""
    inodes = set(_socket_inodes(pid))
    return sorted({port for port, inode in _listening() if inode in inodes})


def _socket_inodes(pid: int) -> Iterator[str]:
    try:
        names = os.listdir(PROC / str(pid) / "fd")
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(PROC / str(pid) / "fd" / name)
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]


def _listening() -> Iterator[tuple[int, str]]:
    for table in ("tcp", "tcp6"):
        try:
            lines = Path(f"/proc/net/{table}").read_text().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == LISTEN:
                yield int(fields[1].rsplit(":", 1)[1], 16), fields[9]

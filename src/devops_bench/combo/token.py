"""The lock of a cluster token: one holder on this host, for combos of a matrix and for the combo command alike.

A bound abstract socket: the kernel drops it when the last holder dies, nothing on disk can be removed, and its
descriptor can be handed to the combo. It is close-on-exec and never reaches an agent.
"""

from __future__ import annotations

import hashlib
import os
import socket
from pathlib import Path


def take_token(token: str, state_root: Path) -> int | None:
    """Bind the token's lock; returns its descriptor, or None when another combo on this host holds it.

    The name is a hash: other users of the host learn nothing from it, and different state roots do not collide.
    """
    name = hashlib.sha256(f"{state_root.resolve()}\0{token}".encode()).hexdigest()[:24]
    lock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    try:
        lock.bind(b"\0" + name.encode())
    except OSError:
        lock.close()
        return None
    return lock.detach()


def is_free(token: str, state_root: Path) -> bool:
    """Whether nobody on this host holds it. It is taken for a moment to find out."""
    lock = take_token(token, state_root)
    if lock is None:
        return False
    os.close(lock)
    return True

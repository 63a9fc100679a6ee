"""Lease files: who owns which control plane, readable after any crash.

One folder per plane, `<state root>/planes/<id>/`, holding `lease.json`, `nodes.yaml`, the plane's `log` and its own
directory `data`. The lease is in place before the process starts and is the last thing removed, so that there is never
a plane without one. Written by whoever boots or leases a plane, read by sweeps, `residue` and `clusters list`.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from devops_bench.errors import HarnessError
from devops_bench.paths import atomic_write, private_dir
from devops_bench.process import ProcessIdentity, identity

PLANES = "planes"
LEASE = "lease.json"
LOG = "log"
DATA = "data"
NODES = "nodes.yaml"
FAULTS = "faults.yaml"
DRAFT = ".new-"


class PlaneState(StrEnum):
    """Life of a plane as its lease tells it."""

    BOOTING = "booting"
    READY = "ready"
    LEASED = "leased"


@dataclass(frozen=True, slots=True)
class Ready:
    """What a plane says about itself when it serves: URL, files (absolute) and seconds from start to ready."""

    server: str
    admin: Path
    agent: Path
    agent_mcp: Path
    audit_log: Path
    kubernetes: str
    nodes: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Lease:
    """One lease file. `owner` is the process whose death ends the plane; `plane` is None until it was started.

    `name` is the cluster name once a combo has it; `key` the needs it was booted for; `created` is UTC, ISO 8601.
    """

    owner: ProcessIdentity
    key: str
    created: str
    state: PlaneState = PlaneState.BOOTING
    name: str | None = None
    plane: ProcessIdentity | None = None
    ready: Ready | None = field(default=None)

    def to_json(self) -> str:
        """The file's content."""
        return json.dumps({"version": 1, **asdict(self)}, default=str, indent=1) + "\n"

    @classmethod
    def from_json(cls, raw: str | bytes) -> Lease | None:
        """Read a file's content; None when it is damaged."""
        try:
            data = json.loads(raw)
            owner = ProcessIdentity.from_data(data["owner"])
            if owner is None:
                return None
            return cls(
                owner=owner,
                key=str(data["key"]),
                created=str(data["created"]),
                state=PlaneState(data["state"]),
                name=None if data["name"] is None else str(data["name"]),
                plane=ProcessIdentity.from_data(data["plane"]),
                ready=_ready(data["ready"]),
            )
        except (KeyError, TypeError, ValueError):
            return None


def _ready(data: Any) -> Ready | None:
    if data is None:
        return None
    files = {name: Path(data[name]) for name in ("admin", "agent", "agent_mcp", "audit_log")}
    return Ready(
        server=str(data["server"]),
        kubernetes=str(data["kubernetes"]),
        nodes=int(data["nodes"]),
        seconds=float(data["seconds"]),
        **files,
    )


def planes_root(state_root: Path) -> Path:
    """The folder of all planes of a state root."""
    return state_root / PLANES


def reserve(state_root: Path, owner: ProcessIdentity, key: str) -> tuple[Path, Lease]:
    """Make a plane's folder with its lease inside, both at once: no sweep ever sees a folder without a lease.

    Raises OSError (disk full, read-only).
    """
    root = private_dir(planes_root(state_root).absolute())
    token = secrets.token_hex(6)
    draft = root / f"{DRAFT}{token}"
    draft.mkdir(mode=0o700)
    lease = Lease(owner=owner, key=key, created=datetime.now(UTC).isoformat(timespec="milliseconds"))
    write(draft, lease)
    return draft.rename(root / token), lease


def write(folder: Path, lease: Lease) -> None:
    """Replace the lease of `folder`, durably."""
    atomic_write(folder / LEASE, lease.to_json())


def read(folder: Path) -> Lease | None:
    """The lease of `folder`, or None when there is none or it is damaged."""
    try:
        return Lease.from_json((folder / LEASE).read_bytes())
    except OSError:
        return None


def folders(state_root: Path) -> Iterator[Path]:
    """All plane folders below a state root, drafts included, in no order that matters."""
    try:
        entries = sorted(planes_root(state_root).absolute().iterdir())
    except OSError:
        return
    yield from (entry for entry in entries if entry.is_dir())


def hold_log(folder: Path) -> int:
    """Open the plane's log for writing, locked. The plane inherits it: while it lives, `log_is_held` is true.

    That works where pids cannot be compared: from another container, or through a state root that outlived a reboot.
    """
    fd = os.open(folder / LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return fd


def log_is_held(folder: Path) -> bool:
    """True while a process has the log of `folder` open by `hold_log`."""
    try:
        fd = os.open(folder / LOG, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


def myself() -> ProcessIdentity:
    """The identity of this process."""
    me = identity()
    if me is None:  # /proc is not mounted
        raise HarnessError("this process is not visible in /proc", fix="mount /proc")
    return me

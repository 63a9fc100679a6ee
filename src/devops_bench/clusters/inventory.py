"""The planes of this host as their leases tell it, for `clusters list`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from devops_bench.clusters import host, leases
from devops_bench.clusters.sweep import abandoned


@dataclass(frozen=True, slots=True)
class PlaneRow:
    """One plane. Age in seconds, memory in bytes; `pid` and `memory` are None when its process is gone."""

    id: str
    cluster: str | None
    state: str
    pid: int | None
    owner: int
    owner_alive: bool
    age: float
    memory: int | None
    server: str | None
    abandoned: bool

    def as_data(self) -> dict[str, object]:
        """JSON form."""
        return asdict(self)

    def as_text(self) -> tuple[str, ...]:
        """Cells of a table row."""
        return (
            self.id,
            self.cluster or "-",
            "abandoned" if self.abandoned else self.state,
            str(self.pid) if self.pid else "gone",
            f"{self.owner}{'' if self.owner_alive else ' (dead)'}",
            _age(self.age),
            f"{self.memory >> 20} MiB" if self.memory else "-",
            self.server or "-",
        )


def planes(state_root: Path) -> list[PlaneRow]:
    """All planes below `state_root`, oldest first."""
    rows = []
    for folder in leases.folders(state_root):
        lease = leases.read(folder)
        if lease is None:
            continue
        running = lease.plane is not None and lease.plane.alive()
        pid = lease.plane.pid if lease.plane is not None and running else None
        rows.append(
            PlaneRow(
                id=folder.name,
                cluster=lease.name,
                state=lease.state.value,
                pid=pid,
                owner=lease.owner.pid,
                owner_alive=lease.owner.alive(),
                age=max(0.0, (datetime.now(UTC) - datetime.fromisoformat(lease.created)).total_seconds()),
                memory=host.memory_of(pid) if pid is not None else None,
                server=lease.ready.server if lease.ready else None,
                abandoned=abandoned(folder, lease),
            )
        )
    return sorted(rows, key=lambda row: -row.age)


def _age(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f}s"
    if seconds < 3600:
        return f"{seconds // 60:.0f}m{seconds % 60:.0f}s"
    return f"{seconds // 3600:.0f}h{seconds % 3600 // 60:.0f}m"

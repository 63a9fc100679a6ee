"""Writing an attempt's result files: each whole or absent after a crash, 0600 in a 0700 folder, redacted at write time.

Called by the combo in its record phase, for invalid attempts too. rows.json comes last: whoever finds a row finds
everything that it was made from. `outcome.json`, which says that the attempt is over, is the combo's own last act.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from devops_bench.paths import FILE_MODE, atomic_write, fsync_dir, private_dir
from devops_bench.results.environment import Environment
from devops_bench.results.jsontext import dumps
from devops_bench.results.manifest import manifest_from
from devops_bench.results.record import Record
from devops_bench.results.rows import Row, rows_from
from devops_bench.results.setup import Setup

AUDIT_CAP_BYTES = 64 << 20
"""An agent that hammers the API server must not fill the disk; what is beyond is counted, not kept."""
_BLOCK = 1 << 20


class StreamRedacts(Protocol):
    """A redactor for a stream: a secret split over two feeds is still found."""

    def feed(self, data: bytes, /) -> bytes: ...
    def flush(self) -> bytes: ...


class Redacts(Protocol):
    """What is needed of `redact.Redactor`."""

    def obj(self, value: Any, /) -> Any: ...
    def stream(self) -> StreamRedacts: ...


def write_json(path: Path, value: Any, redactor: Redacts) -> None:
    """Write `value` as JSON, durably. Every string and key passes the redactor first. Raises OSError."""
    atomic_write(path, dumps(redactor.obj(value)))


def write_attempt(
    directory: Path,
    record: Record,
    setup: Setup,
    environment: Environment,
    redactor: Redacts,
    *,
    trajectory: Mapping[str, Any] | None = None,
    audit_log: Path | None = None,
) -> Row:
    """Write results.json, manifest.json, environment.json, trajectory.json, audit.jsonl and rows.json; returns the row.

    `trajectory` is the ATIF document, `audit_log` the API server's own file (may be absent). Raises OSError (ENOSPC
    ...); what was written before stays whole.
    """
    private_dir(directory)
    row, *_ = rows_from(record, setup)
    write_json(directory / "results.json", [record.as_dict()], redactor)
    write_json(directory / "environment.json", environment.as_dict(), redactor)
    if trajectory is not None:
        write_json(directory / "trajectory.json", trajectory, redactor)
    if audit_log is not None and audit_log.is_file():
        copy_redacted(audit_log, directory / "audit.jsonl", redactor)
    write_json(directory / "manifest.json", manifest_from(record, setup).as_dict(), redactor)
    write_json(directory / "rows.json", [row.as_dict()], redactor)
    return row


def copy_redacted(source: Path, target: Path, redactor: Redacts, *, cap: int = AUDIT_CAP_BYTES) -> None:
    """Copy a file through the redactor in blocks, at most `cap` bytes; a cut copy ends with a line that says so."""
    fd, tmp = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(fd, "wb") as out, source.open("rb") as data:
            os.fchmod(out.fileno(), FILE_MODE)
            stream, left = redactor.stream(), cap
            while left > 0 and (block := data.read(min(_BLOCK, left))):
                out.write(stream.feed(block))
                left -= len(block)
            out.write(stream.flush())
            if left == 0 and (rest := os.fstat(data.fileno()).st_size - cap) > 0:
                out.write(b'\n{"truncated": true, "bytes_left_out": %d}\n' % rest)
            out.flush()
            os.fsync(out.fileno())
        os.rename(tmp, target)
    except BaseException:
        Path(tmp).unlink(missing_ok=True)
        raise
    fsync_dir(target.parent)

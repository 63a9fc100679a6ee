"""The events of an OpenClaw session from its SQLite database, which the agent could write to: hostile from end to end.

The database is read from a private copy (with its write-ahead log, which a killed run leaves full), without its schema
being trusted, within limits of time, rows and bytes.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from devops_bench.agents.frame.home import Home

MAX_EVENT = 4 << 20  # bytes; the limit of OpenClaw itself
MAX_EVENTS = 50_000
MAX_BYTES = 256 << 20  # of all events
SECONDS = 20.0
_STEPS = 100_000  # of SQLite's machine between two looks at the clock
_QUERY = """
SELECT event_json, event_zstd FROM transcript_events
WHERE session_id = coalesce(nullif(?, ''), (SELECT session_id FROM transcript_events ORDER BY created_at DESC LIMIT 1))
ORDER BY seq LIMIT ?
"""


def read_events(home: Home, database: str, session: str) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
    """The events of `session` (empty: the newest), and what could not be read. Never raises for content."""
    data = home.read(database)
    if data is None:
        return [], ("there is no transcript",)
    events: list[dict[str, Any]] = []
    broken = 0
    with tempfile.TemporaryDirectory(prefix="transcript-") as place:
        copy = Path(place, "copy.sqlite")
        copy.write_bytes(data)
        if (log := home.read(f"{database}-wal")) is not None:
            Path(place, "copy.sqlite-wal").write_bytes(log)
        try:
            for raw in _rows(copy, session):
                event = _decoded(raw)
                if event is None:
                    broken += 1
                else:
                    events.append(event)
        except (sqlite3.Error, sqlite3.Warning, UnicodeError, OverflowError, MemoryError) as error:
            return events, (f"the transcript cannot be read: {' '.join(str(error).split())[:200]}",)
    return events, (f"{broken} events of the transcript cannot be read",) if broken else ()


def _rows(path: Path, session: str) -> Iterator[tuple[object, object]]:
    deadline = time.monotonic() + SECONDS
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.text_factory = bytes
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_EVENT + (64 << 10))
        connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
        for pragma in ("query_only=ON", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        kind = connection.execute("SELECT type FROM sqlite_schema WHERE name = 'transcript_events'").fetchall()
        if kind != [(b"table",)]:
            raise sqlite3.DatabaseError("it has no table of events")
        size = 0
        for row in connection.execute(_QUERY, (session, MAX_EVENTS)):
            size += sum(len(cell) for cell in row if isinstance(cell, bytes))
            if size > MAX_BYTES:
                raise sqlite3.DataError(f"it holds more than {MAX_BYTES} bytes")
            yield row[0], row[1]


def _decoded(raw: tuple[object, object]) -> dict[str, Any] | None:
    plain, packed = raw
    data = plain if isinstance(plain, bytes) else _unpacked(packed)
    try:
        event = json.loads(data) if data else None
    except (ValueError, RecursionError):
        return None
    return event if isinstance(event, dict) else None


def _unpacked(packed: object) -> bytes | None:
    """At most MAX_EVENT bytes, whatever a frame's header claims."""
    import zstandard

    if not isinstance(packed, bytes):
        return None
    try:
        with zstandard.ZstdDecompressor(max_window_size=8 << 20).stream_reader(packed) as reader:
            data: bytes = reader.read(MAX_EVENT + 1)
    except (zstandard.ZstdError, MemoryError):
        return None
    return data if len(data) <= MAX_EVENT else None

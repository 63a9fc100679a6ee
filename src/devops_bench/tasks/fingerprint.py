"""The content hash of a task: one digest over every file of its folder, so that any change makes its proof stale."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

RECORD_FILE = ".validated.json"
_IGNORED_DIRS = {".git", "__pycache__"}
_IGNORED_NAMES = {RECORD_FILE, ".DS_Store"}


def task_files(folder: Path) -> Iterator[Path]:
    """Every file of the task in a stable order, without the proof's own record and tool litter."""
    for root, dirs, names in os.walk(folder):
        dirs[:] = sorted(name for name in dirs if name not in _IGNORED_DIRS)
        for name in sorted(names):
            if name not in _IGNORED_NAMES and not name.endswith((".pyc", "~", ".swp")):
                yield Path(root) / name


def content_hash(folder: Path) -> str:
    """`sha256:` and 64 hex digits over relative paths, executable bits and contents, wherever the folder lies."""
    digest = hashlib.sha256()
    for path in sorted(task_files(folder), key=lambda item: item.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix().encode()
        if path.is_symlink():
            kind, data = b"l", os.readlink(path).encode()
        else:
            kind, data = (b"x" if os.access(path, os.X_OK) else b"f"), path.read_bytes()
        for part in (kind, name, data):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return f"sha256:{digest.hexdigest()}"

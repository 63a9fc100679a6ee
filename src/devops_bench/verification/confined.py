"""Files in folders that an agent owns: never follow its links out, never open what is not a plain file."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

MOST_BYTES = 4 << 20


class NotThere(ValueError):
    """No such file; the message is one line."""


class NotPlain(ValueError):
    """There is something, but not a readable plain file inside the folder."""


def read_file(root: Path, name: str, limit: int = MOST_BYTES) -> bytes:
    """The content of `root/name`. Raises NotThere, NotPlain.

    Each part of the way is opened relative to the one before, without following links; so a link or a folder swapped in
    meanwhile cannot lead out. A FIFO or device is never waited for.
    """
    parts = PurePosixPath(name).parts
    if not parts or PurePosixPath(name).is_absolute() or ".." in parts or "\0" in name:
        raise NotPlain(f"{name!r} is not a path inside the folder")
    here = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts[:-1]:
            inner = _open(part, here, os.O_DIRECTORY, name)
            os.close(here)
            here = inner
        fd = _open(parts[-1], here, os.O_NONBLOCK, name)
    finally:
        os.close(here)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise NotPlain(f"{name} is not a plain file")
        if status.st_size > limit:
            raise NotPlain(f"{name} is larger than {limit >> 10} KiB")
        chunks, left = [], limit + 1
        while left > 0 and (chunk := os.read(fd, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        if left <= 0:
            raise NotPlain(f"{name} is larger than {limit >> 10} KiB")
        return b"".join(chunks)
    finally:
        os.close(fd)


def _open(part: str, folder: int, flags: int, name: str) -> int:
    try:
        return os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | flags, dir_fd=folder)
    except FileNotFoundError:
        raise NotThere(f"{name} does not exist") from None
    except OSError as error:
        # ELOOP and ENOTDIR: a link; ENXIO: a socket; EACCES: made unreadable by the agent.
        raise NotPlain(f"{name} is not a plain file inside the folder ({error.strerror})") from None

"""The HOME of an agent, seen from outside: written before it starts, read after it ended, hostile ever after.

No name below it is trusted: a link is never followed, a pipe never waited for, a file never read beyond a cap, a folder
never walked without end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devops_bench.errors import HarnessError
from devops_bench.paths import DIR_MODE, FILE_MODE

MAX_FILE = 64 << 20
MAX_ENTRIES = 20_000
MAX_DEPTH = 12
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Home:
    """One HOME on this host. Names are relative, with `/` between parts."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name: str, text: str) -> None:
        """Make a new file (0600) and its folders (0700), replacing a file or link of that name.

        Raises HarnessError when a link or a file stands where a folder must be.
        """
        folder, _slash, leaf = name.rpartition("/")
        with self._folder(folder, make=True) as parent:
            with suppress(FileNotFoundError):
                os.unlink(leaf, dir_fd=parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(leaf, flags, FILE_MODE, dir_fd=parent), "wb") as file:
                os.fchmod(file.fileno(), FILE_MODE)
                file.write(text.encode())

    def folder(self, name: str) -> Path:
        """Make a folder; its host path. Raises HarnessError as `write`."""
        with self._folder(name, make=True):
            return self.root / name

    def read(self, name: str, cap: int = MAX_FILE) -> bytes | None:
        """At most `cap` bytes of a regular file; None when there is none that is reached without a link."""
        folder, _slash, leaf = name.rpartition("/")
        try:
            with self._folder(folder) as parent:
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
                with os.fdopen(os.open(leaf, flags, dir_fd=parent), "rb") as file:
                    return file.read(cap) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
        except OSError:
            return None

    def path(self, name: str) -> Path | None:
        """The host path of a regular file that no link leads to or through, for readers that want a path; else None.

        Safe only once every process of the agent has ended.
        """
        folder, _slash, leaf = name.rpartition("/")
        try:
            with self._folder(folder) as parent:
                found = os.stat(leaf, dir_fd=parent, follow_symlinks=False)
        except OSError:
            return None
        return self.root / name if stat.S_ISREG(found.st_mode) else None

    def files(self, folder: str, suffix: str = "") -> list[str]:
        """Regular files below `folder` whose name ends in `suffix`, sorted; bounded in depth and number."""
        found: list[str] = []
        seen = 0
        todo = [(folder.strip("/"), 0)]
        while todo:
            here, depth = todo.pop()
            for name, mode in self._entries(here):
                seen += 1
                if seen > MAX_ENTRIES:
                    return sorted(found)
                path = f"{here}/{name}" if here else name
                if stat.S_ISDIR(mode) and depth < MAX_DEPTH:
                    todo.append((path, depth + 1))
                elif stat.S_ISREG(mode) and name.endswith(suffix):
                    found.append(path)
        return sorted(found)

    def _entries(self, folder: str) -> Iterator[tuple[str, int]]:
        try:
            with self._folder(folder) as here, os.scandir(here) as entries:
                for entry in entries:
                    with suppress(OSError):
                        yield entry.name, entry.stat(follow_symlinks=False).st_mode
        except OSError:
            return

    @contextmanager
    def _folder(self, name: str, *, make: bool = False) -> Iterator[int]:
        """A descriptor of a folder below the root, reached part by part. OSError, or with `make` HarnessError."""
        here = os.open(self.root, _FOLDER)
        try:
            for part in [part for part in name.split("/") if part]:
                if part == "..":
                    raise HarnessError(f"{name!r} leaves the home")
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, DIR_MODE, dir_fd=here)
                try:
                    below = os.open(part, _FOLDER, dir_fd=here)
                except OSError as error:
                    if not make:
                        raise
                    raise HarnessError(f"{self.root / name} cannot be made: {part} is no folder ({error})") from None
                os.close(here)
                here = below
            yield here
        finally:
            os.close(here)

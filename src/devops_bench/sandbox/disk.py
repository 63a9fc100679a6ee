"""What an agent may write: HOME and workspace together, bytes and files.

Best: both lie on one sized tmpfs that only this process and its children can see. `separate` gives the process a mount
namespace of its own at its start, `provide` mounts there. The kernel then says "no space left" to the agent, the
host's disk is never touched, every path is the ordinary one for our own readers, and when the process ends, however
it ends, the mount is gone with its namespace. Where that is not possible (no user namespaces, a process that already
has threads), `DiskWatch` counts and the tree is ended.
"""

from __future__ import annotations

import ctypes
import os
import stat
import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_SLAVE = 0x2, 0x4, 0x1000, 0x4000, 0x80000
MNT_DETACH = 2
STORE = ".disk"
NEARLY_FULL = 64 << 10
_libc = ctypes.CDLL(None, use_errno=True)
_separated: list[bool] = []
_provided: dict[Path, tuple[Path, ...]] = {}  # base -> the folders that are bounded


class DiskKind(StrEnum):
    """How the limit is held: by the kernel, by counting and killing, or not at all (no sandbox)."""

    TMPFS = "tmpfs"
    WATCHED = "watched"
    NONE = "none"


def separate() -> bool:
    """Give this process a mount namespace of its own; true if `provide` can mount from now on.

    To be called once at the start of a process that works on one attempt, before it has a second thread: other
    threads would stay in the old namespace and see other files. Mounts of the host made later still appear.
    """
    if not _separated:
        _separated.append(_threads() == 1 and _trial() and _enter())
    return _separated[0]


def provide(base: Path, names: Sequence[str], size: int, files: int) -> DiskKind:
    """Make the folders `base/<name>`, together bounded to `size` bytes and `files` files where that is possible.

    `base` itself stays on the host's disk: what we write beside the agent's folders is never refused. OSError when
    the folders cannot be made.
    """
    if not (_separated and _separated[0]):
        for name in names:
            (base / name).mkdir(mode=0o700)
        return DiskKind.WATCHED
    store = base / STORE
    store.mkdir(mode=0o700)
    _mount("tmpfs", store, "tmpfs", MS_NOSUID | MS_NODEV, f"size={size},nr_inodes={files},mode=700")
    _provided[base] = tuple(base / name for name in names)
    try:
        for name in names:
            (store / name).mkdir(mode=0o700)
            (base / name).mkdir(mode=0o700)
            _mount(str(store / name), base / name, None, MS_BIND, None)
    except OSError:
        withdraw(base)
        raise
    return DiskKind.TMPFS


def withdraw(base: Path) -> None:
    """Unmount what `provide` mounted below `base`, so that the folder can be removed. Idempotent."""
    bounded = _provided.pop(base, None)
    for folder in (*bounded, base / STORE) if bounded is not None else ():
        _libc.umount2(os.fsencode(folder), MNT_DETACH)  # one that was not mounted yet is no error


def kind_of(folders: Sequence[Path]) -> DiskKind:
    """How `folders` are bounded now."""
    for bounded in _provided.values():
        if all(any(point in (folder, *folder.parents) for point in bounded) for folder in folders):
            return DiskKind.TMPFS
    return DiskKind.WATCHED


def is_full(folder: Path) -> bool:
    """True when the file system of `folder` has no room left for another file."""
    with suppress(OSError):
        found = os.statvfs(folder)
        return found.f_bavail * found.f_frsize < NEARLY_FULL or (found.f_files > 0 and found.f_ffree == 0)
    return False


class DiskWatch:
    """Counts what lies in `folders` and in files that the tree has deleted but still holds open.

    Cheap while nothing is written: one statvfs a look. Only when the file system has lost room (or some time has
    passed) the folders are walked, and never for more than a tenth of the time.
    """

    def __init__(self, folders: Sequence[Path], size: int, files: int) -> None:
        self._folders = folders
        self._size = size
        self._files = files
        self._grain = max(1 << 16, min(64 << 20, size // 8))
        self._free = -1
        self._not_before = 0.0
        self._at_latest = 0.0

    def exceeded(self, pids: Iterable[int]) -> bool:
        """True when the limit is passed now. `pids` are the tree's processes."""
        now = time.monotonic()
        if now < self._not_before:
            return False
        free = self._room()
        if 0 <= self._free - free < self._grain and now < self._at_latest:
            return False
        over = self._count(pids)
        took = time.monotonic() - now
        self._free = free
        self._not_before = now + 10 * took
        self._at_latest = now + max(2.0, 20 * took)
        return over

    def _room(self) -> int:
        found = os.statvfs(self._folders[0])
        return found.f_bavail * found.f_frsize

    def _count(self, pids: Iterable[int]) -> bool:
        size = files = 0
        linked: set[tuple[int, int]] = set()
        todo: list[str | Path] = list(self._folders)
        while todo:
            try:
                entries = os.scandir(todo.pop())
            except OSError:
                continue
            with entries:
                for entry in entries:
                    with suppress(OSError):
                        found = entry.stat(follow_symlinks=False)
                        if stat.S_ISDIR(found.st_mode):
                            todo.append(entry.path)
                        files += 1
                        if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                            if (found.st_dev, found.st_ino) in linked:
                                continue
                            linked.add((found.st_dev, found.st_ino))
                        size += found.st_blocks * 512
                    if size > self._size or files > self._files:
                        return True
        return size + self._deleted(pids) > self._size

    def _deleted(self, pids: Iterable[int]) -> int:
        """Bytes of files without a name that the tree holds open on the folders' file system."""
        device = os.stat(self._folders[0]).st_dev
        held: dict[int, int] = {}
        for pid in pids:
            with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
                for entry in entries:
                    with suppress(OSError):
                        found = os.stat(entry.path)
                        if found.st_dev == device and found.st_nlink == 0 and stat.S_ISREG(found.st_mode):
                            held[found.st_ino] = found.st_blocks * 512
        return sum(held.values())


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


def _trial() -> bool:
    """Do it all in a child first: half a way in (a user namespace without the right to mount) would be worse."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            if _enter():
                _mount("tmpfs", Path("/tmp"), "tmpfs", MS_NOSUID | MS_NODEV, "size=4096")  # noqa: S108 - the child's own
                code = 0
        except OSError:
            pass
        finally:
            os._exit(code)
    _pid, status = os.waitpid(child, 0)
    return status == 0


def _enter() -> bool:
    """A new mount namespace; as an ordinary user with a user namespace around it in which all ids stay the same."""
    user, group = os.geteuid(), os.getegid()
    if _libc.unshare(CLONE_NEWNS) != 0:
        if _libc.unshare(CLONE_NEWNS | CLONE_NEWUSER) != 0:
            return False
        try:
            Path("/proc/self/setgroups").write_text("deny")
            Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
            Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
        except OSError:
            return False
    # Slave: what we mount stays here, what the host mounts or unmounts later still arrives.
    return bool(_libc.mount(None, b"/", None, MS_REC | MS_SLAVE, None) == 0)


def _mount(source: str, target: Path, kind: str | None, flags: int, data: str | None) -> None:
    done = _libc.mount(
        source.encode(), os.fsencode(target), kind.encode() if kind else None, flags, data.encode() if data else None
    )
    if done != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(target))

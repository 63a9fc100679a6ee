"""Host folders under a name that says nothing, for what a sandbox shows.

The source of a bind mount can be read inside (/proc/self/mountinfo), and our cache's path tells an agent that it is
being measured. A bind shows where a file really lies, so a link does not help: what lies in the cache gets a second set
of names (hard links, no bytes) in a folder beside the cache, made once per installation and then only looked up.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import time
from contextlib import suppress
from pathlib import Path

from devops_bench.paths import cache_root, private_dir

FOLDER = "tools"
SOURCE = ".source"
STALE_AFTER = 86_400.0  # seconds


def neutral(source: Path) -> Path:
    """`source` itself when its path says nothing of us, else the same content by another path.

    An installation is never changed once it is in place, so its path, inode and time of change name its content. On a
    file system without hard links, or a cache that is a mount of its own, `source` comes back: worse, but it works.
    """
    source = source.resolve()
    cache = cache_root().resolve()
    if cache not in source.parents:
        return source
    try:
        home = private_dir(cache.parent / FOLDER)
        target = home / _key(source) / source.name
        if not target.exists():
            _link(source, target, home)
            sweep(home)
        return target
    except OSError:
        return source


def sweep(home: Path, age: float = STALE_AFTER) -> None:
    """Remove names made more than `age` seconds ago of what is no longer installed; a running sandbox may use them."""
    for folder in home.iterdir():
        with suppress(OSError, ValueError):
            source = Path((folder / SOURCE).read_text()) if (folder / SOURCE).is_file() else None
            current = source is not None and source.exists() and _key(source) == folder.name
            if not current and time.time() - folder.stat().st_mtime > age:
                shutil.rmtree(folder, ignore_errors=True)


def _key(source: Path) -> str:
    found = source.stat()
    text = f"{source}\0{found.st_dev}\0{found.st_ino}\0{found.st_mtime_ns}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _link(source: Path, target: Path, home: Path) -> None:
    """Make it aside and rename, so that two processes at once both end with a whole one."""
    aside = home / f".{secrets.token_hex(8)}"
    aside.mkdir(mode=0o700)
    try:
        if source.is_dir():
            shutil.copytree(source, aside / source.name, symlinks=True, copy_function=os.link)
        else:
            os.link(source, aside / source.name)
        (aside / SOURCE).write_text(str(source))
        with suppress(OSError):  # another process was first
            aside.rename(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)

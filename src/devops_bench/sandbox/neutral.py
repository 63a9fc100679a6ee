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
from contextlib import suppress
from pathlib import Path

from devops_bench.paths import cache_root, private_dir

FOLDER = "tools"


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
        found = source.stat()
        key = f"{source}\0{found.st_dev}\0{found.st_ino}\0{found.st_mtime_ns}"
        home = private_dir(cache.parent / FOLDER)
        target = home / hashlib.sha256(key.encode()).hexdigest()[:16] / source.name
        if not target.exists():
            _link(source, target, home)
        return target
    except OSError:
        return source


def _link(source: Path, target: Path, home: Path) -> None:
    """Make it aside and rename, so that two processes at once both end with a whole one."""
    aside = home / f".{secrets.token_hex(8)}"
    aside.mkdir(mode=0o700)
    try:
        if source.is_dir():
            shutil.copytree(source, aside / source.name, symlinks=True, copy_function=os.link)
        else:
            os.link(source, aside / source.name)
        with suppress(OSError):  # another process was first
            aside.rename(target.parent)
    finally:
        shutil.rmtree(aside, ignore_errors=True)

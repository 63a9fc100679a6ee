"""A virtual environment for each peer below the cache folder, from its hash-locked requirements."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from devops_bench.paths import cache_root

LOCKS = Path(__file__).parent
PYTHON = "3.12"
"""What the locks are made for; both peers refuse an older one. PEERS_PYTHON names an interpreter."""


def bin_of(peer: str) -> Path:
    """The `bin` folder of `peer` (`harbor`, `inspect`); installed if the lock changed. SystemExit when that fails."""
    lock = LOCKS / f"{peer}.txt"
    digest = hashlib.sha256(lock.read_bytes()).hexdigest()[:12]
    folder = cache_root() / "peers" / f"{peer}-{digest}"
    if not (folder / ".complete").exists():
        shutil.rmtree(folder, ignore_errors=True)
        print(f"installing {peer} into {folder}", file=sys.stderr)
        uv = str(Path(sys.executable).parent / "uv")
        _call(uv, "venv", "--quiet", "--python", _interpreter(), str(folder))
        python = str(folder / "bin/python")
        install = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", python]
        _call(*install, "-r", str(lock))
        _call(str(folder / "bin" / peer), "--version")  # its imports are compiled once, here and not in a measurement
        (folder / ".complete").touch()
    return folder / "bin"


def version_of(peer: str, package: str) -> str:
    """The locked version of `package`."""
    for line in (LOCKS / f"{peer}.txt").read_text().splitlines():
        if line.startswith(f"{package}=="):
            return line.split("==")[1].split()[0]
    raise LookupError(f"{package} is not in {peer}.txt")


def _interpreter() -> str:
    """A Python of the version PYTHON that really starts (a version switcher's shim may not)."""
    switched = sorted(
        Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv").glob(f"versions/{PYTHON}*/bin/python")
    )
    for name in (os.environ.get("PEERS_PYTHON", ""), f"python{PYTHON}", *map(str, switched)):
        path = shutil.which(name) if name else None
        if path and subprocess.run([path, "-c", ""], stderr=subprocess.DEVNULL).returncode == 0:
            return path
    sys.exit(f"the peers need Python {PYTHON} (PEERS_PYTHON=/path/to/python{PYTHON})")


def _call(*argv: str) -> None:
    try:
        subprocess.run(argv, check=True)
    except (OSError, subprocess.CalledProcessError) as problem:
        sys.exit(f"cannot install: {' '.join(argv[:4])} ...: {problem}; needs Python {PYTHON} and a package registry")

"""environment.json: what an attempt ran on, so that two results can be told apart or trusted to be alike.

Names of things and hashes of content only; no secret, host name or path of the user is in it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from devops_bench._version import __version__
from devops_bench.paths import atomic_write, private_dir
from devops_bench.results.jsontext import clean

SCHEMA_VERSION = 1
_SKIPPED_DIRS = frozenset({"__pycache__", ".git", ".venv", "node_modules"})
_SHIPPED_DATA = frozenset({"_catalogue", "_controlplane"})
"""Data inside the wheel that has hashes of its own (task, control plane)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """One attempt's world. A hash is `sha256:<hex>`; None: there is no such thing here, or it could not be read.

    `auth_mode` is how the model was reached (`api-key`, `vertex`, `scripted`, `none`); `network` is `closed` or
    `shared`; `sandbox` is {kind, version, detail}, kind `off` when there was none; `control_plane` and `agent` are
    {name, version, ...}. `model_gateway` holds what went through it (requests, faults, tokens, cost_usd, model_sec),
    `mcp_server` the server's command, version, tools and calls, empty where there was none; `skills` the granted names.
    `rules_hash` is that of AGENT_RULES_TEXT as the agent was told it, `NO_RULES` without any, None without a model.
    """

    auth_mode: str
    sandbox: Mapping[str, Any]
    network: str
    control_plane: Mapping[str, Any] = field(default_factory=dict)
    agent: Mapping[str, Any] = field(default_factory=dict)
    model_gateway: Mapping[str, Any] = field(default_factory=dict)
    mcp_server: Mapping[str, Any] = field(default_factory=dict)
    skills: Sequence[str] = ()
    task_hash: str | None = None
    checks_hash: str | None = None
    skills_hash: str | None = None
    agent_binary_hash: str | None = None
    code_hash: str | None = None
    rules_hash: str | None = None
    versions: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The JSON object: `schema_version` first, hashes together under `hashes`."""
        data = asdict(self)
        names = ("task", "checks", "skills", "agent_binary", "code", "rules")
        hashes = {name: data.pop(f"{name}_hash") for name in names}
        data["versions"] = {**host_versions(), **data["versions"]}
        cleaned: dict[str, Any] = clean({"schema_version": SCHEMA_VERSION, **data, "hashes": hashes})
        return cleaned


def host_versions() -> dict[str, str]:
    """Versions of this package, Python, the kernel and the machine type."""
    return {
        "devops_bench": __version__,
        "python": platform.python_version(),
        "kernel": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
    }


def hash_json(value: Any) -> str:
    """Content hash of a JSON-able value, the same for any order of keys."""
    text = json.dumps(clean(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def hash_text(text: str) -> str:
    """Content hash of a text."""
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


NO_RULES = hash_text("")
HASH_CHARS = 12  # of a hash, for people


def short_hash(digest: str) -> str:
    """The beginning of a content hash, enough to tell it from others; empty for an empty one."""
    return digest.removeprefix("sha256:")[:HASH_CHARS]


def rules_label(digest: str) -> str:
    """What the rules of that hash are called."""
    return "no rules" if digest == NO_RULES else short_hash(digest)


def hash_file(path: Path) -> str | None:
    """Content hash of a file, read in blocks; None when it cannot be read."""
    try:
        with path.open("rb") as handle:
            return "sha256:" + hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError:
        return None


def hash_binary(path: Path, cache_dir: Path | None = None) -> str | None:
    """As `hash_file`, for big files: with `cache_dir` the hash is kept there under the file's size, inode and times."""
    if cache_dir is None:
        return hash_file(path)
    try:
        info = path.stat()
    except OSError:
        return None
    identity = f"{path.resolve()}|{info.st_size}|{info.st_ino}|{info.st_mtime_ns}|{info.st_ctime_ns}"
    kept = cache_dir / hashlib.sha256(os.fsencode(identity)).hexdigest()
    try:
        return kept.read_text() or None
    except OSError:
        pass
    digest = hash_file(path)
    if digest is not None:
        try:
            atomic_write(private_dir(cache_dir) / kept.name, digest, durable=False)
        except OSError:
            return digest
    return digest


def hash_tree(*roots: Path) -> str | None:
    """Content hash of folders: relative names, the executable bit and contents. None when there is no file at all.

    Caches and version control do not count; a symbolic link counts as its target's text and is not followed.
    """
    digest = hashlib.sha256()
    count = 0
    for index, root in enumerate(roots):
        for path in _files(root):
            count += 1
            name = f"{index}/{path.relative_to(root).as_posix()}"
            if path.is_symlink():
                kind, content = "link", os.fsencode(os.readlink(path))
            else:
                kind = "exec" if os.access(path, os.X_OK) else "file"
                content = (hash_file(path) or "unreadable").encode()
            digest.update(f"{kind}\0{name}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
    return "sha256:" + digest.hexdigest() if count else None


def _files(root: Path) -> list[Path]:
    found: list[Path] = []
    for folder, dirs, files in os.walk(root):
        dirs[:] = [name for name in dirs if name not in _SKIPPED_DIRS]
        found += [Path(folder, name) for name in files if not name.endswith(".pyc")]
        found += [Path(folder, name) for name in dirs if Path(folder, name).is_symlink()]
    return sorted(found, key=lambda path: path.relative_to(root).as_posix())


@cache
def code_hash() -> str | None:
    """Content hash of the installed package's own source: two attempts with the same one were run by the same code."""
    package = Path(__file__).resolve().parent.parent
    parts = sorted(path for path in package.iterdir() if path.is_dir() and path.name not in _SHIPPED_DATA)
    top = {path.name: hash_file(path) for path in sorted(package.glob("*.py"))}
    return hash_json({"top": top, **{part.name: hash_tree(part) for part in parts}})

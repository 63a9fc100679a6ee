"""The agent's workspace: a copy of the task's `workspace/`, with git repositories made of its `*.repo` folders.

A catalogue lives in git itself and cannot hold a `.git`; so a folder called `NAME.repo` becomes the repository NAME
with one commit on `main`. Nothing in it points back to the catalogue: no history, no remote, a fixed neutral author and
date.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from devops_bench.errors import ConfigError, HarnessError, TaskError
from devops_bench.paths import DIR_MODE, private_dir
from devops_bench.tasks.spec import TaskSpec

REPO_SUFFIX = ".repo"
_GIT_TIMEOUT = 60.0  # seconds; a commit of a small tree takes milliseconds
_AUTHOR = {"NAME": "Platform Team", "EMAIL": "platform@example.com"}
_DATE = "2026-03-02T09:00:00+00:00"
_USER = ("On-call", "oncall@example.com")


def prepare_workspace(task: TaskSpec, dest: Path) -> Path:
    """Fill `dest` (made if missing) with the task's workspace; returns it.

    Raises TaskError for a link that leads out of the workspace, ConfigError when git is needed and missing.
    """
    private_dir(dest)
    source = task.folder / "workspace"
    if source.is_dir():
        _refuse_links_out(source)
        shutil.copytree(source, dest, symlinks=True, dirs_exist_ok=True)
        dest.chmod(DIR_MODE)  # copytree gave it the template's
        for folder in _repositories(dest):
            _make_repository(folder, folder.with_name(folder.name.removesuffix(REPO_SUFFIX)))
    return dest


def _refuse_links_out(source: Path) -> None:
    home = source.resolve()
    for path in source.rglob("*"):
        if path.is_symlink() and not path.resolve().is_relative_to(home):
            raise TaskError("links out of the workspace", where=path, fix="copy the file instead")


def _repositories(dest: Path) -> list[Path]:
    """`*.repo` folders, deepest first, so that renaming one does not move another."""
    found = [path for path in dest.rglob(f"*{REPO_SUFFIX}") if path.is_dir() and not path.is_symlink()]
    return sorted(found, key=lambda path: len(path.parts), reverse=True)


def _make_repository(source: Path, target: Path) -> None:
    if target.exists():
        raise TaskError(f"workspace holds both {target.name} and {source.name}", where=source, fix="rename one")
    source.rename(target)
    _git(target, "init", "--quiet", "--initial-branch=main", "--template=")
    _git(target, "add", "--all")
    _git(target, "commit", "--quiet", "--message=Import")
    # The agent commits as somebody: without this its first commit is an error about who it is.
    _git(target, "config", "user.name", _USER[0])
    _git(target, "config", "user.email", _USER[1])


def _git(folder: Path, *args: str) -> None:
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_DATE": _DATE,
        "GIT_COMMITTER_DATE": _DATE,
        **{f"GIT_{who}_{part}": text for who in ("AUTHOR", "COMMITTER") for part, text in _AUTHOR.items()},
    }
    command = ["git", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null", "-c", "safe.directory=*", *args]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            capture_output=True,
            timeout=_GIT_TIMEOUT,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError:
        raise ConfigError("this task needs git on the host", fix="install git") from None
    except subprocess.TimeoutExpired:
        raise HarnessError(f"git {args[0]} did not end within {_GIT_TIMEOUT:g} s", where=folder) from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise HarnessError(f"git {args[0]} failed: {said[-1] if said else done.returncode}", where=folder)

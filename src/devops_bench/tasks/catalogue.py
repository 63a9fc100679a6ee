"""Which tasks there are: from words a user writes (`ALL`, folders, files) to task files with unique keys."""

from __future__ import annotations

import hashlib
import os
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.tasks.suggest import did_you_mean

ALL = "ALL"
TASK_FILE = "task.yaml"


@dataclass(frozen=True, slots=True)
class FoundTask:
    """A task on disk: its absolute task.yaml, and the key that no other task of the same search has."""

    file: Path
    key: str

    @property
    def folder(self) -> Path:
        """The folder that holds task.yaml."""
        return self.file.parent


def catalogue_root(cwd: Path | None = None) -> Path:
    """`./tasks` if it exists, else the catalogue inside the installed package. ConfigError if neither is there."""
    here = (cwd or Path.cwd()) / "tasks"
    if here.is_dir():
        return here.absolute()
    package = Path(__file__).resolve().parents[1]
    for candidate in (package / "_catalogue", package.parents[1] / "tasks"):
        if candidate.is_dir():
            return candidate
    raise ConfigError("no task catalogue found", where=here, fix="run inside a checkout, or give task paths")


def split_words(text: str) -> list[str]:
    """Task words as a shell splits them, so that quotes keep a path with spaces whole."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ConfigError(f"MATRIX_TASKS cannot be split ({error})", fix="balance the quotes") from None


def find_tasks(words: str | Sequence[str], root: Path | None = None, cwd: Path | None = None) -> list[FoundTask]:
    """The tasks that `words` mean, in order, each once.

    A word is `ALL`, a task.yaml, a task's folder, a folder of tasks, or a catalogue key (`common/opa-remediation`).
    A string is split like a shell does. `root` is the catalogue (default: `catalogue_root()`); relative paths start at
    `cwd`.
    Raises ConfigError for a missing path or when nothing is found.
    """
    here = (cwd or Path.cwd()).absolute()
    parts = split_words(words) if isinstance(words, str) else list(words)
    files: list[Path] = []
    for position, word in enumerate(parts):
        files.extend(_expand(word, position, parts, root, here))
    unique = list(dict.fromkeys(files))
    if not unique:
        raise ConfigError("no tasks given" if not parts else f"no {TASK_FILE} found", fix="name a task folder, or ALL")
    return _with_keys(unique)


def _expand(word: str, position: int, words: Sequence[str], root: Path | None, cwd: Path) -> list[Path]:
    if word == ALL:
        return sorted(_below(root or catalogue_root(cwd)))
    path = Path(word).expanduser()
    path = path if path.is_absolute() else cwd / path
    if path.is_file():
        return [_normal(path)]
    if (path / TASK_FILE).is_file():
        return [_normal(path / TASK_FILE)]
    if path.is_dir():
        found = sorted(_below(path))
        if not found:
            raise ConfigError(f"no {TASK_FILE} below it", where=word, fix="name a task folder, or ALL")
        return found
    from_catalogue = _by_key(word, root, cwd)
    if from_catalogue:
        return from_catalogue
    raise ConfigError("no such task", where=word, fix=_missing_hint(position, words, root, cwd))


def _by_key(word: str, root: Path | None, cwd: Path) -> list[Path]:
    """A key of the catalogue, with or without `tasks/` and `/task.yaml`: a shipped catalogue answers the same words."""
    try:
        base = root or catalogue_root(cwd)
    except ConfigError:
        return []
    key = word.removeprefix("./").removeprefix("tasks/").removesuffix("/").removesuffix(f"/{TASK_FILE}")
    candidate = base / key
    if not key or ".." in Path(key).parts or Path(key).is_absolute():
        return []
    if (candidate / TASK_FILE).is_file():
        return [_normal(candidate / TASK_FILE)]
    return sorted(_below(candidate)) if candidate.is_dir() else []


def _missing_hint(position: int, words: Sequence[str], root: Path | None, cwd: Path) -> str:
    for start in range(position + 1):
        for end in range(position + 1, len(words) + 1):
            joined = " ".join(words[start:end])
            if end - start > 1 and (cwd / Path(joined).expanduser()).exists():
                return f"quote the path with a space: {shlex.quote(joined)}"
    try:
        known = [found.key for found in _with_keys(sorted(_below(root or catalogue_root(cwd))))]
    except ConfigError:
        known = []
    close = did_you_mean(words[position].removeprefix("tasks/").removesuffix(f"/{TASK_FILE}"), known)
    if close.startswith("did you mean"):
        return close
    return "check the path; quote it if it has a space"


def _below(folder: Path) -> Iterable[Path]:
    """All task files below `folder`; a task's own sub-folders are not searched."""
    for current, dirs, names in os.walk(folder):
        if TASK_FILE in names:
            dirs.clear()
            yield _normal(Path(current) / TASK_FILE)
            continue
        dirs[:] = sorted(name for name in dirs if not name.startswith("."))


def _normal(path: Path) -> Path:
    return Path(os.path.normpath(path.absolute()))


def _with_keys(files: Sequence[Path]) -> list[FoundTask]:
    """Keys as short as can be while unique: the path below `tasks/`, with more parents where two would be equal."""
    from devops_bench.tasks.loader import default_key

    keys = {file: default_key(file.parent) for file in files}
    while True:
        by_key: dict[str, list[Path]] = {}
        for file, key in keys.items():
            by_key.setdefault(key.casefold(), []).append(file)
        clashes = [file for group in by_key.values() if len(group) > 1 for file in group]
        if not clashes:
            return [FoundTask(file, keys[file]) for file in files]
        for file in clashes:
            keys[file] = _longer(file.parent, keys[file])


def _longer(folder: Path, key: str) -> str:
    """`key` with one more parent folder in front; at the root of the file system a number keeps it apart."""
    parts = [part for part in folder.parts if part != folder.anchor]
    used = len([part for part in key.split("/") if part])
    if used < len(parts):
        return "/".join(parts[-(used + 1) :])
    return f"{key}-{hashlib.sha256(str(folder).encode()).hexdigest()[:6]}"

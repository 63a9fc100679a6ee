"""From the tasks as written to loaded tasks, each once: the only part of the matrix that opens task files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError, TaskError
from devops_bench.matrix.spec import ALL, TaskRef
from devops_bench.plaintext import counted
from devops_bench.tasks import content_hash, find_tasks, load_task
from devops_bench.tasks.spec import TaskSpec


@dataclass(frozen=True, slots=True)
class Selected:
    """A task of the matrix: where it is, what it says, and the content hash of its folder."""

    file: Path
    spec: TaskSpec
    hash: str


def select_tasks(refs: Sequence[TaskRef]) -> tuple[tuple[Selected, ...], tuple[str, ...]]:
    """The tasks that `refs` mean, in order, each once however it is spelt; and notes on those given more than once.

    Raises ConfigError for a path that is not there, TaskError for a task that cannot be read completely.
    """
    found, notes = _files(refs)
    tasks: list[Selected] = []
    broken: list[TaskError] = []
    for item in find_tasks([str(file) for file in found]):
        try:
            spec = load_task(item.file, key=item.key, strict=True)
        except TaskError as error:
            broken.append(error)
            continue
        tasks.append(Selected(item.file, spec, content_hash(item.folder)))
    if broken:
        first, others = broken[0], len(broken) - 1
        more = f" (and {counted(others, 'more task')} cannot be read)" if others else ""
        raise TaskError(first.what + more, where=first.where, line=first.line, fix=first.fix)
    return tuple(tasks), notes


def _files(refs: Sequence[TaskRef]) -> tuple[list[Path], tuple[str, ...]]:
    """All task files once. Two spellings or a symlink of one folder are one task."""
    words = [word for ref in refs for word in _patterns(ref)]
    if not words:
        raise ConfigError("no tasks given", fix="name a task folder, or ALL")
    by_identity: dict[tuple[int, int], Path] = {}
    notes: list[str] = []
    base = refs[0].base
    # All words at once first: the message about a missing one looks at its neighbours for a path with a space.
    find_tasks(words, cwd=base)
    for word in words:
        for item in find_tasks([word], cwd=base):
            status = item.file.stat()
            identity = (status.st_dev, status.st_ino)
            if identity in by_identity:
                same = by_identity[identity].parent
                spelt = "" if same == item.folder else f" (also as {item.folder})"
                notes.append(f"task {same}{spelt} is given more than once: runs once")
            else:
                by_identity[identity] = item.file
    return list(by_identity.values()), tuple(dict.fromkeys(notes))


def _patterns(ref: TaskRef) -> list[str]:
    """A pattern (`tasks/common/*`) as a shell would expand it; anything else as it stands."""
    path = ref.base / Path(ref.text).expanduser()
    if ref.text == ALL or not any(sign in ref.text for sign in "*?[") or os.path.lexists(path):
        return [ref.text]
    relative = path.relative_to(path.anchor)
    try:
        hits = sorted(Path(path.anchor).glob(str(relative)))
    except (OSError, ValueError, NotImplementedError):
        hits = []
    tasks = [str(hit) for hit in hits if hit.name == "task.yaml" or (hit / "task.yaml").is_file()]
    if not tasks:
        raise ConfigError(
            f"no task fits the pattern {ref.text!r}",
            where=ref.place.where,
            line=ref.place.line,
            fix="check it, or name a task folder",
        )
    return tasks

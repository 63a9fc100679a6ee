"""What a rule looks at: a task as far as it could be read, with its text and lines; and what it yields."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from devops_bench.errors import TaskError
from devops_bench.tasks.catalogue import FoundTask
from devops_bench.tasks.checks import CheckBase, Group
from devops_bench.tasks.loader import load_task
from devops_bench.tasks.spec import Entry, TaskSpec
from devops_bench.tasks.yaml_source import Document, Loc, parse, parse_all, read_text

_TEXT_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that a rule found. Without `path` it is task.yaml; `line` is 1-based."""

    line: int
    what: str
    fix: str = ""
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """A hit with its rule and file."""

    path: Path
    line: int
    rule: str
    what: str
    fix: str

    @classmethod
    def of(cls, rule: str, hit: Hit, subject: Subject) -> Finding:
        """The hit of `rule` on `subject`."""
        return cls(hit.path or subject.found.file, hit.line, rule, hit.what, hit.fix)

    def as_data(self) -> dict[str, Any]:
        """JSON types."""
        return {"path": str(self.path), "line": self.line, "rule": self.rule, "what": self.what, "fix": self.fix}


class Subject:
    """One task under review. `spec` is None when it does not load; `error` says why."""

    def __init__(self, found: FoundTask, spec: TaskSpec | None, error: TaskError | None) -> None:
        self.found = found
        self.spec = spec
        self.error = error

    @property
    def folder(self) -> Path:
        """The task's folder."""
        return self.found.folder

    @cached_property
    def doc(self) -> Document:
        """task.yaml with its lines; empty when it is no YAML."""
        try:
            return parse(read_text(self.found.file), self.found.file)
        except TaskError:
            return Document(None, {(): 1})

    @cached_property
    def text(self) -> str:
        """The text of task.yaml."""
        try:
            return read_text(self.found.file)
        except TaskError:
            return ""

    def line(self, *loc: str | int) -> int:
        """The line of a place in task.yaml."""
        return self.doc.line(loc)

    def entries(self) -> Iterator[tuple[Entry, Loc]]:
        """Readable entries with their place in the file."""
        if self.spec is None or not isinstance(self.doc.data, dict):
            return
        raw = self.doc.data.get("verification_spec") or []
        places = {item.get("name"): index for index, item in enumerate(raw) if isinstance(item, dict)}
        for entry in self.spec.verification_spec:
            yield entry, ("verification_spec", places.get(entry.name, 0))

    def checks(self) -> Iterator[tuple[Entry, CheckBase, int]]:
        """(entry, check, line) of every single check, groups taken apart."""
        for entry, loc in self.entries():
            key = "check" if self.doc.lines.get((*loc, "check")) else "spec"
            for check, place in leaves(entry.check, (*loc, key)):
                yield entry, check, self.doc.line(place)

    def setup_objects(self) -> Iterator[tuple[Path, int, dict[str, Any]]]:
        """(file, line, object) of the manifests in setup/; files that are no YAML are left to other rules."""
        for path in sorted((self.folder / "setup").glob("*.y*ml")):
            if path.name.endswith("wait.yaml"):
                continue
            try:
                documents = parse_all(read_text(path), path)
            except TaskError:
                continue
            for doc in documents:
                if isinstance(doc.data, dict):
                    yield path, doc.line(()), doc.data

    def files(self, *folders: str) -> Iterator[tuple[Path, list[str]]]:
        """Text files below the task's `folders` with their lines."""
        for folder in folders:
            for path in sorted((self.folder / folder).rglob("*")):
                if path.is_file() and not path.is_symlink() and path.stat().st_size <= _TEXT_LIMIT:
                    try:
                        yield path, path.read_text(encoding="utf-8").splitlines()
                    except UnicodeDecodeError:
                        continue


def leaves(check: CheckBase, loc: Loc) -> Iterator[tuple[CheckBase, Loc]]:
    """The single checks inside `check`, with their places."""
    if isinstance(check, Group):
        for index, child in enumerate(check.checks):
            yield from leaves(child, (*loc, "checks", index))
    else:
        yield check, loc


def read_subject(found: FoundTask) -> Subject:
    """Load the task as far as it goes."""
    try:
        return Subject(found, load_task(found.file, key=found.key), None)
    except TaskError as error:
        return Subject(found, None, error)

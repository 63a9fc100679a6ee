"""`task.yaml` (and `cluster.yaml`, `stages/` beside it) to a TaskSpec, or one line with file, line and suggestion.

What is wrong with the task as a whole raises TaskError. What is wrong inside one verification entry is kept as a
ParseFailure in `parse_failures` (see entries.py); `strict=True` raises for those as well.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from devops_bench.errors import TaskError
from devops_bench.tasks import placeholders
from devops_bench.tasks.entries import first_problem, read_entry, without_nulls
from devops_bench.tasks.spec import ChaosEntry, ClusterNeeds, Entry, ParseFailure, TaskSpec
from devops_bench.tasks.suggest import did_you_mean, kind_of
from devops_bench.tasks.yaml_source import Document, Loc, parse, parse_all, read_text

TASK_FILE = "task.yaml"
CLUSTER_FILE = "cluster.yaml"
ALIASES = {"id": "task_id", "goal": "prompt", "input": "prompt"}
_NOT_IN_FILE = {"folder", "key", "parse_failures", "cluster"}
KNOWN_KEYS = sorted((set(TaskSpec.model_fields) - _NOT_IN_FILE) | set(ALIASES))
_SPEC_FIELDS = ("prompt", "expected_output", "verification_spec", "chaos_spec")

M = TypeVar("M", bound=BaseModel)


def task_file(path: Path) -> Path:
    """The task.yaml that `path` (it, or its folder) means. TaskError when there is none."""
    file = path / TASK_FILE if path.is_dir() else path
    if not file.is_file():
        other = path / "task.yml"
        hint = "rename task.yml to task.yaml" if other.is_file() else f"a task is a folder with a {TASK_FILE}"
        raise TaskError("no such task", where=file, fix=hint)
    return file.absolute()


def load_task(path: Path | str, *, key: str | None = None, strict: bool = False) -> TaskSpec:
    """Load the task in folder or file `path`; placeholders stay in place.

    `key` is the task's unique id among those loaded together (`find_tasks` gives it); by default the folder's path
    below the nearest folder called `tasks`. Raises TaskError with file:line.
    """
    file = task_file(Path(path))
    doc = parse(read_text(file), file)
    raw = _top_level(doc, file)
    entries, failures = _entries(raw.pop("verification_spec", []), doc, file)
    chaos = _chaos(raw.get("chaos_spec", []), entries, failures, doc, file)
    _check_placeholders(doc, file)
    if strict and failures:
        raise TaskError(f"{failures[0].name}: {failures[0].reason}", where=file, line=failures[0].line)
    given = dict(raw)
    if chaos:
        given["chaos_spec"] = chaos
    given.setdefault("task_id", given.get("name", file.parent.name))
    given.setdefault("name", given["task_id"])
    identity = {"folder": str(file.parent), "key": key or default_key(file.parent)}
    spec = _validated(TaskSpec, {**given, **identity}, doc, file)
    spec = spec.model_copy(
        update={"verification_spec": entries, "parse_failures": failures, "cluster": load_cluster(file.parent)}
    )
    _check_shape(spec, doc, file)
    return spec


def default_key(folder: Path) -> str:
    """The folder's path below the nearest enclosing `tasks` or `_catalogue` folder, else its own name."""
    parts = folder.absolute().parts
    for index in range(len(parts) - 2, -1, -1):
        if parts[index] in {"tasks", "_catalogue"}:
            return "/".join(parts[index + 1 :])
    return folder.absolute().name


def load_cluster(folder: Path) -> ClusterNeeds:
    """`cluster.yaml` beside task.yaml, with the absolute paths of all stage files. Raises TaskError with file:line."""
    file = folder / CLUSTER_FILE
    needs = ClusterNeeds()
    doc = Document(None, {(): 1})
    if file.is_file():
        doc = parse(read_text(file), file)
        if doc.data is not None and not isinstance(doc.data, dict):
            raise TaskError(f"must be a mapping, not {kind_of(doc.data)}", where=file, line=1)
        needs = _validated(ClusterNeeds, without_nulls(doc.data or {}), doc, file)
    stages = [str(path) for path in sorted((folder / "stages").glob("*.yaml"))]
    for index, name in enumerate(needs.stages):
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            line = doc.line(("stages", index))
            raise TaskError(
                f"stage file {name!r} is not in the task folder", where=file, line=line, fix="put it in stages/"
            )
        if str(path) not in stages:
            stages.append(str(path))
    for stage in stages:
        _check_stage(Path(stage))
    return needs.model_copy(update={"stages": stages})


def _check_stage(path: Path) -> None:
    for doc in parse_all(read_text(path), path):
        if doc.data is None:
            continue
        if not isinstance(doc.data, dict) or doc.data.get("kind") != "Stage":
            raise TaskError("is not a kwok Stage", where=path, line=doc.line(()), fix="each document needs kind: Stage")
        if "exec" in json.dumps(doc.data).lower():
            raise TaskError("a stage may not use exec: it would run on the host", where=path, line=doc.line(("spec",)))


def _top_level(doc: Document, file: Path) -> dict[str, Any]:
    if not isinstance(doc.data, dict):
        raise TaskError(f"a task must be a mapping, not {kind_of(doc.data)}", where=file, line=doc.line(()))
    raw: dict[str, Any] = {}
    data: dict[str, Any] = doc.data
    for name, value in data.items():
        if name in _NOT_IN_FILE or name not in KNOWN_KEYS:
            raise TaskError(
                f"unknown key {name!r}", where=file, line=doc.line((name,)), fix=did_you_mean(name, KNOWN_KEYS)
            )
        target = ALIASES.get(name, name)
        if target in raw:
            twice = f"{name!r} is the same field as an earlier key ({target})"
            raise TaskError(twice, where=file, line=doc.line((name,)), fix="remove one")
        if value is not None:
            raw[target] = value
    if isinstance(raw.get("task_id"), int) and not isinstance(raw["task_id"], bool):
        raw["task_id"] = str(raw["task_id"])
    if isinstance(raw.get("infrastructure"), dict):
        raw["infrastructure"] = without_nulls(raw["infrastructure"])
    if "prompt" not in raw or (isinstance(raw["prompt"], str) and not raw["prompt"].strip()):
        line = doc.line(("prompt",)) if "prompt" in doc.data else 1
        raise TaskError("prompt is missing or empty", where=file, line=line, fix="say what the agent is asked to do")
    return raw


def _entries(raw: Any, doc: Document, file: Path) -> tuple[list[Entry], list[ParseFailure]]:
    if not isinstance(raw, list):
        raise TaskError(
            f"verification_spec must be a list, not {kind_of(raw)}", where=file, line=doc.line(("verification_spec",))
        )
    entries: list[Entry] = []
    failures: list[ParseFailure] = []
    seen: dict[str, int] = {}
    for index, item in enumerate(raw):
        line = doc.line(("verification_spec", index, "name"))
        read = read_entry(item, index, doc)
        if read.name in seen:
            raise TaskError(
                f"entry name {read.name!r} is used twice (first on line {seen[read.name]})",
                where=file,
                line=line,
                fix="names are unique: scores and reports go by them",
            )
        seen[read.name] = line
        if isinstance(read, Entry):
            entries.append(read)
        else:
            failures.append(read)
    return entries, failures


def _chaos(
    raw: Any, entries: list[Entry], failures: list[ParseFailure], doc: Document, file: Path
) -> list[dict[str, Any]]:
    if not isinstance(raw, list):
        raise TaskError(f"chaos_spec must be a list, not {kind_of(raw)}", where=file, line=doc.line(("chaos_spec",)))
    names = [entry.name for entry in entries] + [failure.name for failure in failures]
    chaos = []
    for index, item in enumerate(raw):
        loc: Loc = ("chaos_spec", index)
        if not isinstance(item, dict):
            raise TaskError(f"a chaos entry must be a mapping, not {kind_of(item)}", where=file, line=doc.line(loc))
        entry = _validated(ChaosEntry, item, doc, file, loc)
        if entry.verify is not None and entry.verify not in names:
            raise TaskError(
                f"chaos entry {entry.name!r} verifies {entry.verify!r}, which is no verification entry",
                where=file,
                line=doc.line((*loc, "verify")),
                fix=did_you_mean(entry.verify, names) or "name an entry of verification_spec",
            )
        chaos.append(entry.model_dump(mode="json"))
    return chaos


def _check_placeholders(doc: Document, file: Path) -> None:
    texts = {name: value for name, value in doc.data.items() if ALIASES.get(name, name) in _SPEC_FIELDS}
    if not any(True for value in texts.values() for _ in placeholders.unknown(json.dumps(value, ensure_ascii=False))):
        return
    for name, line, suggestion in placeholders.unknown(file.read_text(encoding="utf-8")):
        raise TaskError(f"unknown placeholder {{{{{name}}}}}", where=file, line=line, fix=suggestion)


def _check_shape(spec: TaskSpec, doc: Document, file: Path) -> None:
    """What `validated: true` promises."""
    if not spec.validated:
        return
    line = doc.line(("validated",))
    for field in ("title", "summary", "category"):
        if not getattr(spec, field):
            raise TaskError(f"validated: true needs {field}", where=file, line=line, fix=f"add {field}: ...")
    raw_entries = doc.data.get("verification_spec") or []
    for index, raw in enumerate(raw_entries):
        for field in ("title", "description"):
            if not isinstance(raw, dict) or not raw.get(field):
                here = doc.line(("verification_spec", index))
                raise TaskError(
                    f"validated: true needs a {field} on every entry", where=file, line=here, fix=f"add {field}"
                )


def _validated(model: type[M], data: dict[str, Any], doc: Document, file: Path, base: Loc = ()) -> M:
    try:
        return model.model_validate_json(json.dumps(data, allow_nan=False))
    except ValidationError as error:
        loc, what = first_problem(error, data, model)
        raise TaskError(what, where=file, line=doc.line((*base, *_spelled(loc, doc)))) from None
    except ValueError:
        raise TaskError("holds a number that is not finite", where=file, line=doc.line(base)) from None


def _spelled(loc: Loc, doc: Document) -> Loc:
    """`loc` with the first key as the file spells it."""
    if loc and isinstance(doc.data, dict) and loc[0] not in doc.data:
        for alias, target in ALIASES.items():
            if target == loc[0] and alias in doc.data:
                return (alias, *loc[1:])
    return loc

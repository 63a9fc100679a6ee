"""One verification entry from raw data: an Entry, or a ParseFailure that will count as an unmet objective.

A broken entry must neither be dropped (it would raise scores) nor stop an old task from running; the review, `validate`
and the preflight report it as an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from devops_bench.tasks.checks import CHECK_TYPES, Group
from devops_bench.tasks.semantics import entry_problems
from devops_bench.tasks.spec import Entry, ParseFailure
from devops_bench.tasks.suggest import did_you_mean, explain, kind_of
from devops_bench.tasks.yaml_source import Document, Loc

KEEP_NULL = {"value"}  # `value: null` compares with null; every other empty block is the field's default


def without_nulls(raw: Mapping[str, Any]) -> dict[str, Any]:
    """`raw` without keys whose block is empty."""
    return {key: item for key, item in raw.items() if item is not None or key in KEEP_NULL}


def read_entry(raw: Any, index: int, doc: Document, base: Loc = ("verification_spec",)) -> Entry | ParseFailure:
    """The entry at `index`. Names are given to nameless failures, so that a report can speak of them."""
    loc: Loc = (*base, index)
    if not isinstance(raw, dict):
        return ParseFailure(
            name=f"entry-{index + 1}", reason=f"an entry must be a mapping, not {kind_of(raw)}", line=doc.line(loc)
        )
    name = raw["name"] if isinstance(raw.get("name"), str) and raw["name"] else f"entry-{index + 1}"

    def failure(place: Loc, reason: str) -> ParseFailure:
        return ParseFailure(name=name, reason=reason, line=doc.line((*loc, *_as_written(place, raw))))

    data = without_nulls(raw)
    if "check" in data and "spec" in data:
        return failure(("spec",), "check and spec mean the same; keep check")
    if "spec" in data:
        data["check"] = data.pop("spec")
        data.setdefault("role", "objective")
    if isinstance(data.get("check"), dict):
        data["check"] = _clean_check(data["check"])
    problem = _check_type_problem(data.get("check"), ("check",))
    if problem:
        return failure(*problem)
    try:
        entry = Entry.model_validate_json(json.dumps(data))
    except ValidationError as error:
        return failure(*first_problem(error, data, Entry))
    except (ValueError, RecursionError):
        return failure((), "holds a number that is not finite or a value that is nested too deep")
    for place, reason in entry_problems(entry, data):
        return failure(place, reason)
    return entry


def _as_written(place: Loc, raw: Mapping[str, Any]) -> Loc:
    """`check` is called `spec` in the older shape."""
    if place and place[0] == "check" and "check" not in raw and "spec" in raw:
        return ("spec", *place[1:])
    return place


def _clean_check(raw: dict[str, Any]) -> dict[str, Any]:
    clean = without_nulls(raw)
    if isinstance(clean.get("checks"), list):
        clean["checks"] = [_clean_check(child) if isinstance(child, dict) else child for child in clean["checks"]]
    return clean


def _check_type_problem(raw: Any, loc: Loc) -> tuple[Loc, str] | None:
    """A wrong `type` is worded here: pydantic's union errors repeat every member."""
    if not isinstance(raw, dict):
        return (loc, f"check must be a mapping, not {kind_of(raw)}") if raw is not None else None
    kind = raw.get("type")
    if kind is None:
        return loc, "check has no type; " + f"use one of: {', '.join(CHECK_TYPES)}"
    if not isinstance(kind, str) or kind not in CHECK_TYPES:
        return (*loc, "type"), f"unknown check type {kind!r}; {did_you_mean(str(kind), CHECK_TYPES)}"
    if CHECK_TYPES[kind] is Group and isinstance(raw.get("checks"), list):
        for index, child in enumerate(raw["checks"]):
            found = _check_type_problem(child if child is not None else "", (*loc, "checks", index))
            if found:
                return found
    return None


def first_problem(error: ValidationError, data: Any, model: type[BaseModel]) -> tuple[Loc, str]:
    """(place in `data`, one line) of the most telling of pydantic's errors: an unknown key explains a missing one."""
    order = {"extra_forbidden": 0, "missing": 1}
    found = min(error.errors(include_url=False), key=lambda item: order.get(item["type"], 2))
    loc, owner = _real_location(found["loc"], data)
    known = _keys_at(owner, model, loc)
    value = found["input"] if not isinstance(found["input"], BaseModel) else None
    return loc, explain(found["type"], loc, value, dict(found.get("ctx") or {}), known)


def _real_location(loc: tuple[int | str, ...], data: Any) -> tuple[Loc, Any]:
    """Pydantic's location without the union tags that it adds, and the mapping that holds its last key."""
    real: list[str | int] = []
    here = data
    owner = data
    last = len(loc) - 1
    entered = True  # just stepped into `here`: the next part may be the tag of its union
    for position, part in enumerate(loc):
        if entered and isinstance(here, dict) and part in CHECK_TYPES and here.get("type") == part:
            entered = False
            continue
        entered = True
        inside = (isinstance(here, dict) and part in here) or (
            isinstance(here, list) and isinstance(part, int) and part < len(here)
        )
        if inside:
            owner = here
            here = here[part]
            real.append(part)
        elif position == last and part not in CHECK_TYPES:
            owner = here
            real.append(part)
    return tuple(real), owner


def _keys_at(owner: Any, model: type[BaseModel], loc: Loc) -> list[str]:
    """The keys that may stand beside the last part of `loc`."""
    if isinstance(owner, dict) and isinstance(owner.get("type"), str) and owner["type"] in CHECK_TYPES:
        return list(CHECK_TYPES[owner["type"]].model_fields)
    here: Any = model
    for part in loc[:-1]:
        if isinstance(part, int):
            continue
        field = here.model_fields.get(part) if isinstance(here, type) and issubclass(here, BaseModel) else None
        here = _model_in(field.annotation) if field else None
    return list(here.model_fields) if isinstance(here, type) and issubclass(here, BaseModel) else []


def _model_in(annotation: Any) -> Any:
    """The pydantic model inside `list[X]`, `X | None`, `dict[str, X]`; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for argument in getattr(annotation, "__args__", ()):
        found = _model_in(argument)
        if found is not None:
            return found
    return None

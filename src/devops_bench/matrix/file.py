"""`matrix.yaml`: the axes in a file that a team keeps beside its tasks. Read strictly, with file:line errors.

Keys are the axes of `sources.AXES` without those of a single launch (dry run, stamp, host); `judge` and `chaos` are
pairs of `model` and `provider`; `env` holds non-secret variables for every combo. Paths count from the file's folder.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from devops_bench.errors import ConfigError, TaskError
from devops_bench.matrix.presets import Place
from devops_bench.matrix.sources import Given, plain_value
from devops_bench.redact import is_secret_name
from devops_bench.tasks.suggest import explain
from devops_bench.tasks.yaml_source import Document, Loc, parse, read_text

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


def _listed(value: object) -> object:
    """A single text is a list of one: `tasks: ALL`."""
    return [value] if isinstance(value, str) else value


def _argv(value: object) -> object:
    """A single text is a command line: `mcp_server: npx server --flag`."""
    try:
        return shlex.split(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("has a quote that is not closed") from None


def _comma_separated(value: object) -> object:
    """A single text is a list as SKILLS_PATHS has it."""
    return [piece.strip() for piece in value.split(",")] if isinstance(value, str) else value


Words = Annotated[list[str], BeforeValidator(_listed)]
Argv = Annotated[list[str], BeforeValidator(_argv)]
Paths = Annotated[list[str], BeforeValidator(_comma_separated)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ModelPair(_Strict):
    """A model beside the ones under test, and its provider."""

    model: str
    provider: str | None = None


class MatrixFile(_Strict):
    """What a matrix file may say; everything is optional, since flags and environment may say the rest."""

    tasks: Words | None = None
    models: Words | None = None
    configs: Words | None = None
    repeats: int | None = None
    max_parallel: int | None = None
    agent_timeout_sec: float | None = None
    agent_max_turns: int | None = None
    agent_provider: str | None = None
    agent_extra_flags: Argv | None = None
    mcp_server: Argv | None = None
    skills_paths: Paths | None = None
    scenarios_dir: str | None = None
    sandbox: bool | str | None = None
    provider: str | None = None
    cluster_name: str | None = None
    location: str | None = None
    project: str | None = None
    judge: ModelPair | None = None
    chaos: ModelPair | None = None
    vertex: bool | None = None
    no_teardown: bool | None = None
    results_dir: str | None = None
    skip_model_preflight: bool | None = None
    env: dict[str, str] | None = None


def read_matrix_file(path: Path) -> tuple[dict[str, Given], dict[str, str]]:
    """The values of a matrix file by axis, each with its line, and its `env`.

    Raises ConfigError at the file and line of the first thing that is wrong.
    """
    try:
        doc = parse(read_text(path), path)
    except TaskError as error:  # worded for any YAML file; here it is the user's configuration that is wrong
        raise ConfigError(error.what, where=error.where, line=error.line, fix=error.fix) from None
    if not isinstance(doc.data, dict) or not doc.data:
        raise ConfigError(
            "is not a mapping", where=path, line=doc.line(()), fix="write at least `tasks:` and `models:`"
        )
    _check_env(doc, path)
    try:
        parsed = MatrixFile.model_validate(doc.data)
    except ValidationError as error:
        raise _first_problem(error, doc, path) from None
    found: dict[str, Given] = {}

    def give(axis: str, loc: Loc, value: object) -> None:
        if plain := plain_value(value):
            found[axis] = Given(plain, Place(str(path), doc.line(loc)), path.parent)

    for key, value in parsed:
        if isinstance(value, ModelPair):
            for part, text in value:
                give(f"{key}_{part}", (key, part), text)
        elif key != "env":
            give(key, (key,), value)
    return found, dict(parsed.env or {})


def _check_env(doc: Document, path: Path) -> None:
    """Before anything else, so that no later message can quote a secret."""
    env = doc.data.get("env")
    for name in env if isinstance(env, dict) else ():
        line = doc.line(("env", name))
        if is_secret_name(name):
            raise ConfigError(f"{name} is a secret", where=path, line=line, fix="put it into ~/secrets.env, mode 600")
        if not _VARIABLE.fullmatch(name):
            raise ConfigError(
                f"{name!r} is not a variable name", where=path, line=line, fix="use letters, digits and _"
            )


def _first_problem(error: ValidationError, doc: Document, path: Path) -> ConfigError:
    """The first problem in the file's order, and how many lines have others."""
    problems: list[tuple[int, Any]] = [(doc.line(item["loc"]), item) for item in error.errors(include_url=False)]
    # An unknown key explains a missing one, so it goes first.
    line, item = min(problems, key=lambda pair: (pair[1]["type"] != "extra_forbidden", pair[0]))
    loc = tuple(part for part in item["loc"] if part not in {"bool", "str"} or part in doc.data)
    known = ModelPair.model_fields if loc[0] in {"judge", "chaos"} else MatrixFile.model_fields
    what, _, fix = explain(item["type"], loc, item["input"], item.get("ctx", {}), known).partition("; ")
    others = len({number for number, _ in problems}) - 1
    return ConfigError(what + (f" (and {others} more)" if others else ""), where=path, line=line, fix=fix)

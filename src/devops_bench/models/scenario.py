"""Scenario files: what a scripted model says, turn by turn. Read strictly; every mistake is one line with file:line.

```yaml
model: gemini-2.5-pro            # optional: also play for requests that name this model (text or list)
usage: {input: 1200, output: 80} # optional default per turn; what is not given is estimated from the sizes
sections:                        # the first whose `when` (a regular expression) is in the user's text
  - when: paused rollout
    turns:
      - shell: kubectl -n web get deploy
      - calls: [{shell: date}, {file: {action: read, path: notes.md}}]   # parallel tool calls
      - text: "The cluster said {{last_result}}"
turns:                           # the default section; without it the model says that it does not know the task
  - {fault: 429, times: 1, text: Done.}
```

A turn holds `text`, `thinking`, one of the verbs `shell` `file` `mcp` `skill` `tool`, or `calls` (several), a
`fault`, and `usage` and `delay` (seconds). A plain string is a text. Faults: an HTTP status, or hang, garbage, cut,
empty, refusal, max_tokens; with `times: N` the first N requests for that turn fail and later ones get the rest of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from devops_bench.errors import ConfigError, TaskError
from devops_bench.tasks.suggest import explain
from devops_bench.tasks.yaml_source import Document, parse, read_text

SUFFIXES = (".yaml", ".yml", ".json")
# A name is part of a model id and of a URL.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


class FaultKind(StrEnum):
    """What can go wrong beside an HTTP status."""

    HTTP = "http"
    HANG = "hang"
    GARBAGE = "garbage"
    CUT = "cut"
    EMPTY = "empty"
    REFUSAL = "refusal"
    MAX_TOKENS = "max_tokens"


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


def _regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return pattern


def _short(key: str) -> BeforeValidator:
    """`shell: ls` stands for `shell: {command: ls}`."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


def _fault(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"status": value}
    return {"kind": value} if isinstance(value, str) else value


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class Usage(_Strict):
    """Tokens of one turn; `output` includes `reasoning`, `input` includes `cached`."""

    input: int | None = Field(None, ge=0)
    output: int | None = Field(None, ge=0)
    cached: int | None = Field(None, ge=0)
    cache_write: int | None = Field(None, ge=0)
    reasoning: int | None = Field(None, ge=0)


class Shell(_Strict):
    """Run a command."""

    command: str = Field(min_length=1)


class File(_Strict):
    """Read, write (`content`) or edit (`old` becomes `new`) a file."""

    action: Literal["read", "write", "edit"]
    path: str = Field(min_length=1)
    content: str = ""
    old: str = ""
    new: str = ""


class Mcp(_Strict):
    """Call a tool of an MCP server; without `server`, of the one that has it."""

    tool: str = Field(min_length=1)
    server: str | None = None
    args: dict[str, Any] = Field(default_factory=dict)


class Skill(_Strict):
    """Use a skill."""

    name: str = Field(min_length=1)


class Tool(_Strict):
    """Call a tool by the name it has in the request, whether or not it is there."""

    name: str = Field(min_length=1)
    args: dict[str, Any] = Field(default_factory=dict)


class _Verbs(_Strict):
    shell: Annotated[Shell | None, _short("command")] = None
    file: File | None = None
    mcp: Annotated[Mcp | None, _short("tool")] = None
    skill: Annotated[Skill | None, _short("name")] = None
    tool: Annotated[Tool | None, _short("name")] = None

    def verbs(self) -> tuple[Shell | File | Mcp | Skill | Tool, ...]:
        """Those that are given."""
        every = (self.shell, self.file, self.mcp, self.skill, self.tool)
        return tuple(verb for verb in every if verb is not None)


class Call(_Verbs):
    """One of several parallel calls."""

    @model_validator(mode="after")
    def _one(self) -> Call:
        if len(self.verbs()) != 1:
            raise ValueError("must hold exactly one of shell, file, mcp, skill, tool")
        return self


class Fault(_Strict):
    """What goes wrong. `retry_after` is in seconds; `status` implies the kind `http`."""

    kind: Annotated[FaultKind, Field(strict=False)] = FaultKind.HTTP
    status: int | None = Field(None, ge=400, le=599)
    retry_after: float | None = Field(None, ge=0)
    message: str = ""
    times: int | None = Field(None, ge=1)

    @model_validator(mode="after")
    def _whole(self) -> Fault:
        if self.kind is FaultKind.HTTP and self.status is None:
            raise ValueError("needs a status or a kind")
        if self.kind is not FaultKind.HTTP and self.status is not None:
            raise ValueError(f"{self.kind} has no status")
        return self


class Turn(_Verbs):
    """One reply of the model."""

    text: str = ""
    thinking: str = ""
    calls: list[Call] = Field(default_factory=list)
    fault: Annotated[Fault | None, BeforeValidator(_fault)] = None
    times: int | None = Field(None, ge=1)
    usage: Usage | None = None
    delay: float = Field(0.0, ge=0)

    @model_validator(mode="after")
    def _something(self) -> Turn:
        if len(self.verbs()) > 1 or (self.verbs() and self.calls):
            raise ValueError("holds several calls; put them into `calls`")
        if not (self.text or self.verbs() or self.calls or self.fault):
            raise ValueError("says nothing; give it text, a call or a fault")
        if self.times is not None and self.fault is None:
            raise ValueError("has `times` but no fault")
        return self

    def every_call(self) -> tuple[Shell | File | Mcp | Skill | Tool, ...]:
        """All calls in order."""
        return self.verbs() + tuple(verb for call in self.calls for verb in call.verbs())

    @property
    def fault_times(self) -> int | None:
        """How often the fault strikes; None is always."""
        return self.times if self.fault is None or self.fault.times is None else self.fault.times


Turns = Annotated[
    list[Annotated[Turn, _short("text")]],
    Field(min_length=1),
]


class Section(_Strict):
    """What is played for some prompts. `repeat_last`: the last turn is played for ever, to run into limits."""

    when: Annotated[str, AfterValidator(_regex)] = ""
    turns: Turns
    repeat_last: bool = False

    def matches(self, prompt: str) -> bool:
        """Whether `when` is found in the user's text; no `when` matches all."""
        return re.search(self.when, prompt, re.IGNORECASE | re.DOTALL) is not None


class _File(_Strict):
    description: str = ""
    model: Annotated[list[str], BeforeValidator(_listed)] = Field(default_factory=list)
    usage: Usage = Usage()
    sections: list[Section] = Field(default_factory=list)
    turns: Turns | None = None
    repeat_last: bool = False

    @model_validator(mode="after")
    def _plays(self) -> _File:
        if not self.sections and self.turns is None:
            raise ValueError("plays nothing; give it `turns` or `sections`")
        return self


class Scenario(_Strict):
    """One scripted model: its name, the model ids it also answers to, and its sections, the default last."""

    name: str
    models: tuple[str, ...]
    usage: Usage
    sections: tuple[Section, ...]

    def section(self, prompt: str) -> Section | None:
        """The first section that matches, None when there is none and no default."""
        return next((section for section in self.sections if section.matches(prompt)), None)


def load_scenario(path: Path) -> Scenario:
    """Read one file; the scenario is named after it. Raises ConfigError with file:line."""
    name = path.stem
    if not NAME.match(name):
        fix = "use letters, digits, `.`, `_`, `-`"
        raise ConfigError(f"{name!r} cannot be part of a model id", where=path, fix=fix)
    try:
        doc = parse(read_text(path), path)
    except TaskError as error:
        raise ConfigError(error.what, where=error.where, line=error.line, fix=error.fix) from None
    if not isinstance(doc.data, dict):
        raise ConfigError("is not a scenario", where=path, line=doc.line(()), fix="write at least `turns:`")
    return build(name, doc, path)


def build(name: str, doc: Document, where: str | Path) -> Scenario:
    """A scenario from parsed data. Raises ConfigError with file:line."""
    try:
        parsed = _File.model_validate(doc.data)
    except ValidationError as error:
        _explain(error, doc, where)
    sections = list(parsed.sections)
    if parsed.turns is not None:
        sections.append(Section(turns=parsed.turns, repeat_last=parsed.repeat_last))
    return Scenario(name=name, models=tuple(parsed.model), usage=parsed.usage, sections=tuple(sections))


def scenario(name: str, data: Mapping[str, Any]) -> Scenario:
    """A scenario from plain data, for tests and programs."""
    return build(name, Document(dict(data), {(): 1}), f"scenario {name}")


def load_scenarios(folder: Path) -> dict[str, Scenario]:
    """All scenarios of a folder (or of one file) by name. Raises ConfigError when there are none or one is wrong."""
    files = [folder] if folder.is_file() else sorted(_files(folder))
    found: dict[str, Scenario] = {}
    for path in files:
        one = load_scenario(path)
        if one.name in found:
            raise ConfigError(f"there are two scenarios {one.name!r}", where=path, fix="rename one")
        found[one.name] = one
    if not found:
        raise ConfigError("holds no scenario files", where=folder, fix="add NAME.yaml for the model scripted:NAME")
    return found


def _files(folder: Path) -> Iterator[Path]:
    try:
        here = list(folder.iterdir())
    except OSError as error:
        raise ConfigError(
            f"cannot be read ({error.strerror})", where=folder, fix="name a folder of scenarios"
        ) from None
    yield from (path for path in here if path.suffix in SUFFIXES and not path.name.startswith("."))


_KNOWN: dict[str, type[BaseModel]] = {
    "turns": Turn, "calls": Call, "sections": Section, "fault": Fault, "usage": Usage, "shell": Shell, "file": File,
    "mcp": Mcp, "skill": Skill, "tool": Tool,
}  # fmt: skip


def _explain(error: ValidationError, doc: Document, where: str | Path) -> NoReturn:
    """The first problem in the file's order; an unknown key explains a missing one, so it goes first."""
    items = [(doc.line(item["loc"]), item) for item in error.errors(include_url=False)]
    line, item = min(items, key=lambda pair: (pair[1]["type"] != "extra_forbidden", pair[0]))
    loc = item["loc"]
    if item["type"] == "value_error":
        place = explain("", loc, None, {}, ()).partition(":")[0]
        raise ConfigError(f"{place} {item['ctx']['error']}".strip(), where=where, line=line)
    owner = next((_KNOWN[part] for part in reversed(loc[:-1]) if part in _KNOWN), _File)
    what, _, fix = explain(item["type"], loc, item["input"], item.get("ctx", {}), owner.model_fields).partition("; ")
    raise ConfigError(what, where=where, line=line, fix=fix)

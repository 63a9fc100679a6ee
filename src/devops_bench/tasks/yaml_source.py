"""YAML 1.2 text to plain data that remembers its lines.

Built on the parser's events instead of a ready-made loader for four reasons: the YAML 1.2 core schema (`no` is a
string, there are no dates), a line for every value, refusal of duplicate keys, tags and alias bombs, and speed: with
libyaml's event parser (the `ruamel.yaml.clib` wheel) a task file takes about 1 ms, with the pure Python one 15 ms.
Errors are always worded by the pure parser, so that a message does not depend on which one was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError

from devops_bench.errors import TaskError

try:
    from _ruamel_yaml import CParser  # type: ignore[import-not-found]
except ImportError:  # a platform without the wheel: slower, same result
    CParser = None

Loc = tuple[str | int, ...]

MAX_BYTES = 1 << 20
MAX_DEPTH = 60
MAX_VALUES = 100_000  # after aliases are expanded: a bomb of nine doublings of nine is 3 x 10^8

_INT = re.compile(r"[-+]?[0-9]+\Z")
_OCT = re.compile(r"0o[0-7]+\Z")
_HEX = re.compile(r"0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_INF = re.compile(r"([-+]?)\.(inf|Inf|INF)\Z")
_WORDS: dict[str, Any] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_CORE_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}


@dataclass(frozen=True, slots=True)
class Document:
    """One document: plain data (dict, list, str, int, float, bool, None) and the 1-based line of each key or item."""

    data: Any
    lines: Mapping[Loc, int]

    def line(self, loc: Loc) -> int:
        """The line of `loc`, or of the nearest enclosing value that has one."""
        for end in range(len(loc), -1, -1):
            found = self.lines.get(loc[:end])
            if found is not None:
                return found
        return 1


def read_text(path: Path, *, limit: int = MAX_BYTES) -> str:
    """The file's text; TaskError when it is missing, too large (`limit` bytes) or not UTF-8."""
    try:
        with path.open("rb") as handle:
            raw = handle.read(limit + 1)
    except IsADirectoryError:
        raise TaskError("is a folder, not a file", where=path) from None
    except OSError as error:
        raise TaskError(f"cannot be read ({error.strerror})", where=path) from None
    if len(raw) > limit:
        raise TaskError(f"is larger than {limit // 1024} KiB", where=path, fix="move bulk data to workspace/ or setup/")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise TaskError("is not UTF-8 text", where=path, line=line, fix="save it as UTF-8") from None


def parse(text: str, where: str | Path) -> Document:
    """The only document of `text`. TaskError with file:line for anything else."""
    documents = parse_all(text, where)
    if len(documents) > 1:
        line = documents[1].line(())
        raise TaskError("holds more than one YAML document", where=where, line=line, fix="keep one, without `---`")
    return documents[0] if documents else Document(None, {(): 1})


def parse_all(text: str, where: str | Path) -> list[Document]:
    """All documents of `text`, for manifests."""
    if CParser is not None:
        try:
            return list(_Builder(_c_events(text), where).documents())
        except YAMLError:
            pass  # worded below
    try:
        return list(_Builder(_pure_events(text), where).documents())
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        what = (error.problem or error.context or "cannot be parsed").replace("\n", " ")
        hint = "indent with spaces" if "'\\t'" in what else "quote the value if it holds `: `, `{` or `#`"
        line = min(mark.line + 1, text.count("\n") + 1) if mark else None
        raise TaskError(f"is not YAML: {what}", where=where, line=line, fix=hint) from None
    except (YAMLStreamError, YAMLError) as error:
        raise TaskError(f"is not YAML: {str(error).splitlines()[0]}", where=where) from None


def _c_events(text: str) -> Iterator[Any]:
    parser = CParser(text)
    while parser.check_event():
        yield parser.get_event()


def _pure_events(text: str) -> Iterator[Any]:
    yield from YAML(typ="safe", pure=True).parse(text)


def scalar(value: str) -> Any:
    """A plain scalar by the YAML 1.2 core schema."""
    if value in _WORDS:
        return _WORDS[value]
    first = value[0]
    if first.isdigit() or first in "+-.":
        if _INT.match(value):
            return int(value) if len(value) < 400 else value
        if _FLOAT.match(value):
            return float(value)
        if _OCT.match(value):
            return int(value[2:], 8)
        if _HEX.match(value):
            return int(value, 16)
        inf = _INF.match(value)
        if inf:
            return float(inf[1] + "inf")
        if value in {".nan", ".NaN", ".NAN"}:
            return float("nan")
    return value


class _Builder:
    """Folds events into documents. One instance reads one stream."""

    def __init__(self, events: Iterator[Any], where: str | Path) -> None:
        self.events = events
        self.where = where
        self.count = 0

    def documents(self) -> Iterator[Document]:
        for event in self.events:
            if type(event).__name__ != "DocumentStartEvent":
                continue
            self.lines: dict[Loc, int] = {}
            self.anchors: dict[str, tuple[Any, int]] = {}
            self.count = 0
            root = next(self.events)
            self.lines[()] = root.start_mark.line + 1
            yield Document(self.value(root, ()), self.lines)

    def fail(self, event: Any, what: str, fix: str = "") -> TaskError:
        return TaskError(what, where=self.where, line=event.start_mark.line + 1, fix=fix)

    def value(self, event: Any, loc: Loc) -> Any:
        kind = type(event).__name__
        before = self.count
        self.count += 1
        if kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise self.fail(event, f"alias *{event.anchor} has no anchor before it", "write the value out")
            data, size = self.anchors[event.anchor]
            self.count += size
        else:
            self.check_tag(event)
            if len(loc) > MAX_DEPTH:
                raise self.fail(event, f"is nested deeper than {MAX_DEPTH} levels")
            if kind == "ScalarEvent":
                data = self.scalar(event)
            elif kind == "SequenceStartEvent":
                data = self.sequence(loc)
            else:
                data = self.mapping(loc)
            if event.anchor:
                self.anchors[event.anchor] = (data, self.count - before)
        if self.count > MAX_VALUES:
            raise self.fail(event, f"expands to more than {MAX_VALUES} values", "remove the aliases")
        return data

    def check_tag(self, event: Any) -> None:
        tag = str(event.ctag) if getattr(event, "ctag", None) else None
        if tag and tag not in _CORE_TAGS and tag not in {"!", "None"}:
            raise self.fail(event, f"tag {tag} is not allowed", "remove it")

    def scalar(self, event: Any) -> Any:
        tag = str(event.ctag) if getattr(event, "ctag", None) else None
        if event.style in {"'", '"', "|", ">"} or tag in {"!", "tag:yaml.org,2002:str"}:
            return event.value
        return scalar(event.value)

    def sequence(self, loc: Loc) -> list[Any]:
        items: list[Any] = []
        for event in self.events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            here = (*loc, len(items))
            self.lines[here] = event.start_mark.line + 1
            items.append(self.value(event, here))
        return items

    def mapping(self, loc: Loc) -> dict[str, Any]:
        items: dict[str, Any] = {}
        for event in self.events:
            if type(event).__name__ == "MappingEndEvent":
                break
            if type(event).__name__ != "ScalarEvent":
                raise self.fail(event, "a key must be plain text", "quote it, or replace the `{` or `[`")
            key = event.value
            if key == "<<" and event.style not in {"'", '"'}:
                raise self.fail(event, "merge keys (<<) are not YAML 1.2", "write the keys out")
            here = (*loc, key)
            line = event.start_mark.line + 1
            if key in items:
                first = self.lines[here]
                raise self.fail(event, f"key {key!r} is given twice (first on line {first})", "remove one")
            self.lines[here] = line
            items[key] = self.value(next(self.events), here)
        return items

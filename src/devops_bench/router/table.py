"""Reading `docs/appendix/known_issues.md`: strictly, every mistake with its file and line.

The format is a GitHub-flavoured table of four columns, with `Resolved` as an optional fifth. Code spans of the first
column are the signatures. Beside them that cell may say `phases: agent, judge` (elsewhere the row does not count) and
`exit: 41` (exit codes that are evidence); the third may say `max-retries: N` and `rate-limit` (the provider asks for
less at once). A numbered list under the heading `Before any retry` holds the checks of `devops-bench preflight`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.router.signature import Signature
from devops_bench.settings import FailureClass, Phase

HEADER = ("symptom / error signature", "root cause", "fix / recovery action", "class")
RETRIES_MAX = 2  # per combo, whatever a row says

CLASSES = {
    "infra flake - retry": FailureClass.INFRA,
    "config / auth": FailureClass.CONFIG_AUTH,
    "config / setup": FailureClass.SETUP,
    "setup": FailureClass.SETUP,
    "model": FailureClass.MODEL,
    "harness": FailureClass.HARNESS,
    "task": FailureClass.TASK,
}
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_NOTE = re.compile(r"\b(phases?|exit|max-retries):\s*([a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)", re.I)
_RATE = re.compile(r"\brate-limit\b", re.I)
_CELL = re.compile(r"(?<!\\)\|")
_RESOLVED = re.compile(r"(?:no|yes|pending #\d+)", re.I)
_ITEM = re.compile(r"\d+\.\s+\*\*([a-z-]+)\*\*:?\s+(.+)")


@dataclass(frozen=True, slots=True)
class Row:
    """One known issue. `line` is its line in the file; empty `phases` mean every phase."""

    line: int
    symptom: str
    signatures: tuple[Signature, ...]
    cause: str
    action: str
    klass: FailureClass
    phases: frozenset[Phase] = frozenset()
    exits: frozenset[int] = frozenset()
    max_retries: int = 0
    rate_limit: bool = False
    resolved: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One item of the `Before any retry` list: a key (`disk`) and what must hold."""

    key: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class Table:
    """The whole document."""

    path: Path
    rows: tuple[Row, ...]
    before_retry: tuple[Check, ...]


def shipped() -> Path:
    """The table that ships with the package, or that of the checkout."""
    package = Path(__file__).resolve().parents[1]
    inside = package / "_known_issues.md"
    return inside if inside.is_file() else package.parents[1] / "docs" / "appendix" / "known_issues.md"


@lru_cache(maxsize=8)
def read(path: Path) -> Table:
    """The table of `path`. Raises ConfigError with file:line for the first mistake."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"the known-issues table cannot be read: {error}", where=path, fix="restore it") from None
    return parse(text, path)


def parse(text: str, path: Path) -> Table:
    """As `read`, from text; `path` is for messages."""
    rows: list[Row] = []
    columns = 0
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith("|"):
            columns = 0
            continue
        cells = split_row(line)
        if not columns:
            columns = _header(cells, path, number)
        elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            if len(cells) != columns:
                raise _wrong(f"{len(cells)} cells, the header has {columns}", path, number, "escape a | as \\|")
            rows.append(read_row(cells, path, number))
    if not rows:
        raise ConfigError("holds no table of known issues", where=path, fix="see the format in its first lines")
    _no_doubles(rows, path)
    return Table(path, tuple(rows), tuple(_checks(lines)))


def split_row(line: str) -> list[str]:
    """The cells of a table line, escapes of `|` undone."""
    inner = line.strip().removeprefix("|")
    if inner.endswith("|") and not inner.endswith("\\|"):
        inner = inner[:-1]
    return [cell.strip().replace("\\|", "|") for cell in _CELL.split(inner)]


def read_row(cells: list[str], path: Path, number: int) -> Row:
    """One row. Raises ConfigError."""
    symptom, cause, action, klass = cells[:4]
    signatures = []
    for match in _SPAN.finditer(symptom):
        try:
            signatures.append(Signature.of(match.group(2).strip()))
        except ValueError as error:
            raise _wrong(str(error), path, number, "write more of the message") from None
    if not signatures:
        raise _wrong("no signature: the symptom has no code span", path, number, "put the message in backticks")
    if not cause or not action:
        raise _wrong("cause or action is empty", path, number, "say why it happens and what to do")
    known = CLASSES.get(" ".join(klass.replace("*", "").replace("—", "-").replace("–", "-").lower().split()))
    if known is None:
        raise _wrong(f"unknown class {klass!r}", path, number, f"use one of: {', '.join(CLASSES)}")
    resolved = cells[4] if len(cells) > 4 else ""
    if resolved and not _RESOLVED.fullmatch(resolved):
        raise _wrong(f"resolved is {resolved!r}", path, number, "write No, Yes or Pending #N")
    notes = _notes(_SPAN.sub(" ", symptom), path, number) | _notes(action, path, number)
    retries = notes.get("max-retries", [str(RETRIES_MAX if known is FailureClass.INFRA else 0)])
    return Row(
        line=number,
        symptom=symptom,
        signatures=tuple(signatures),
        cause=cause,
        action=action,
        klass=known,
        phases=frozenset(_phase(word, path, number) for word in notes.get("phase", [])),
        exits=frozenset(_number(word, 255, path, number) for word in notes.get("exit", [])),
        max_retries=_number(retries[0], RETRIES_MAX, path, number),
        rate_limit=_RATE.search(action) is not None,
        resolved=resolved,
    )


def prose(row: Row) -> str:
    """What a row says in words: without its signatures, which are other programs' texts."""
    return "\n".join(_SPAN.sub(" ", cell) for cell in (row.symptom, row.cause, _NOTE.sub(" ", row.action)))


def _header(cells: list[str], path: Path, number: int) -> int:
    lowered = tuple(cell.replace("*", "").lower() for cell in cells)
    if lowered[:4] != HEADER or lowered[4:] not in {(), ("resolved",)}:
        raise _wrong("not the header of a known-issues table", path, number, "use | " + " | ".join(HEADER) + " |")
    return len(cells)


def _notes(cell: str, path: Path, number: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for match in _NOTE.finditer(cell):
        name = match.group(1).lower()
        name = "phase" if name == "phases" else name
        if name in found:
            raise _wrong(f"{name} is said twice", path, number, "say it once")
        found[name] = [word.strip().lower() for word in match.group(2).split(",")]
    return found


def _phase(word: str, path: Path, number: int) -> Phase:
    try:
        return Phase(word)
    except ValueError:
        raise _wrong(f"unknown phase {word!r}", path, number, f"use one of {', '.join(Phase)}") from None


def _number(word: str, most: int, path: Path, number: int) -> int:
    if not word.isdigit() or int(word) > most:
        raise _wrong(f"{word!r} is not a number from 0 to {most}", path, number, "correct it")
    return int(word)


def _no_doubles(rows: list[Row], path: Path) -> None:
    """Two rows must not claim the same words in the same phase: which one counts would be chance."""
    seen: dict[str, list[Row]] = {}
    for row in rows:
        for signature in row.signatures:
            for other in seen.setdefault(signature.text.lower(), []):
                if not other.phases or not row.phases or other.phases & row.phases:
                    what = f"signature `{signature.text}` stands in line {other.line} already"
                    raise _wrong(what, path, row.line, "merge the rows, or limit them to different phases")
            seen[signature.text.lower()].append(row)


def _checks(lines: list[str]) -> Iterator[Check]:
    inside = False
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            inside = line.strip("# ").lower() == "before any retry"
        elif inside and (match := _ITEM.match(line)):
            yield Check(match.group(1), match.group(2).strip(), number)


def _wrong(what: str, path: Path, number: int, fix: str) -> ConfigError:
    return ConfigError(what, where=path, line=number, fix=fix)

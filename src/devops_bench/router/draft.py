"""New rows for the table: a draft from a failure that nobody described yet, and adding a completed one.

A row must stand on its own and hold for everybody: no duplicate of a known symptom, no secret, no score of a model and
no tally of runs (`problems` says which).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.paths import atomic_write
from devops_bench.redact import Redactor
from devops_bench.router import table
from devops_bench.router.fingerprint import stable
from devops_bench.router.ownwords import own_words
from devops_bench.router.route import hits
from devops_bench.router.table import Row, Table
from devops_bench.settings import FailureClass, Phase

TODO = "TODO"
SIGNATURE_CHARS = 90
_MARKS = re.compile(r"(?:<(?:time|id|url|path|address|cluster|pod|n)>\s*)+")
_CLASS_NAMES = {
    FailureClass.INFRA: "Infra flake — retry",
    FailureClass.CONFIG_AUTH: "Config / auth",
    FailureClass.SETUP: "Setup",
    FailureClass.MODEL: "Model",
    FailureClass.HARNESS: "Harness",
    FailureClass.TASK: "Task",
}
_SCORE = re.compile(
    r"\b(?:pass@\d|scored?\s+\d|scores?\s*(?:of|:|=|was|is)|pass(?:ed)? rate|success rate|accuracy|win rate|"
    r"OutcomeScore|leaderboard|outperform\w*)\b|\b\d+(?:\.\d+)?\s?%",
    re.I,
)
_TALLY = re.compile(
    r"\b\d+\s*(?:/|of|out of)\s*\d+\b|\b\d+\s+(?:times|runs?|combos?|attempts|failures|occurrences)\b"
    r"|\bseen\s+(?:\d+|once|twice)\b|\bx\d+\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposed row; cause, action and class are for a person or an agent to complete."""

    fingerprint: str
    phase: Phase | None
    signature: str
    klass: FailureClass = FailureClass.UNKNOWN

    def line(self) -> str:
        """The table line."""
        where = f" phases: {self.phase}" if self.phase is not None else ""
        klass = _CLASS_NAMES.get(self.klass, TODO)
        symptom = f"{TODO} ({self.fingerprint}): {code_span(self.signature)}{where}"
        return f"| {symptom} | {TODO} | {TODO} | {klass} | No |"


def code_span(text: str) -> str:
    """`text` as a code span in a table cell."""
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def draft(text: str, fingerprint: str, phase: Phase | None, redactor: Redactor) -> Draft:
    """Propose a row for a failure's own words: the longest stable piece of its last telling line."""
    last = stable(redactor.text(own_words(text))).rsplit("\n", 1)[-1]
    pieces = [piece.strip(" .,:;'\"()[]") for piece in _MARKS.split(last)]
    core = max(pieces, key=len)[:SIGNATURE_CHARS].strip()
    return Draft(fingerprint, phase, core.replace("*", "") or TODO)


def append(line: str, path: Path, redactor: Redactor) -> Row:
    """Add a completed row to the end of the table. Raises ConfigError with every reason why it may not."""
    known = table.parse(path.read_text(encoding="utf-8"), path)
    text = " ".join(line.split())
    cells = table.split_row(text)
    if len(cells) not in {4, 5}:
        raise ConfigError(f"a row has 4 or 5 cells, this one {len(cells)}", fix="escape a | as \\|")
    row = table.read_row(cells, path, 0)
    found = list(problems(row, text, known, redactor))
    if found:
        raise ConfigError("; ".join(found), where=path, fix="correct the row")
    lines = path.read_text(encoding="utf-8").splitlines()
    width = max((len(table.split_row(one)) for one in lines if one.lstrip().startswith("|")), default=4)
    if len(cells) < width:
        cells.append("No")
    written = "| " + " | ".join(cell.replace("|", "\\|") for cell in cells[:width]) + " |"
    at = known.rows[-1].line
    new = "\n".join([*lines[:at], written, *lines[at:]]) + "\n"
    done = table.parse(new, path)
    atomic_write(path, new)
    path.chmod(0o644)
    return next(one for one in done.rows if one.line == at + 1)


def problems(row: Row, text: str, known: Table, redactor: Redactor) -> Iterator[str]:
    """Why `row`, written as `text`, may not be added to `known`."""
    yield from (f"the row {what}" for what in _unfit(row, text, redactor))
    for signature in row.signatures:
        for phase in row.phases or {None}:
            other = next((hit for hit in hits(known.rows, signature.text.lower(), phase, None) if hit.signature), None)
            if other is not None and other.weight * 4 >= signature.weight * 3:
                yield f"`{signature.text}` is covered by line {other.row.line} (`{other.signature}`) already"
                break


def check(path: Path, redactor: Redactor) -> list[str]:
    """What is wrong with a whole table, as `file:line: what`. Raises ConfigError when it cannot be read at all."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    for row in table.parse("\n".join(lines), path).rows:
        found += [f"{path}:{row.line}: {what}" for what in _unfit(row, lines[row.line - 1], redactor)]
    return found


def _unfit(row: Row, text: str, redactor: Redactor) -> Iterator[str]:
    """Why `row`, written as `text`, must not stand in any table."""
    prose = table.prose(row)
    if TODO in text:
        yield "is not completed (TODO)"
    if redactor.text(text) != text:
        yield "holds a secret"
    if _SCORE.search(prose):
        yield "speaks of scores"
    if _TALLY.search(prose):
        yield "counts runs"

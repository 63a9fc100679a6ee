"""The decision: which row a failure is, or that nobody knows it. Pure but for reading the table once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from devops_bench.router.fingerprint import fingerprint
from devops_bench.router.ownwords import own_words
from devops_bench.router.table import Row, Table, read, shipped
from devops_bench.settings import FailureClass, Phase

UNKNOWN_RETRIES = 1
UNKNOWN_ACTION = "not known yet: tried once more; describe it with `devops-bench known-issues draft`"
# Where an exit code is the agent program's own and no words are needed beside it.
_AGENT_ENDS = frozenset({None, Phase.AGENT})


@dataclass(frozen=True, slots=True)
class Route:
    """What a failure is. `row` is the line of the table, None when unknown; `signature` is then a fingerprint.

    `rate_limit`: the provider wants fewer requests at once.
    """

    klass: FailureClass
    signature: str
    row: int | None
    action: str
    max_retries: int
    rate_limit: bool = False

    @property
    def retry(self) -> bool:
        """Whether the same combo may be tried again because of it."""
        return self.max_retries > 0


@dataclass(frozen=True, slots=True)
class Hit:
    """A row and the signature of it that was found; None when only the exit code spoke for it."""

    row: Row
    signature: str | None
    weight: int
    exit: bool

    @property
    def rank(self) -> tuple[int, bool, bool, int]:
        """The longest signature wins; then evidence by exit code, a row for fewer phases, the earlier row."""
        return self.weight, self.exit, bool(self.row.phases), -self.row.line


def route(text: str, *, phase: Phase | None = None, exit: int | None = None, table: Table | None = None) -> Route:
    """Classify a failure by its own words, the phase it happened in, and the exit code of the agent program.

    `text` must be what the harness or the agent program said itself, never a transcript or a workload's log. Without a
    phase every row may match. Raises ConfigError when the table is damaged.
    """
    table = read(shipped()) if table is None else table
    words = own_words(text)
    found = list(hits(table.rows, words, phase, exit))
    if not found:
        name = fingerprint(words, phase, exit)
        return Route(FailureClass.UNKNOWN, name, None, UNKNOWN_ACTION, UNKNOWN_RETRIES)
    best = max(found, key=lambda hit: hit.rank)
    row = best.row
    said = best.signature if best.signature is not None else row.signatures[0].text
    return Route(row.klass, said, row.line, row.action, row.max_retries, row.rate_limit)


def hits(rows: Iterable[Row], words: str, phase: Phase | None, exit_code: int | None) -> Iterable[Hit]:
    """Every row that speaks for this failure."""
    for row in rows:
        if row.phases and phase is not None and phase not in row.phases:
            continue
        coded = exit_code is not None and exit_code in row.exits
        matching = [one for one in row.signatures if one.found_in(words)]
        if matching:
            best = max(matching, key=lambda one: one.weight)
            yield Hit(row, best.text, best.weight, coded)
        elif coded and phase in _AGENT_ENDS:
            yield Hit(row, None, 0, True)

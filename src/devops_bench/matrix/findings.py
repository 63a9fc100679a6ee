"""What a check before launch found: one line for the user, with what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from devops_bench.errors import BenchError


class Level(StrEnum):
    """An error stops the launch; a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong or doubtful. `where` names a variable, file or combo; `fix` is in the imperative."""

    level: Level
    what: str
    fix: str = ""
    where: str | None = None

    @classmethod
    def of(cls, error: BenchError, level: Level = Level.ERROR) -> Finding:
        """What an error says, with its place."""
        where = error.where if error.line is None else f"{error.where}:{error.line}"
        return cls(level, error.what, error.fix, where)

    @property
    def is_error(self) -> bool:
        """True when nothing may start."""
        return self.level is Level.ERROR

    def line(self) -> str:
        """`where: what; fix`, always one line."""
        text = (f"{self.where}: " if self.where else "") + self.what + (f"; {self.fix}" if self.fix else "")
        return " ".join(text.split())

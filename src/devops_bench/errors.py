"""The error family. Every message is one line: what is wrong, where, and what to do about it.

Raised everywhere, caught at the command line (`cli.main`) and at the combo's border, where the class decides the exit
code and whether an attempt may be retried. Only a HarnessError ever shows a traceback, and that goes to a file.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path


class ExitCode(IntEnum):
    """Exit codes of `devops-bench`; the combo command uses OK, FAILED and USAGE only."""

    OK = 0
    FAILED = 1
    USAGE = 2
    INVALID = 3
    REFUSED = 4
    POLL_TIMEOUT = 124
    INTERRUPTED = 130


class BenchError(Exception):
    """Base of all errors with a message meant for a person.

    `where` is a file, `line` its 1-based line; both are optional. `fix` says what to do, in the imperative.
    """

    exit_code: ExitCode = ExitCode.INVALID

    def __init__(self, what: str, *, where: str | Path | None = None, line: int | None = None, fix: str = "") -> None:
        self.what = " ".join(what.split())
        self.where = str(where) if where is not None else None
        self.line = line
        self.fix = " ".join(fix.split())
        super().__init__(self.message())

    def message(self) -> str:
        """The one line: `file:line: what; fix`."""
        place = ""
        if self.where is not None:
            place = f"{self.where}:{self.line}: " if self.line is not None else f"{self.where}: "
        return f"{place}{self.what}" + (f"; {self.fix}" if self.fix else "")


class ConfigError(BenchError):
    """The user must change something (flags, environment, files, credentials). Nothing was started."""

    exit_code = ExitCode.USAGE


class TaskError(BenchError):
    """A task definition is wrong. Nothing was started."""

    exit_code = ExitCode.USAGE


class RefusedError(BenchError):
    """The same run or combo is already active."""

    exit_code = ExitCode.REFUSED


class TransientError(BenchError):
    """The world failed in a way that may pass: an attempt is invalid and may be retried after `delay` seconds."""

    def __init__(self, what: str, *, delay: float = 0.0, where: str | Path | None = None, fix: str = "") -> None:
        self.delay = delay
        super().__init__(what, where=where, fix=fix)


class HarnessError(BenchError):
    """We are wrong. The attempt is invalid; the traceback goes to a file."""

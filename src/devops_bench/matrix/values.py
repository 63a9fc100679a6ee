"""One value of an axis, checked: a number within its bounds, a known word, a path. Errors name the value's place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from devops_bench import settings
from devops_bench.errors import ConfigError
from devops_bench.matrix.sources import Given, Sources
from devops_bench.tasks.suggest import did_you_mean

SECONDS_MAX = 30 * 86400.0  # longer than any run; beyond it a number is a typing error
VALUE_MAX = 100_000  # characters of one value
_CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")


def absolute(text: str, base: Path) -> Path:
    """`text` as an absolute path; `~` is expanded, `..` folded, symlinks kept as they are."""
    return Path(os.path.normpath(base / Path(text).expanduser()))


# Variables that name a file or folder. Supervisor and combos do not work where the launch was typed.
_PATHS = (
    "AGENT_TARGET",
    "BENCH_AGENT_SCRIPT",
    "BENCH_EXISTING_KUBECONFIG",
    "BENCH_RUN_STATE_ROOT",
    "DEVOPS_BENCH_CACHE",
    "DEVOPS_BENCH_KUBE",
    "DEVOPS_BENCH_RUNS",
)


def absolute_paths(env: Mapping[str, str], cwd: Path) -> dict[str, str]:
    """Those variables of `env` that hold a path, made absolute. AGENT_TARGET may be a bare program name."""
    given = {name: env[name] for name in _PATHS if env.get(name, "").strip()}
    return {name: str(absolute(text, cwd)) for name, text in given.items() if name != "AGENT_TARGET" or "/" in text}


class Values:
    """Typed access to the sources. Every method raises ConfigError at the place of a malformed value."""

    def __init__(self, sources: Sources) -> None:
        self.sources = sources

    def given(self, axis: str) -> Given:
        """The value of an axis that is known to be set."""
        given = self.sources.get(axis)
        assert given is not None
        return given

    def get(self, axis: str) -> Given | None:
        """The value of an axis, refused when it cannot be one (control characters, absurd length)."""
        given = self.sources.get(axis)
        if given is not None:
            if _CONTROL.search(given.text):
                raise given.error("holds a control character", "write it as plain text")
            if len(given.text) > VALUE_MAX:
                raise given.error(f"is longer than {VALUE_MAX} characters", "put the axes into a matrix file")
        return given

    def split(self, given: Given) -> tuple[str, ...]:
        """A list of words that never hold a space: also the elements of a repeated flag are split."""
        return tuple(word for piece in given.words() for word in piece.split())

    def flag(self, axis: str) -> bool:
        given = self.get(axis)
        if given is None:
            return False
        try:
            return settings.flag("value", {"value": given.text})
        except ConfigError:
            raise given.error(f"{given.text!r} is neither true nor false", "set it to 1 or 0") from None

    def number(self, axis: str, row: str) -> float:
        """A setting of the table, from whichever source sets it."""
        given = self.get(axis)
        default = settings.TABLE[row]
        if given is None or default.env is None:
            return default.value
        try:
            return settings.value(row, {default.env: given.text})
        except ConfigError as error:
            if given.place.where == default.env:
                raise
            raise given.error(error.what.partition("=")[2] or error.what, error.fix) from None

    def seconds(self, axis: str, row: str) -> float:
        number = self.number(axis, row)
        if number > SECONDS_MAX:
            raise self.given(axis).error(f"{number:g} is out of range", f"set it to at most {SECONDS_MAX:.0f} (s)")
        return number

    def choice(self, axis: str, known: Sequence[str]) -> str | None:
        given = self.get(axis)
        if given is None:
            return None
        if given.text not in known:
            raise given.error(f"unknown {axis.replace('_', ' ')} {given.text!r}", did_you_mean(given.text, known))
        return given.text

    def matching(self, axis: str, pattern: re.Pattern[str], what: str, fix: str) -> str | None:
        given = self.get(axis)
        if given is None:
            return None
        if not pattern.fullmatch(given.text):
            raise given.error(f"{given.text!r} is not {what}", fix)
        return given.text

    def folder(self, axis: str) -> str | None:
        given = self.get(axis)
        return str(absolute(given.text, given.base)) if given else None

"""Reading `~/secrets.env`, and the names of the keys. Values never leave a `Secrets` by accident: only names print.

The file is KEY=VALUE lines as a shell would read them: quotes, comments, `export`; nothing is expanded or executed.
A file that others can read is refused, because a key in it is no secret any more.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from devops_bench.errors import ConfigError
from devops_bench.models.providers import PROVIDERS

# Every variable that may hold a model's key: one per role, and those of the providers.
KEY_NAMES: tuple[str, ...] = tuple(
    dict.fromkeys(("AGENT_API_KEY", "JUDGE_API_KEY", *(key for one in PROVIDERS.values() for key in one.keys)))
)
# What BENCH_VERTEX sets in place of a key: a word that client libraries insist on, no secret.
VERTEX_MARKER = "gcp-vertex-credentials"
MAX_BYTES = 1 << 20
_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.ASCII | re.DOTALL)
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"(.*)', re.DOTALL)
_SINGLE = re.compile(r"'([^']*)'(.*)", re.DOTALL)


class Secrets(Mapping[str, str]):
    """Names and values from a secrets file. Its repr, str and errors hold names only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> str:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Secrets({', '.join(sorted(self._values))})"


def secrets_file(env: Mapping[str, str]) -> Path:
    """`~/secrets.env` of the user that `env` describes."""
    return Path(env.get("HOME") or "~").expanduser() / "secrets.env"


def read_secrets(path: Path) -> Secrets:
    """The secrets in `path`; none when there is no such file.

    Raises ConfigError, naming a line but never its content, when the file is open to others, not a regular file, too
    large, not UTF-8, or has a line that is not KEY=VALUE.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return Secrets({})
    except OSError as error:
        raise ConfigError(f"cannot be read: {os.strerror(error.errno or 0)}", where=path) from None
    try:
        _refuse_open(os.fstat(descriptor), path)
        with os.fdopen(os.dup(descriptor), "rb") as handle:
            raw = handle.read(MAX_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(raw) > MAX_BYTES:
        raise ConfigError("is larger than 1 MiB", where=path, fix="keep only KEY=VALUE lines in it")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", where=path, fix="save it as plain text") from None
    return Secrets(parse(text, path))


def parse(text: str, path: Path) -> dict[str, str]:
    """The KEY=VALUE lines of `text`; the last of two for one name wins, as in a shell. Empty ones are left out."""
    found: dict[str, str] = {}
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        value = _value(match.group(2)) if match else None
        if match is None or value is None or "\0" in value:
            # The line may hold a key: it is never quoted.
            raise ConfigError("not a KEY=VALUE line", where=path, line=number, fix='write NAME=value or NAME="value"')
        found[match.group(1)] = value
    return {name: value for name, value in found.items() if value}


def _value(text: str) -> str | None:
    """The value of one line, or None when a quote is not closed or something follows it."""
    for pattern in (_DOUBLE, _SINGLE):
        match = pattern.fullmatch(text)
        if match is None:
            continue
        rest = match.group(2)
        if rest.strip() and not re.match(r"\s+#", rest):
            return None
        return re.sub(r'\\(["\\$`])', r"\1", match.group(1)) if pattern is _DOUBLE else match.group(1)
    if text[:1] in {'"', "'"}:
        return None
    return re.split(r"(?:^|\s+)#", text, maxsplit=1)[0].strip()


def _refuse_open(status: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ConfigError("is not a regular file", where=path, fix="put KEY=VALUE lines into a file of that name")
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ConfigError("other users can read or change this file", where=path, fix=f"run: chmod 600 {path}")

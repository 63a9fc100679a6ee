"""The one redactor that every byte passes before it reaches a file we write or a terminal.

It knows the values of secret variables in every form that `forms` lists, and the shapes of `shapes`; it replaces each
by `[NAME]`. Two passes, known values first: a shape must never eat half of a known value and leave the other half. A
clean buffer costs a scan; only hits are rewritten. A stream gives the same bytes as the whole text, wherever it is cut.
Where a text is little but secrets, stretches of it become `[SECRETS]`; each pass judges that by its own finds.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final

from devops_bench import settings
from devops_bench.redact import forms
from devops_bench.redact.cutter import WINDOW, Cutter, Pass
from devops_bench.redact.known import KnownPass
from devops_bench.redact.shaped import ShapePass
from devops_bench.redact.shapes import SHAPES, TELLING_KEYS

__all__ = ["WINDOW", "Redactor", "StreamRedactor", "is_secret_name"]

# A text is looked at in blocks: what one search may read in vain is bounded.
_BLOCK: Final = 64 << 10

# In the order in which a value that several variables share gets its name.
_CONTRACT_NAMES = (
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "GOOGLE_GENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "AGENT_API_KEY",
    "JUDGE_API_KEY",
)
_SECRET_NAME = re.compile(
    r"(?:PASSWORD|PASSWD|PASSPHRASE|(?:^|_)(?:API_?KEY|TOKEN|SECRET"
    r"|ACCESS_KEY|SECRET_KEY|PRIVATE_KEY|ACCESS_KEY_ID|CREDENTIALS_JSON))$",
    re.IGNORECASE,
)
# Names of all variables of the secrets file, comma-separated; set by the launcher for the processes of a run.
SECRET_NAMES: Final = "BENCH_SECRET_NAMES"  # noqa: S105 - the name of a variable
# Markers that tools want in place of a key, when credentials are ambient.
_NO_SECRETS = frozenset({"gcp-vertex-credentials"})


def is_secret_name(name: str) -> bool:
    """True for variables whose value must never be shown: contract names and `*_API_KEY`, `*_TOKEN`, `*_SECRET` ..."""
    return name in _CONTRACT_NAMES or _SECRET_NAME.search(name) is not None


_SHAPE_PASS = ShapePass(SHAPES)


class Redactor:
    """Replaces secrets by `[NAME]`. `secrets` maps a variable's name to its value; short values are left out.

    `least` is the shortest value (characters) that is redacted, by default `settings.least_secret`. Immutable, and safe
    to use from several threads. `shapes` False: known values only, for bytes that must else stay as they are.
    """

    def __init__(
        self, secrets: Mapping[str, str] | None = None, *, least: int | None = None, shapes: bool = True
    ) -> None:
        floor = settings.integer("least_secret") if least is None else least
        self._given = (dict(secrets or {}), floor, shapes)
        pairs: dict[str, str] = {}
        for name, secret in self._given[0].items():
            for value in forms.values(secret, floor):
                pairs.setdefault(value, name)
        # Longest first: where one value begins with another, the longer one is meant.
        named = dict(sorted(pairs.items(), key=lambda pair: -len(pair[0])))
        known: tuple[Pass, ...] = (KnownPass(named),) if named else ()
        self._passes: tuple[Pass, ...] = (*known, _SHAPE_PASS) if shapes else known

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ, *, also: Mapping[str, str] | None = None) -> Redactor:
        """All secret variables of `env` (`is_secret_name`), plus `also`, e.g. keys of a secrets file."""
        names = [name for name in _CONTRACT_NAMES if env.get(name)]
        names += sorted(name for name in env if name not in names and is_secret_name(name))
        found = {name: env[name] for name in names if env[name] not in _NO_SECRETS}
        return Redactor({**found, **(also or {})})

    @classmethod
    def of_run(cls, env: Mapping[str, str] = os.environ) -> Redactor:
        """For the processes of a run: as `from_env`, plus every variable that came from the secrets file.

        Their names are in SECRET_NAMES: a key does not stop being one because its name does not look like it.
        """
        names = env.get(SECRET_NAMES, "").split(",")
        return cls.from_env(env, also={name: env[name] for name in names if env.get(name)})

    def also(self, secrets: Mapping[str, str]) -> Redactor:
        """One that knows more values."""
        known, floor, shapes = self._given
        return Redactor({**known, **secrets}, least=floor, shapes=shapes)

    def data(self, data: bytes) -> bytes:
        """The bytes without secrets. The same object when there were none."""
        for number, one in enumerate(self._passes):
            if one.scan.search(data) is not None:
                cutter, out = Cutter(*self._passes[number:]), []
                for at in range(0, len(data), _BLOCK):
                    out += cutter.feed(data[at : at + _BLOCK], final=at + _BLOCK >= len(data))
                data = b"".join(out)
        return data

    def text(self, text: str) -> str:
        """As `data`, for text; lone surrogates (undecodable bytes of the system) pass unchanged."""
        raw = text.encode("utf-8", "surrogatepass")
        clean = self.data(raw)
        return text if clean is raw else clean.decode("utf-8", "surrogatepass")

    def obj(self, value: Any) -> Any:
        """The same shape of dicts, lists, tuples and scalars with every string redacted, keys too.

        Keys that become equal get a number, so that nothing is lost. Bytes are redacted, other objects pass unchanged.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, list):
            return [self.obj(item) for item in value]
        if isinstance(value, tuple):
            return tuple(self.obj(item) for item in value)
        if isinstance(value, bytes):
            return self.data(value)
        return value

    def stream(self) -> StreamRedactor:
        """A redactor for a stream of chunks, e.g. a log."""
        return StreamRedactor(self._passes)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        for key, item in value.items():
            clean = self.text(key) if isinstance(key, str) else key
            unique, number = clean, 2
            while unique in result:
                unique, number = f"{clean}#{number}", number + 1
            result[unique] = self._pair(key, item)
        return result

    def _pair(self, key: Any, item: Any) -> Any:
        redacted = self.obj(item)
        if (
            isinstance(key, str)
            and isinstance(redacted, str)
            and key.lower().replace("aws_secret_a", "secret_a") in TELLING_KEYS
        ):
            lead = f"{key}: "
            together = self.text(lead + redacted)
            if together.startswith(lead):
                return together.removeprefix(lead)
        return redacted


class StreamRedactor:
    """Redacts chunk by chunk; holds back only what more input could turn into a secret, at most WINDOW bytes a pass."""

    def __init__(self, passes: tuple[Pass, ...]) -> None:
        self._cutters = [Cutter(*passes[number:]) for number in range(len(passes))]

    def feed(self, chunk: bytes) -> bytes:
        """What is decided so far. May be empty."""
        for cutter in self._cutters:
            chunk = b"".join(cutter.feed(chunk))
        return chunk

    def flush(self) -> bytes:
        """The rest, at the end of the stream. The redactor may be used for another stream afterwards."""
        rest = b""
        for cutter in self._cutters:
            rest = b"".join(cutter.feed(rest, final=True))
        return rest

    @property
    def held(self) -> int:
        """Bytes that are held back now."""
        return sum(cutter.held for cutter in self._cutters)

"""The one redactor that every byte passes before it reaches a file we write or a terminal.

It knows the values of secret variables in every form that `forms` lists, and the shapes of `shapes`; it replaces each
by `[NAME]`. Two passes, known values first: a shape must never eat half of a known value and leave the other half. A
clean buffer costs a scan; only hits are rewritten. A stream gives the same bytes as the whole text, wherever it is cut.
"""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from devops_bench import settings
from devops_bench.redact import forms
from devops_bench.redact.known import KnownValues
from devops_bench.redact.rx import (
    Alt,
    Match,
    Pattern,
    cls,
    compile_heads,
    compile_match,
    compile_unfinished,
    heads,
    many,
)
from devops_bench.redact.shapes import SHAPES, TELLING_KEYS, Shape

__all__ = ["Redactor", "StreamRedactor", "is_secret_name"]

# What one unfinished match may hold back in a stream: the largest PEM block in use (RSA-16384) has 12.7 KiB.
WINDOW: Final = 16 << 10
# Bytes of a shape that make a candidate: five tell `token` from most words.
_SHAPE_HEAD: Final = 5

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


@dataclass(frozen=True, slots=True)
class Span:
    """One replacement: `text[start:end]` becomes `label`. `tail` is what a match beyond the window goes on with."""

    start: int
    end: int
    label: bytes
    tail: Pattern | None = None


class _Pass(Protocol):
    """What a cutter asks of one pass."""

    @property
    def scan(self) -> Pattern:
        """Finds candidates."""
        ...

    def unfinished(self, text: bytes, at: int) -> int:
        """Where the leftmost match begins that more input could finish or lengthen; the end of the text if none."""
        ...

    def spans(self, text: bytes, hit: Match) -> list[Span]:
        """What to replace in a hit, in order; none if a closer look says that it is no secret."""
        ...


class _KnownPass(KnownValues):
    def spans(self, text: bytes, hit: Match) -> list[Span]:
        start, end = hit.span()
        return [Span(start, end, self.label(text[start:end]))]


class _ShapePass:
    """All shapes. Compiled lazily."""

    def __init__(self, shapes: tuple[Shape, ...]) -> None:
        self._shapes = shapes
        self._tree = Alt(tuple(shape.tree for shape in shapes))
        self._compiled: dict[int, tuple[Pattern, Pattern]] = {}

    @functools.cached_property
    def scan(self) -> Pattern:
        return compile_match(self._tree)

    @functools.cached_property
    def _begun(self) -> tuple[Pattern, Pattern]:
        return compile_heads(heads(self._tree, _SHAPE_HEAD)), compile_unfinished(self._tree)

    def unfinished(self, text: bytes, at: int) -> int:
        head, tail = self._begun
        while (candidate := head.search(text, at)) is not None:
            if tail.match(text, candidate.start()) is not None:
                return candidate.start()
            at = candidate.start() + 1
        return len(text)

    def spans(self, text: bytes, hit: Match) -> list[Span]:
        start, end = hit.span()
        for index, shape in enumerate(self._shapes):
            both = self._compiled.get(index)
            if both is None:
                both = compile_match(shape.tree, groups=True), compile_match(many(cls(shape.tail)))
                self._compiled[index] = both
            match = both[0].match(text, start)
            if match is None or match.end() != end:
                continue
            found = []
            for group, number in _groups(both[0]):
                low, high = match.span(number)
                if low >= 0 and not (shape.digits and not re.search(rb"\d", text[low:high])):
                    found.append(Span(low, high, f"[{group.replace('_', '-')}]".encode(), both[1]))
            if found:
                return sorted(found, key=lambda span: span.start)
        return []


def _groups(pattern: Pattern) -> list[tuple[str, int]]:
    """Names and numbers of a pattern's groups (RE2 gives bytes where the pattern is bytes)."""
    return [(name.decode() if isinstance(name, bytes) else name, at) for name, at in pattern.groupindex.items()]


_SHAPE_PASS = _ShapePass(SHAPES)


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
        known: tuple[_Pass, ...] = (_KnownPass(named),) if named else ()
        self._passes: tuple[_Pass, ...] = (*known, _SHAPE_PASS) if shapes else known

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
        for one in self._passes:
            if one.scan.search(data) is not None:
                data = b"".join(_Cutter(one).feed(data, final=True))
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

    def __init__(self, passes: tuple[_Pass, ...]) -> None:
        self._cutters = [_Cutter(one) for one in passes]

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


class _Cutter:
    """State of one pass over one stream.

    `_buffer[:_at]` is context (the byte before, for word boundaries); `_buffer[_at:]` is undecided, of which the first
    `_covered` bytes belong to a replacement that is already out (overlapping values).
    """

    def __init__(self, one: _Pass) -> None:
        self._pass = one
        self._reset()

    def _reset(self) -> None:
        self._buffer, self._at, self._covered = b"", 0, 0
        self._label: bytes | None = None
        self._swallow: Pattern | None = None

    @property
    def held(self) -> int:
        return max(0, len(self._buffer) - self._at - self._covered)

    def feed(self, chunk: bytes, *, final: bool = False) -> list[bytes]:
        text = self._buffer + self._after_swallowing(chunk)
        out: list[bytes] = []
        while True:
            stop = len(text) if final else self._pass.unfinished(text, self._at)
            done = self._rewrite(text, stop, out)
            self._at, self._covered = stop, done - stop
            if len(text) - stop <= WINDOW:
                break
            self._cut_short(text, out)
        if final:
            self._reset()
        else:
            keep = max(0, self._at - 1)
            self._buffer, self._at = text[keep:], self._at - keep
        return out

    def _rewrite(self, text: bytes, stop: int, out: list[bytes]) -> int:
        """Emit everything up to `stop`; returns how far the text is emitted or covered, at least `stop`."""
        at, done = self._at, self._at + self._covered
        while True:
            hit = self._pass.scan.search(text, at)
            if hit is None or hit.start() >= stop:
                break
            for span in self._pass.spans(text, hit):
                done = self._replace(text, span, done, out)
            # From the next byte, not from the end: values may overlap, and then all of them must go.
            at = hit.start() + 1
        if done < stop:
            out.append(text[done:stop])
            done, self._label = stop, None
        return done

    def _replace(self, text: bytes, span: Span, done: int, out: list[bytes]) -> int:
        if span.start > done:
            out += (text[done : span.start], span.label)
        elif span.start == done and span.label != self._label:
            out.append(span.label)
        elif span.end <= done:
            return done
        self._label = span.label
        return span.end

    def _cut_short(self, text: bytes, out: list[bytes]) -> None:
        """The match that begins at `_at` outgrew the window: replace it and swallow what follows, or pass it by."""
        hit = self._pass.scan.search(text, self._at)
        spans = self._pass.spans(text, hit) if hit and hit.start() == self._at else []
        if spans and spans[-1].end == len(text) and spans[-1].tail:
            done = self._at + self._covered
            for span in spans:
                done = self._replace(text, span, done, out)
            self._at, self._covered, self._swallow = len(text), 0, spans[-1].tail
            return
        stop = self._at + WINDOW // 2
        self._covered = self._rewrite(text, stop, out) - stop
        self._at = stop

    def _after_swallowing(self, chunk: bytes) -> bytes:
        if self._swallow is None or not chunk:
            return chunk
        match = self._swallow.match(chunk)
        eaten = match.end() if match else 0
        if eaten < len(chunk):
            self._swallow = None
        if eaten:
            self._buffer, self._at = chunk[eaten - 1 : eaten], 1
        return chunk[eaten:]

"""What one reply has said so far, within bounds; filled by the member modules, read as a frozen `Heard`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import jiter

from devops_bench.models.exchange import AskedCall
from devops_bench.models.wire import Finish, Tokens

# Characters of text, and of the arguments of all calls, that are kept of one reply; calls in one reply.
MAX_TEXT: Final = 256 << 10
MAX_ARGS: Final = 4 << 20
MAX_CALLS: Final = 256
_MAX_NAME: Final = 256
_MAX_ERROR: Final = 600
# Bytes of JSON from which on its parts are counted, and how many there may be.
_LARGE: Final = 1 << 20
_MAX_PARTS: Final = 2_000_000
# More tokens than any reply can have: such a figure is noise.
_MAX_COUNT: Final = 1 << 40


@dataclass(frozen=True, slots=True)
class Heard:
    """A reply as understood so far.

    `done`: the reply told its end. `fault` is empty or `garbage`, `cut`, `empty`, `error` (the provider's own error in
    a reply that began well), with `error` as one line.
    """

    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    finish: Finish | None = None
    tokens: Tokens | None = None
    model: str = ""
    done: bool = False
    fault: str = ""
    error: str = ""


@dataclass
class _Call:
    name: str
    id: str
    namespace: str | None
    args: Any = None
    parts: list[str] = field(default_factory=list)

    def asked(self) -> AskedCall:
        args = self.args
        if not isinstance(args, Mapping):
            args = parsed("".join(self.parts).encode("utf-8", "replace")) if self.parts else {}
        return AskedCall(self.name, args if isinstance(args, Mapping) else {}, self.id, self.namespace)


@dataclass
class Draft:
    """Grows while a reply comes in. Member modules use the methods and set `finish`, `done`, `usage`."""

    finish: Finish | None = None
    model: str = ""
    done: bool = False
    error: str = ""
    refusal: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    _text: list[str] = field(default_factory=list)
    _calls: dict[object, _Call] = field(default_factory=dict)
    _text_room: int = MAX_TEXT
    _args_room: int = MAX_ARGS

    def say(self, text: object) -> None:
        """Text that the user is told."""
        if isinstance(text, str) and text and self._text_room > 0:
            self._text.append(text[: self._text_room])
            self._text_room -= len(text)

    def served(self, model: object) -> None:
        """The model that the provider says it was."""
        if isinstance(model, str) and model:
            self.model = model[:_MAX_NAME]

    def call(self, key: object, name: object, identifier: object = "", namespace: object = None) -> None:
        """A tool call begins, or is named again; `key` tells the calls of a reply apart."""
        given = self._calls.get(key)
        if given is None:
            if len(self._calls) >= MAX_CALLS:
                return
            given = self._calls[key] = _Call("", "", None)
        if isinstance(name, str) and name:
            given.name = name[:_MAX_NAME]
        if isinstance(identifier, str) and identifier:
            given.id = identifier[:_MAX_NAME]
        if isinstance(namespace, str) and namespace:
            given.namespace = namespace[:_MAX_NAME]

    def args(self, key: object, whole: object) -> None:
        """All arguments of a call: an object, or its JSON text, which replaces the parts so far."""
        given = self._calls.get(key)
        if given is None:
            return
        if isinstance(whole, str):
            given.parts = []
            self.args_part(key, whole)
        else:
            given.args = whole

    def args_part(self, key: object, text: object) -> None:
        """A part of the JSON text of a call's arguments."""
        given = self._calls.get(key)
        if given is not None and isinstance(text, str) and self._args_room >= len(text):
            given.parts.append(text)
            self._args_room -= len(text)

    def count(self, **figures: object) -> None:
        """Token counts under our own names; what is no count is left out, a later figure replaces an earlier one."""
        for name, figure in figures.items():
            if isinstance(figure, int) and not isinstance(figure, bool) and 0 <= figure < _MAX_COUNT:
                self.counts[name] = figure

    def fail(self, error: object) -> None:
        """The provider says that it failed; the first word counts."""
        told = error.get("message") if isinstance(error, Mapping) else error
        kind = (error.get("type") or error.get("status") or error.get("code")) if isinstance(error, Mapping) else None
        line = " ".join(str(told or "the provider reports an error").split())
        self.error = self.error or (f"{kind}: {line}" if isinstance(kind, str) else line)[:_MAX_ERROR]

    @property
    def empty(self) -> bool:
        """No text and no call so far."""
        return not self._text and not self._calls

    def heard(self, *, final: bool, readable: bool) -> Heard:
        """The state as it is. `readable`: something of it could be read; `final`: no more will come."""
        calls = tuple(call.asked() for call in self._calls.values() if call.name)
        finish = Finish.REFUSAL if self.refusal else self.finish
        if finish is Finish.STOP and calls:
            finish = Finish.CALLS
        fault, error = "", self.error
        if error:
            fault = "error"
        elif final and not readable:
            fault, error = "garbage", "the reply cannot be read"
        elif final and not self.done:
            fault, error = "cut", "the reply ends before its end"
        elif final and self.empty and finish in {None, Finish.STOP}:
            fault, error = "empty", "the reply holds neither text nor a call"
        return Heard("".join(self._text), calls, finish, tokens_of(self.counts), self.model, self.done, fault, error)


def tokens_of(counts: Mapping[str, int]) -> Tokens | None:
    """Usage from our own names; None when neither input nor output was told."""
    if "input" not in counts and "output" not in counts:
        return None
    return Tokens(
        input=counts.get("input", 0),
        output=counts.get("output", 0),
        cached=counts.get("cached", 0),
        cache_write=counts.get("cache_write", 0),
        reasoning=counts.get("reasoning", 0),
    )


def parsed(data: bytes, *, unique: bool = False) -> Any:
    """JSON, None for what is none (also too deep, of too many parts, or with numbers that are none).

    `unique`: nor is an object with a key twice, which two readers could take for two objects.

    Sixty megabytes of `[],[],` would be gigabytes of objects.
    """
    if len(data) > _LARGE and data.count(b",") > _MAX_PARTS:
        return None
    try:
        return jiter.from_json(data, allow_inf_nan=False, catch_duplicate_keys=unique)
    except ValueError:
        return None


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none for anything else."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []

"""The wire formats of the model providers, as pure functions between JSON and four small types.

Each member module (`google`, `openai_chat`, `openai_responses`, `anthropic`) reads a request into a `Conversation`,
and turns a `Reply` into a response body or the chunks of a stream, and an HTTP status into the provider's error body.
No I/O.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol


class Finish(StrEnum):
    """Why a reply ends."""

    STOP = "stop"
    CALLS = "calls"
    MAX_TOKENS = "max_tokens"
    REFUSAL = "refusal"


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that the request offers; `schema` is its JSON schema, `namespace` as in OpenAI's responses."""

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    """What a request asks for, without what was said in it: found in a moment, however long the conversation is."""

    model: str
    tools: tuple[Offered, ...]
    stream: bool
    size: int

    @property
    def input_tokens(self) -> int:
        """An estimate: four bytes a token."""
        return max(1, self.size // 4)


@dataclass(frozen=True, slots=True)
class Conversation(Heading):
    """What a request says. `turns` counts the model's turns in it; `results` are the tool results since the last."""

    prompt: str
    turns: int
    results: tuple[str, ...]
    system: str = ""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Usage of one reply. `input` includes `cached` and `cache_write`; `output` includes `reasoning`."""

    input: int
    output: int
    cached: int = 0
    cache_write: int = 0
    reasoning: int = 0

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output


@dataclass(frozen=True, slots=True)
class MadeCall:
    """A tool call with the name and arguments that the request's tools want."""

    id: str
    name: str
    args: Mapping[str, Any]
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """One turn of the model. `id` is unique."""

    id: str
    model: str
    text: str
    thinking: str
    calls: tuple[MadeCall, ...]
    tokens: Tokens
    finish: Finish
    created: int


class Wire(Protocol):
    """What a member module offers. Each of the `chunks` of a stream is one whole unit of the protocol."""

    def heading(self, body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Heading: ...
    def read(self, body: Mapping[str, Any], model: str, *, stream: bool, size: int) -> Conversation: ...
    def whole(self, reply: Reply) -> dict[str, Any]: ...
    def chunks(self, reply: Reply) -> Iterator[bytes]: ...
    def error(self, status: int, message: str, retry_after: float | None) -> dict[str, Any]: ...


_CALL_ID = "t"


def new_id(prefix: str) -> str:
    """A unique id."""
    return prefix + secrets.token_hex(12)


def call_id(turn: int, number: int) -> str:
    """A unique id of a tool call that tells its turn, so that a client's history tells how far it is."""
    return f"call_{_CALL_ID}{turn}x{number}_{secrets.token_hex(8)}"


def turn_of(identifier: object) -> int | None:
    """The turn of a call id that we made, None for others."""
    head, _, _ = str(identifier).removeprefix("call_").partition("x")
    return int(head[1:]) if head.startswith(_CALL_ID) and head[1:].isdigit() else None


class History:
    """Counts the model's turns in a conversation and keeps the tool results since the last one.

    Ids that we made tell the turn outright. Where there are none, a run of the model's entries is one turn: clients
    split a reply into text and calls, and some put each call beside its result.
    """

    def __init__(self) -> None:
        self.turns = 0
        self.results: list[str] = []
        self._ours = False

    def ours(self, identifiers: Iterable[object] = ()) -> None:
        """An entry of the model, with the ids of its calls."""
        for identifier in list(identifiers) or [None]:
            told = turn_of(identifier)
            new = told >= self.turns if told is not None else not self._ours
            self.turns = max(self.turns, told + 1) if told is not None else self.turns + new
            if new:
                self.results = []
            self._ours = True

    def result(self, text: str) -> None:
        """A tool result."""
        self.results.append(text)
        self._ours = False

    def other(self) -> None:
        """Anything else."""
        self._ours = False


def text_of(content: object) -> str:
    """The text in a content field: a string, or a list of parts with `text`, `content` or `output`."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        for key in ("text", "content", "output", "result", "error"):
            if key in content:
                return text_of(content[key])
        return json.dumps(content, ensure_ascii=False) if content else ""
    if isinstance(content, list):
        return "\n".join(part for part in map(text_of, content) if part)
    return "" if content is None else json.dumps(content, ensure_ascii=False)


def sse(data: object, event: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)}\n\n".encode()


def pieces(text: str, count: int = 3) -> list[str]:
    """`text` in a few parts, as a stream sends it; none for no text."""
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]

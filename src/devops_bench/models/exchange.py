"""One request to a model and its reply, as the gateway saw them: evidence that does not come from the agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from devops_bench.models.wire import Finish, Tokens


@dataclass(frozen=True, slots=True)
class AskedCall:
    """A tool call in a reply; `namespace` as in OpenAI's responses."""

    name: str
    args: Mapping[str, Any]
    id: str = ""
    namespace: str | None = None


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what became of it.

    `time` is UTC epoch seconds, `latency` and `first_byte` seconds. `tools` are the names the request offered (with
    `namespace/` before a namespaced one), also of tools that the provider runs itself. `own` False: it is not like the
    CLI's own turns, so the agent may have made it by hand; what becomes of it says nothing about the run. `status` 0:
    no reply came. `finish` None: the reply does not tell, or is not whole. `tokens` None: not told; `estimate` (four
    bytes a token) is there then. `fault`: empty, or what went wrong in a word, with `error` as one line: `http`,
    `connection`, `hang`, `garbage`, `cut`, `empty`, `error` (the provider's, in a reply that began well), `gone` (the
    client hung up), `cap`, `refused` (by the gateway), `harness`. `retry_after` in seconds where one was given.
    """

    number: int
    time: float
    wire: str
    model: str
    stream: bool = False
    status: int = 0
    tools: tuple[str, ...] = ()
    own: bool = True
    text: str = ""
    calls: tuple[AskedCall, ...] = ()
    finish: Finish | None = None
    tokens: Tokens | None = None
    estimate: Tokens | None = None
    served_model: str = ""
    latency: float = 0.0
    first_byte: float | None = None
    cost_usd: float | None = None
    fault: str = ""
    error: str = field(default="", repr=False)
    retry_after: float | None = None

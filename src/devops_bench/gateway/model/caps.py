"""How much an attempt may use, how long the gateway waits, and why it ended a run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from devops_bench import settings
from devops_bench.models.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Caps:
    """Limits of one attempt; None: none.

    `requests` counts the model's turns: requests that offer tools. Those without (titles, summaries) are counted apart,
    up to the same number. A cap is reached when the next request would go beyond it: a reply that ends the run just at
    the limit is a good end.
    """

    requests: int | None = None
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds: without any byte from the provider, for connecting, and in all for rate limits."""

    idle: float = settings.TABLE["model_idle"].value
    connect: float = settings.TABLE["model_connect"].value
    wait: float = settings.TABLE["model_wait"].value

    @classmethod
    def of(cls, env: Mapping[str, str] = os.environ) -> Patience:
        """From the environment. Raises ConfigError."""
        return cls(*(settings.value(name, env) for name in ("model_idle", "model_connect", "model_wait")))


class End(NamedTuple):
    """Why the gateway ended the run.

    `kind` is a stable word: `http_<status>`, `connection`, `credentials` (ambient ones are refused), `no_reply` (the
    provider hangs), `bad_reply` (garbage, cut), `error` (the provider's error in a reply that began well), `empty`,
    `cap_requests`, `cap_tokens`, `cap_cost`, `grant_missing`, `harness` (the gateway itself failed). `status` is the
    provider's, 0 when there is none; `error` one line; `retry_after` seconds.
    """

    kind: str
    status: int
    error: str
    retry_after: float | None = None


@dataclass(frozen=True, slots=True)
class Spent:
    """What an attempt has used so far. `cost_usd` adds up what has a known price. Both hold what had to be estimated,
    because a reply told no usage: `estimated` tokens of all.
    """

    turns: int = 0
    others: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    estimated: int = 0

    def asked(self, *, tools: bool) -> Spent:
        """With one more request."""
        return replace(self, turns=self.turns + 1) if tools else replace(self, others=self.others + 1)

    def answered(self, exchange: Exchange) -> Spent:
        """With the tokens of a reply."""
        if exchange.tokens is not None:
            return replace(self, tokens=self.tokens + exchange.tokens.total)
        more = exchange.estimate.total if exchange.estimate is not None else 0
        return replace(self, tokens=self.tokens + more, estimated=self.estimated + more)

    def priced(self, cost: float) -> Spent:
        """With what a reply cost."""
        return replace(self, cost_usd=self.cost_usd + cost)

    def beyond(self, caps: Caps, *, tools: bool) -> End | None:
        """The end that one more request would mean; None while there is room."""
        asked = self.turns if tools else self.others
        if caps.requests is not None and asked >= caps.requests:
            return End("cap_requests", 0, f"the limit of {caps.requests} model requests is reached")
        if caps.tokens is not None and self.tokens >= caps.tokens:
            return End("cap_tokens", 0, f"the limit of {caps.tokens} tokens is reached ({self.tokens} used)")
        if caps.cost_usd is not None and self.cost_usd >= caps.cost_usd:
            return End("cap_cost", 0, f"the limit of {caps.cost_usd:g} USD is reached ({self.cost_usd:.4f} spent)")
        return None

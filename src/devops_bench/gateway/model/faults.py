"""What a provider's refusal means: rate limits, waits, messages, and the end of a run."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from devops_bench.gateway.model.caps import End
from devops_bench.models.exchange import Exchange
from devops_bench.models.replies.draft import items, mapping, parsed

# Too many requests, unavailable, overloaded (Anthropic).
RATE_LIMITS: Final = frozenset({429, 503, 529})
# Something is wrong with one request; the agent may do better (a context that is too long, an unknown argument).
FORGIVEN: Final = frozenset({400, 404, 405, 413, 415, 422})
# So many of them one after the other are no accident.
FORGIVEN_IN_A_ROW: Final = 3
EMPTY_IN_A_ROW: Final = 2
_KINDS: Final = {
    "hang": "no_reply",
    "connection": "connection",
    "credentials": "credentials",
    "garbage": "bad_reply",
    "cut": "bad_reply",
    "error": "error",
    "harness": "harness",
}
# What providers call a limit inside a reply that began well.
_LIMIT_WORDS: Final = ("overloaded", "rate_limit", "rate limit", "RESOURCE_EXHAUSTED", "UNAVAILABLE")
_LONGEST: Final = 600
_DELAY = re.compile(r"(\d+(?:\.\d+)?)s")


class Closed:
    """A refusal that was read to its end."""

    def __init__(self, status: int, fields: tuple[tuple[str, str], ...], body: bytes) -> None:
        self.status = status
        self.fields = fields
        self.length = len(body)
        self._body = body

    def chunks(self) -> Iterator[bytes]:
        """The body."""
        yield self._body

    def close(self) -> None:
        """Nothing is open."""


def end_of(exchange: Exchange, before: tuple[str, ...]) -> End | None:
    """The end that an exchange means for its run; `before` are the faults of those before it, the last one last."""
    fault, error = exchange.fault, exchange.error
    if fault == "http":
        if exchange.status in FORGIVEN and not _in_a_row(before, fault, FORGIVEN_IN_A_ROW):
            return None
        return End(f"http_{exchange.status}", exchange.status, error, exchange.retry_after)
    if fault == "empty" and _in_a_row(before, fault, EMPTY_IN_A_ROW):
        return End("empty", 0, f"{EMPTY_IN_A_ROW} replies in a row are empty")
    return End(_KINDS[fault], 0, error, exchange.retry_after) if fault in _KINDS else None


def _in_a_row(before: tuple[str, ...], fault: str, count: int) -> bool:
    return len(before) >= count - 1 and all(one == fault for one in before[len(before) - count + 1 :])


def limits(exchange: Exchange) -> bool:
    """Whether the provider limits the rate by an error inside a reply."""
    return exchange.fault == "error" and any(word in exchange.error for word in _LIMIT_WORDS)


def retry_after(fields: tuple[tuple[str, str], ...], body: bytes) -> float | None:
    """Seconds that the provider asks to wait, by a header or by google.rpc.RetryInfo; None when it does not."""
    headers = {name.lower(): value.strip() for name, value in fields}
    if (millis := _number(headers.get("retry-after-ms", ""))) is not None:
        return millis / 1000
    told = headers.get("retry-after", "")
    if (seconds := _number(told)) is not None:
        return seconds
    if told:
        try:
            return max(0.0, email.utils.parsedate_to_datetime(told).timestamp() - time.time())
        except (TypeError, ValueError, OverflowError):
            return None
    for detail in items(_error(body).get("details")):
        if found := _DELAY.fullmatch(str(detail.get("retryDelay", ""))):
            return float(found[1])
    return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _error(body: bytes) -> Mapping[str, Any]:
    found = parsed(body)
    if isinstance(found, list) and found:
        found = found[0]
    return mapping(mapping(found).get("error"))


def message(body: bytes) -> str:
    """What an error's body says, as one short line."""
    error = _error(body)
    told = error.get("message")
    line = told if isinstance(told, str) and told else body.decode("utf-8", "replace")
    return " ".join(line.split())[:_LONGEST]

"""Which headers pass: none of the hop, none of the client's keys towards the provider, no key towards the client."""

from __future__ import annotations

from collections.abc import Iterable

from devops_bench.redact import Redactor

Fields = Iterable[tuple[str, str]]

# RFC 9110, 7.6.1, and what belongs to a message's framing.
_HOP = frozenset(
    {"connection", "keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "te", "trailer",
     "transfer-encoding", "upgrade", "content-length", "expect", "host"}
)  # fmt: skip
# Bodies are passed on decoded. Whose project or organization it is for is not the client's to say: an agent could make
# the provider refuse the key, which looks like a fault of the configuration.
_NOT_OURS = frozenset(
    {"content-encoding", "accept-encoding", "x-goog-user-project", "openai-organization", "openai-project",
     "x-goog-iam-authorization-token", "x-goog-iam-authority-selector"}
)  # fmt: skip
_AUTH = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"})
_FROM_PROVIDER = frozenset({"content-encoding", "set-cookie", "alt-svc", "strict-transport-security"})


def header(fields: Fields, name: str) -> str:
    """The first value of a header (its name in lower case), empty when there is none."""
    return next((value for key, value in fields if key.lower() == name), "")


def to_provider(fields: Fields, token: str) -> list[tuple[str, str]]:
    """The client's headers without those of the hop, without its keys, and without any that holds the token."""
    kept = list(fields)
    dropped = _HOP | _NOT_OURS | _AUTH | _named(kept)
    return [(name, value) for name, value in kept if name.lower() not in dropped and not (token and token in value)]


def to_client(fields: Fields, guard: Redactor) -> list[tuple[str, str]]:
    """The provider's headers without those of the hop; `guard` takes out keys that it reflects."""
    kept = list(fields)
    dropped = _HOP | _FROM_PROVIDER | _named(kept)
    return [(guard.text(name), guard.text(value)) for name, value in kept if name.lower() not in dropped]


def _named(fields: Fields) -> set[str]:
    """What the Connection header names belongs to the hop, too."""
    listed = [value for name, value in fields if name.lower() == "connection"]
    return {name.strip().lower() for value in listed for name in value.split(",")}

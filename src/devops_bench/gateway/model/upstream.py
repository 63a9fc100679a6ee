"""What stands behind the gateway: a provider or a script, one interface for both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from devops_bench.gateway.model.watch import Watch
from devops_bench.models.http import Request
from devops_bench.models.routes import Route


class UpstreamError(Exception):
    """No whole reply came. `word`: `connection`, `credentials`, `hang`, `cut` or `garbage`; the text is one line."""

    def __init__(self, word: str, text: str) -> None:
        self.word = word
        super().__init__(" ".join(text.split()))


@dataclass(frozen=True, slots=True)
class Asked:
    """A request with its meaning. `token` opened the gateway, and must not go on."""

    request: Request
    route: Route
    model: str
    token: str = field(repr=False)
    stream: bool = False


class Incoming(Protocol):
    """A reply that has begun; read by one thread. `length` is the size of its body where that is known before."""

    @property
    def status(self) -> int: ...
    @property
    def fields(self) -> tuple[tuple[str, str], ...]: ...
    @property
    def length(self) -> int | None: ...

    def chunks(self) -> Iterator[bytes]:
        """The body as it comes, decoded. Raises UpstreamError, and watch.ClientGone."""
        ...

    def close(self) -> None:
        """No more is wanted; what was not read is dropped with its connection."""
        ...


class Upstream(Protocol):
    """Where requests go. For any thread."""

    @property
    def provider(self) -> str:
        """A name in `models.providers`, for prices and events."""
        ...

    @property
    def model(self) -> str | None:
        """The one model that may be asked; None: whatever is asked, the same one answers."""
        ...

    def secrets(self) -> Mapping[str, str]:
        """Keys in use by name: no client may see them."""
        ...

    def open(self, asked: Asked, watch: Watch) -> Incoming:
        """Send the request, wait for the head of the reply. Raises UpstreamError, and watch.ClientGone."""
        ...

    def close(self) -> None:
        """Drop idle connections."""
        ...

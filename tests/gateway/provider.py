"""Local stand-ins for a provider: every request is kept, a function answers on the bare connection."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from devops_bench.gateway.model import Caps, Forward, ModelGateway, Patience
from devops_bench.models.http import Connection, Request
from devops_bench.models.listener import Listener
from devops_bench.models.providers import Resolved
from tests.gateway.mcp_parts import wait_for

KEY = "real-key-0123456789abcdef"
DEADLINE = 30.0


class Provider:
    """Answers by `handle(connection, request)`; `requests` are all it got."""

    def __init__(self, handle: Callable[[Connection, Request], None]) -> None:
        self.requests: list[Request] = []
        self._handle = handle
        self._listener = Listener(self._keep, name="provider")
        self.port = self._listener.port
        self.url = f"http://127.0.0.1:{self.port}"

    def _keep(self, connection: Connection, request: Request) -> None:
        self.requests.append(request)
        self._handle(connection, request)

    def __enter__(self) -> Provider:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def resolved(url: str, provider: str = "openai", model: str = "m-1", key: str | None = KEY) -> Resolved:
    return Resolved(provider, model, url, key, "OPENAI_API_KEY")


@contextlib.contextmanager
def forwarding(target: Resolved, wire: str = "openai", env: dict[str, str] | None = None, **more: Any) -> Iterator[Any]:
    """A gateway in front of `target`."""
    more.setdefault("patience", Patience(idle=DEADLINE))
    with ModelGateway(Forward(target, env=env or {}), wire=wire, model=target.model, **more) as one:
        yield one


def chat(stream: bool = False) -> dict[str, Any]:
    tool = {"type": "function", "function": {"name": "bash", "parameters": {"type": "object"}}}
    body = {"model": "m-1", "messages": [{"role": "user", "content": "hi"}], "tools": [tool]}
    return {**body, "stream": True} if stream else body


def ask(one: ModelGateway, body: Any = None, path: str = "/v1/chat/completions", **more: Any) -> httpx.Response:
    headers = {"Authorization": f"Bearer {one.token}", **more.pop("headers", {})}
    url = f"http://127.0.0.1:{one.address[1]}{path}"
    return httpx.post(url, json=chat() if body is None else body, headers=headers, timeout=DEADLINE, **more)


__all__ = ["DEADLINE", "KEY", "Caps", "Provider", "ask", "chat", "forwarding", "resolved", "wait_for"]

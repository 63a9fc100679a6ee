"""A scripted server and the vendors' own clients, each behind the same four questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from devops_bench.models.scenario import scenario
from devops_bench.models.server import ScriptedServer

from .clients import CLIENTS, Client

PLAYER: dict[str, Any] = {
    "usage": {"input": 1000, "output": 50, "cached": 300, "reasoning": 10},
    "turns": [
        {"text": "I look first.", "thinking": "What is there?", "shell": "kubectl get pods"},
        {
            "calls": [
                {"shell": "date"},
                {"file": {"action": "write", "path": "a.txt", "content": "got {{last_result}}"}},
            ]
        },
        {"text": "It was {{last_result}}.", "usage": {"input": 2000, "output": 7}},
    ],
}


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer({"player": scenario("player", PLAYER)}) as one:
        yield one


@pytest.fixture(params=sorted(CLIENTS))
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=[False, True], ids=["whole", "stream"])
def stream(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def client(wire: str, server: ScriptedServer) -> Iterator[Client]:
    with CLIENTS[wire](server.endpoint(wire, "scripted:player"), "scripted:player") as one:
        yield one

"""What tests of an adapter without its CLI share: a task, what a run left behind, lies to tell it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from devops_bench.agents.base import AgentTask, Grants, Limits, McpGrant, ModelEndpoint
from devops_bench.agents.frame.types import Cli, Left
from devops_bench.sandbox import Sandbox

RECORDED = Path(__file__).parent / "recorded"
GRANT = McpGrant("k8s", ("/bin/bash", "/run/agent/relay"), ("127.0.0.1", 1), "t", ("echo",))
# Every value a transcript can hold where something else is expected; `%s` stands for one of them.
LIES = (
    "null", "[]", "{}", "7", "-1", "1e999", '"x"', "true", '{"type": [], "content": {"a": 1}}',
    '[null, 1, {"type": 3}]',
    '[[["deep"]]]', '{"id": {}, "name": [], "input": "}"}',
)  # fmt: skip


def a_task(cli: Cli, box: Sandbox, **grants: Any) -> AgentTask:
    """A task for a pure call of `launch` or `read`."""
    return AgentTask(
        prompt="Do it.",
        workspace=box.spec.workspace,
        home=box.spec.home,
        sandbox=box,
        endpoint=ModelEndpoint(cli.wires[0], "some-model", base_url="http://127.0.0.1:9", key="token"),
        grants=Grants(**grants),
        limits=Limits(60, 7, 1 << 20),
        env={},
    )


def left_behind(home: Path, stdout: bytes, stderr: bytes = b"", **files: bytes) -> Left:
    """What a run left: `files` by their place in HOME, with `__` for `/` where a name cannot hold it."""
    for name, data in files.items():
        path = home / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return Left(stdout, stderr, 0, False, home, 1.0, 2.0, arrived=(1.5,))

"""What can go wrong with a model, and how a run must then end, whichever CLI it is: one table for the family."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.base import CallStatus, EndReason
from devops_bench.agents.frame.types import Cli
from devops_bench.sandbox import SandboxMode
from tests.agents.clis.live import Result, offered, play


@dataclass(frozen=True)
class Fault:
    """A scenario's turns and what must come of them. `requests`: how many the CLI may make, 0 for any number."""

    turns: str
    end: EndReason
    raw: str
    requests: int = 1
    more: tuple[tuple[str, Any], ...] = ()


API, SHELL = EndReason.API_ERROR, "{shell: echo hi}"
# Nothing in it shows what it does: like a signal from outside.
UNSEEN = "echo ki_ll -9 -1 | tr -d _ | bash"
FAULTS = {
    "429": Fault("{fault: 429}", API, "http_429"),
    "429 with a wait": Fault("{fault: {status: 429, retry_after: 30}}", API, "http_429"),
    "500": Fault("{fault: 500}", API, "http_500"),
    "401": Fault("{fault: 401}", API, "http_401"),
    "500 after a call": Fault(f"{SHELL}, {{fault: 500}}", API, "http_500", 2),
    "garbage": Fault("{fault: garbage}", API, "bad_reply"),
    "cut": Fault("{fault: cut, text: This sentence is cut.}", API, "bad_reply"),
    "empty": Fault("{fault: empty}", EndReason.EMPTY, "empty", 0),
    "refusal": Fault("{fault: refusal}", EndReason.REFUSED, "content_filter"),
    "hang": Fault("{fault: hang}", API, "no_reply", more=(("patience", 2),)),
    "hang to the limit": Fault("{fault: hang}", EndReason.TIMEOUT, "timeout", more=(("timeout", 8),)),
    "sleep to the limit": Fault("{shell: sleep 600}", EndReason.TIMEOUT, "timeout", more=(("timeout", 8),)),
    "SIGKILL by itself": Fault("{shell: kill -KILL -1}, {text: Never.}", EndReason.SELF_ENDED, "signal_9"),
    "SIGKILL": Fault(f"{{shell: {UNSEEN}}}, {{text: Never.}}", EndReason.CRASHED, "signal_9"),
}
QUICK = {"429", "refusal", "500 after a call"}
# For a CLI whose starts are dear, or whose runs the others cover: one request each, no limit of time.
PLAIN = ("429", "500", "401", "empty", "garbage", "cut", "refusal")


def every_fault(quick: set[str] = QUICK, names: Iterable[str] = FAULTS) -> list[Any]:
    """Parameters of a test: the representatives always, the rest in soak runs."""
    return [name if name in quick else pytest.param(name, marks=pytest.mark.soak) for name in names]


def check_fault(
    cli: Cli, mode: SandboxMode, root: Path, name: str, *, requests: int | None = None, **more: Any
) -> None:
    """Play it; the end is the right one, and nothing is tried again. `requests`: this CLI's, where not the family's."""
    fault = FAULTS[name]
    allowed = fault.requests if requests is None else requests
    result = play(cli, mode, root, f"turns: [{fault.turns}]", **{**dict(fault.more), **more})
    assert (result.run.end, result.run.raw_end) == (fault.end, fault.raw)
    assert result.run.errors and "\n" not in result.run.errors[0]
    assert not allowed or len(result.exchanges) == allowed, "nothing is tried again"
    if name == "429 with a wait":
        assert "retry after 30 s" in result.run.errors[0]


def check_turn_limit(cli: Cli, mode: SandboxMode, root: Path) -> None:
    """A loop ends at the limit of turns, with all its calls on record."""
    result = play(cli, mode, root, f"repeat_last: true\nturns: [{SHELL}]", turns=3)
    assert result.run.end is EndReason.MAX_TURNS
    assert result.run.model_turns == 3 and len(result.run.tool_calls) == 3


def check_big_output(cli: Cli, mode: SandboxMode, root: Path) -> None:
    """Five megabytes of a tool's output end nothing; what the model saw of them is on record."""
    result = play(cli, mode, root, "turns: [{shell: yes x | head -c 5000000}, {text: Done.}]")
    assert (result.run.end, result.run.output) == (EndReason.COMPLETED, "Done.")
    assert 1000 < len(result.run.tool_calls[0].result) < 1_000_000


def check_dead_server(cli: Cli, mode: SandboxMode, root: Path) -> Result:
    """An MCP server that dies under a call is an error that the model sees; the run goes on."""
    turns = "{mcp: {tool: die, server: k8s}}, {text: Done.}"
    result = play(cli, mode, root, f"turns: [{turns}]", mcp=[])
    assert result.run.end is EndReason.COMPLETED
    assert result.run.tool_calls[0].status is CallStatus.ERROR
    return result


def check_unknown_tool(cli: Cli, mode: SandboxMode, root: Path, said: str) -> None:
    """A tool that does not exist is an error that the model sees, in the CLI's words (`said`); the run goes on."""
    scenario = "turns: [{tool: {name: no_such_tool, args: {x: 1}}}, {text: 'So: {{last_result}}'}]"
    result = play(cli, mode, root, scenario)
    assert result.run.end is EndReason.COMPLETED and said in result.run.output
    assert result.run.tool_calls[0].status is CallStatus.ERROR


def check_broken_server(cli: Cli, mode: SandboxMode, root: Path, broken: str) -> Result:
    """A granted MCP server whose command (`broken`) does not start is no success."""
    result = play(
        cli, mode, root, "turns: [{text: Done.}]", mcp=[],
        granted=lambda grant: replace(grant, argv=(broken,)),
    )  # fmt: skip
    assert (result.run.end, result.run.raw_end) == (EndReason.CRASHED, "grant_missing")
    return result


def check_slow_server(cli: Cli, mode: SandboxMode, root: Path, tool: str) -> None:
    """A granted MCP server that takes its time is waited for: its `tool` is offered."""
    slow = ("/bin/bash", "-c", 'sleep 6; exec "$@"', "relay")
    result = play(
        cli, mode, root, "turns: [{text: Done.}]", mcp=[],
        granted=lambda grant: replace(grant, argv=(*slow, *grant.argv)),
    )  # fmt: skip
    assert tool in offered(result)

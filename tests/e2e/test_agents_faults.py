"""What goes wrong with a model, a CLI or an MCP server ends a run soon, under its right name, and is blamed on nobody
else. Each fault through the real CLI, the real gateway and the real sandbox.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import psutil
import pytest

from .agents_world import ANSWER, CLIS, ECHO, PATIENCE, Ran, ensure_installed, mcp_server, run
from .world import World, assert_no_residue, until

pytestmark = pytest.mark.sandbox

DONE = {"text": "The word is written."}
ACT = {"shell": ANSWER}


@dataclass(frozen=True)
class Fault:
    """A scenario, and how it must end. `ended`: state, class, signature; `notice`: seconds of the agent at most, ten
    times what is wanted.
    """

    turns: list[Mapping[str, Any]]
    end: str | tuple[str, ...]
    ended: tuple[str, str | None, str | None]
    raw_end: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)
    notice: float = 50.0


def infra(signature: str) -> tuple[str, str, str]:
    return "invalid", "infra", signature


FAULTS: dict[str, Fault] = {
    "429-always": Fault([ACT, {"fault": 429}], "api_error", infra("model-rate-limit"), "http_429"),
    "429-for-long": Fault(
        [ACT, {"fault": {"status": 429, "retry_after": 900}}], "api_error", infra("model-rate-limit"), "http_429"
    ),
    "429-for-a-moment": Fault(
        [{"fault": {"status": 429, "retry_after": 1}, "times": 1, **ACT}, DONE], "completed", ("scored", None, None)
    ),
    "500": Fault([{"fault": 500}], "api_error", infra("model-unavailable"), "http_500"),
    "401": Fault([ACT, {"fault": 401}], "api_error", ("invalid", "config-auth", "model-auth"), "http_401"),
    "empty": Fault([ACT, {"fault": "empty"}], "empty", ("invalid", "model", "empty-reply"), "empty"),
    "garbage": Fault([ACT, {"fault": "garbage"}], "api_error", infra("model-bad-reply"), "bad_reply"),
    "cut": Fault(
        [ACT, {"fault": "cut", "text": "A long answer. " * 40}], "api_error", infra("model-bad-reply"), "bad_reply"
    ),
    "hang": Fault([ACT, {"fault": "hang"}], "timeout", ("scored", None, None), "timeout"),
    "silent-provider": Fault(
        [ACT, {"fault": "hang"}], "api_error", infra("model-no-reply"), "no_reply", {"BENCH_MODEL_IDLE_SEC": "2"}
    ),
    "max-turns": Fault(
        [ACT, {"shell": "echo again"}], "max_turns", ("scored", None, None), None, {"AGENT_MAX_TURNS": "4"},
        {"repeat_last": True},
    ),
    # Claude Code asks to go on after such a reply: it has to come again and again.
    "max-tokens": Fault(
        [ACT, {"fault": "max_tokens"}], "completed", ("scored", None, None), "max_tokens", more={"repeat_last": True}
    ),
    "refusal": Fault(
        [ACT, {"fault": "refusal", "text": "I will not."}], "refused", ("scored", None, None), "content_filter"
    ),
    "unknown-tool": Fault(
        [{"tool": {"name": "launch_rocket", "args": {"when": "now"}}}, ACT, DONE], "completed", ("scored", None, None)
    ),
    "5-mb-of-output": Fault(
        [{"shell": "head -c 5000000 /dev/zero | tr '\\0' x"}, ACT, DONE], "completed", ("scored", None, None)
    ),
    "cli-killed": Fault(
        [ACT, {"shell": "echo ki_ll -9 -1 | tr -d _ | bash; sleep 60"}], "crashed", infra("agent-killed"), "signal_9"
    ),
    "cli-killed-by-itself": Fault(
        [{"shell": "kill -9 -1; sleep 60"}], "self_ended", ("failed", None, None), "signal_9"
    ),
}  # fmt: skip
# In `make test` each fault once, the quick CLIs in turn; every CLI meets some.
QUICK = {(agent, fault) for fault, agent in zip(FAULTS, ("codex", "claude", "gemini") * len(FAULTS), strict=False)}


def cases() -> list[Any]:
    return [
        pytest.param(agent, fault, id=f"{agent}-{fault}", marks=[] if (agent, fault) in QUICK else [pytest.mark.soak])
        for agent in ("api", *CLIS)
        for fault in FAULTS
        if not (agent == "api" and fault.startswith("cli-killed"))  # it is no program of its own
    ]


@pytest.mark.parametrize(("agent", "fault"), cases())
def test_a_fault_ends_under_its_name(world: World, agent: str, fault: str) -> None:
    ensure_installed(agent)
    case = FAULTS[fault]
    slow = PATIENCE.get(agent, 0.0)
    limit = {"AGENT_TIMEOUT_SEC": str(120 if slow else 20)} if fault == "hang" else {}
    ran = run(world, agent, world.task(), {"turns": case.turns, **case.more}, **limit, **case.env)
    assert ran.ended == case.ended, ran.explain()
    assert ran.end == case.end, ran.explain()
    if case.raw_end is not None:
        assert ran.told["raw_end"] == case.raw_end, ran.explain()
    assert ran.record["latency"] < case.notice + slow
    assert ran.code == (0 if case.ended[0] == "scored" else 1)
    _told(ran, fault)
    assert_no_residue(world)


def _told(ran: Ran, fault: str) -> None:
    """What the record says beside the end."""
    if ran.ended[0] == "invalid":
        assert ran.record["error"]
        assert ran.record["scores"] == {}
    if "shell" in str(FAULTS[fault].turns[0]) and fault != "429-for-a-moment":
        assert ran.record["trajectory"], "what was done before the fault is kept"
    limited = [event for event in ran.lines("events.jsonl") if event["event"] == "rate_limited"]
    assert bool(limited) == fault.startswith("429"), limited
    if fault == "429-for-long":
        assert ran.outcome["delay"] == 900
        assert limited[0]["retry_after"] == 900
    if fault == "unknown-tool":
        assert ran.told["agreement"]["asked"] == 2
    if fault == "5-mb-of-output":
        assert max(len(call["result"]) for call in ran.record["trajectory"]) < 1 << 20


def kill_cli(program: int) -> None:
    """SIGKILL the CLI from outside, as a host short of memory would, once its model's command runs."""

    def command_runs() -> psutil.Process | None:
        for one in psutil.Process(program).children(recursive=True):
            with contextlib.suppress(psutil.Error):
                if one.cmdline()[:2] == ["sleep", "54321"]:
                    return one
        return None

    sleeper = until(command_runs, "the agent's command runs", 240)
    for one in sleeper.parents():
        with contextlib.suppress(psutil.Error):
            if one.cmdline()[0].endswith("/codex") or one.cmdline()[0] == "codex":
                one.kill()


def test_a_cli_that_is_killed_from_outside_is_nobody_s_fault(world: World) -> None:
    ensure_installed("codex")
    turns = {"turns": [ACT, {"shell": "sleep 54321"}, DONE]}
    ran = run(world, "codex", world.task(), turns, meanwhile=kill_cli)
    assert ran.ended == infra("agent-killed"), ran.explain()
    assert (ran.end, ran.told["raw_end"]) == ("crashed", "signal_9")
    assert ran.record["trajectory"], "what was done before is kept"
    assert_no_residue(world)


CRASH = {"mcp": {"tool": "run", "args": {"code": "import os; os.kill(os.getpid(), 9)"}}}
SERVERS: dict[str, tuple[tuple[str, ...], list[Mapping[str, Any]], tuple[str, str | None, str | None]]] = {
    "slow-to-start": (("--slow", "6"), [ECHO, ACT, DONE], ("scored", None, None)),
    "does-not-start": (("--die",), [ECHO, ACT, DONE], ("invalid", "setup", "mcp-server-start")),
    "killed": ((), [ECHO, CRASH, ACT, DONE], ("invalid", "setup", "mcp-server-died")),
}
QUICK_SERVERS = {("gemini", "slow-to-start"), ("codex", "does-not-start"), ("claude", "killed")}


def server_cases() -> list[Any]:
    return [
        pytest.param(
            agent, fault, id=f"{agent}-{fault}", marks=[] if (agent, fault) in QUICK_SERVERS else [pytest.mark.soak]
        )
        for agent in ("api", *CLIS)
        for fault in SERVERS
    ]


@pytest.mark.parametrize(("agent", "fault"), server_cases())
def test_an_mcp_server_s_fault_is_the_setup_s(world: World, agent: str, fault: str) -> None:
    ensure_installed(agent)
    args, turns, ended = SERVERS[fault]
    ran = run(world, agent, world.task(), {"turns": turns}, grants="+mcp", **mcp_server(world, *args))
    assert ran.ended == ended, ran.explain()
    if fault == "slow-to-start":
        assert ran.told["mcp_calls"] == 1
        assert ran.told["agreement"]["status"] == "agrees", ran.told["agreement"]
    assert_no_residue(world)

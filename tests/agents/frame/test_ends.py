"""The end of a run, settled from the CLI's words, the gateway's exchanges and the process: one table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from devops_bench.agents.base import EndReason
from devops_bench.agents.frame.ends import Facts, settle
from devops_bench.agents.frame.types import Reading
from devops_bench.models.exchange import AskedCall, Exchange
from devops_bench.models.wire import Finish

DONE = Reading(output="All is well.", end=EndReason.COMPLETED, raw_end="end_turn")
MUTE = Reading()
FAILED = Reading(end=EndReason.API_ERROR, raw_end="http_401")
TOOLS = ("Bash",)
GOOD = Exchange(1, 100.0, "anthropic", "m", status=200, tools=TOOLS, text="All is well.", finish=Finish.STOP)
CALLS = replace(GOOD, text="", calls=(AskedCall("Bash", {}),), finish=Finish.CALLS)
FACTS = Facts(exit=0, steps=3, timeout_sec=60, output_bytes=1000, exchanges=(CALLS, GOOD))


def asks(**args: Any) -> Exchange:
    return replace(CALLS, calls=(AskedCall("Read", {"path": "/etc/hosts"}), AskedCall("Bash", args)))


def facts(*exchanges: Exchange, **more: Any) -> Facts:
    return replace(FACTS, exchanges=exchanges, **more)


def fault(kind: str, **more: Any) -> Exchange:
    return Exchange(9, 200.0, "anthropic", "m", tools=TOOLS, fault=kind, **more)


CASES: dict[str, tuple[Reading, Facts, EndReason, str]] = {
    "a success that the gateway bears out": (DONE, FACTS, EndReason.COMPLETED, "end_turn"),
    "a success without a gateway": (DONE, replace(FACTS, exchanges=None), EndReason.COMPLETED, "end_turn"),
    "a success cut off by the token limit": (
        DONE, facts(replace(GOOD, finish=Finish.MAX_TOKENS)), EndReason.COMPLETED, "max_tokens",
    ),
    "a CLI that gives up after replies cut off by the token limit": (
        Reading(end=EndReason.API_ERROR, raw_end="api_error"),
        facts(CALLS, replace(GOOD, finish=Finish.MAX_TOKENS)), EndReason.COMPLETED, "max_tokens",
    ),
    "a failure that the CLI alone reports after the model's last word": (
        Reading(end=EndReason.API_ERROR, raw_end="error"), facts(CALLS, GOOD), EndReason.COMPLETED, "stop",
    ),
    "a success of a CLI that never asked": (DONE, facts(), EndReason.CRASHED, "no_request"),
    "a success without a word": (replace(DONE, output=" \n"), FACTS, EndReason.EMPTY, "empty"),
    "a success without a step": (DONE, replace(FACTS, steps=0), EndReason.EMPTY, "empty"),
    "a refusal reported as success": (
        DONE, facts(replace(GOOD, finish=Finish.REFUSAL)), EndReason.REFUSED, "content_filter",
    ),
    "a refusal that ended the CLI without a result": (
        MUTE, facts(replace(GOOD, finish=Finish.REFUSAL), exit=1), EndReason.REFUSED, "content_filter",
    ),
    "an API failure reported as success": (
        DONE, facts(fault("http", status=429, error="slow down")), EndReason.API_ERROR, "http_429",
    ),
    "an API failure that the CLI got over": (
        DONE, facts(fault("http", status=500), GOOD), EndReason.COMPLETED, "end_turn",
    ),
    "a failed request after the last word": (
        DONE, facts(CALLS, GOOD, fault("http", status=500)), EndReason.COMPLETED, "end_turn",
    ),
    "a failed request for a title": (
        DONE, facts(GOOD, replace(fault("http", status=404), tools=())), EndReason.COMPLETED, "end_turn",
    ),
    "retries that the gateway turned down": (
        MUTE, facts(CALLS, fault("http", status=503), fault("refused"), fault("refused")), EndReason.API_ERROR,
        "http_503",
    ),
    "a CLI that died while it was answered": (
        MUTE, facts(CALLS, fault("gone"), exit=137), EndReason.CRASHED, "signal_9",
    ),
    "a reply that the time limit cut": (
        MUTE, facts(CALLS, fault("gone"), timed_out=True, exit=124), EndReason.TIMEOUT, "timeout",
    ),
    "a cap in the gateway's words": (
        MUTE, facts(CALLS, fault("cap", error="the limit of 20 model requests is reached")), EndReason.MAX_TURNS,
        "cap_requests",
    ),
    "a cap on cost in the gateway's words": (
        MUTE, facts(CALLS, fault("cap", error="the limit of 0.5 USD is reached (0.51 spent)")), EndReason.MAX_TURNS,
        "cap_cost",
    ),
    "a failure right after calls": (DONE, facts(CALLS, fault("http", status=500)), EndReason.API_ERROR, "http_500"),
    "no connection": (MUTE, facts(fault("connection", error="refused")), EndReason.API_ERROR, "connection"),
    "a gateway that gave up on a hanging model": (MUTE, facts(fault("hang")), EndReason.API_ERROR, "no_reply"),
    "garbage": (MUTE, facts(fault("garbage"), exit=1), EndReason.API_ERROR, "bad_reply"),
    "a cut stream": (MUTE, facts(fault("cut"), exit=1), EndReason.API_ERROR, "bad_reply"),
    "an empty reply": (DONE, facts(CALLS, fault("empty")), EndReason.EMPTY, "empty"),
    "a cap of the gateway": (
        MUTE, facts(CALLS, fault("cap", error="cap_requests: 20 were made")), EndReason.MAX_TURNS, "cap_requests",
    ),
    "a cap that the CLI took for a failure": (
        FAILED, facts(fault("cap", error="cap_cost reached")), EndReason.MAX_TURNS, "cap_cost",
    ),
    "a missing grant": (
        MUTE, facts(fault("refused", error="grant_missing: +mcp")), EndReason.CRASHED, "grant_missing",
    ),
    "an MCP server that the CLI went on without": (
        DONE, replace(FACTS, broken_grant="failed"), EndReason.CRASHED, "grant_missing",
    ),
    "out of time": (MUTE, replace(FACTS, timed_out=True, exit=124), EndReason.TIMEOUT, "timeout"),
    "out of time while the model hangs": (
        MUTE, facts(CALLS, fault("hang"), timed_out=True, exit=124), EndReason.TIMEOUT, "timeout",
    ),
    "out of time while the CLI retried a failure": (
        MUTE, facts(fault("http", status=503), timed_out=True, exit=124), EndReason.API_ERROR, "http_503",
    ),
    "out of time although the CLI says done": (
        DONE, replace(FACTS, timed_out=True, exit=124), EndReason.TIMEOUT, "timeout",
    ),
    "flooded by what the model did": (MUTE, replace(FACTS, flooded=True, exit=137), EndReason.MAX_TURNS, "cap_output"),
    "flooded before a word of the model": (
        MUTE, facts(flooded=True, steps=0, exit=137), EndReason.CRASHED, "cap_output",
    ),
    "ended by a limit of the sandbox": (MUTE, replace(FACTS, limit="disk", exit=137), EndReason.MAX_TURNS, "cap_disk"),
    "killed": (MUTE, replace(FACTS, exit=137), EndReason.CRASHED, "signal_9"),
    "exit 0 without a result": (MUTE, FACTS, EndReason.CRASHED, "exit_0"),
    "max turns in the CLI's words": (
        Reading(end=EndReason.MAX_TURNS, raw_end="max_turns"), facts(CALLS), EndReason.MAX_TURNS, "max_turns",
    ),
    "an API error only the CLI knows of": (
        FAILED, replace(FACTS, exchanges=None), EndReason.API_ERROR, "http_401",
    ),
    "an API error before the gateway saw anything": (FAILED, facts(), EndReason.API_ERROR, "http_401"),
    "an API error that the gateway did not see": (FAILED, facts(CALLS), EndReason.API_ERROR, "unconfirmed"),
    "an API error in place of a reply that was not waited for": (
        FAILED, facts(CALLS, fault("gone")), EndReason.API_ERROR, "no_reply",
    ),
    "an API error while a reply is on its way": (
        FAILED, facts(CALLS, replace(GOOD, text="", finish=None)), EndReason.API_ERROR, "no_reply",
    ),
    "killed by its own command": (
        MUTE, facts(asks(command="sleep 1; pkill -9 -f node"), exit=137), EndReason.SELF_ENDED, "signal_9",
    ),
    "killed by its own code": (
        MUTE, facts(asks(edits=[{"new": "os.kill(os.getppid(), 9)"}]), exit=1), EndReason.SELF_ENDED, "exit_1",
    ),
    "killed by itself, with a forged failure of the API": (
        FAILED, facts(asks(command="echo '{}' >/proc/1/fd/1; kill -9 -1"), exit=137), EndReason.SELF_ENDED, "signal_9",
    ),
    "killed while it did something else": (
        MUTE, facts(asks(command="grep skills overkill.txt"), exit=137), EndReason.CRASHED, "signal_9",
    ),
    "killed after a command that ends processes had its answer": (
        MUTE, facts(asks(command="kill 12"), CALLS, exit=137), EndReason.CRASHED, "signal_9",
    ),
    "done, by a command that ends processes": (
        DONE, facts(asks(command="kill 12"), GOOD), EndReason.COMPLETED, "end_turn",
    ),
    "broken by a disk that the agent filled": (
        MUTE, replace(FACTS, struck=("disk",), exit=1), EndReason.MAX_TURNS, "cap_disk",
    ),
    "broken by its own account at a limit of processes": (
        Reading(end=EndReason.CRASHED, raw_end="error"), replace(FACTS, struck=("processes", "disk")),
        EndReason.MAX_TURNS, "cap_processes",
    ),
    "broken at a limit before a word of the model": (
        MUTE, facts(struck=("memory",), steps=0, exit=1), EndReason.CRASHED, "exit_1",
    ),
    "done at a limit": (DONE, replace(FACTS, struck=("disk",)), EndReason.COMPLETED, "end_turn"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_end_is(name: str) -> None:
    reading, known, reason, raw = CASES[name]
    end = settle(reading, known)
    assert (end.reason, end.raw) == (reason, raw)


def test_a_fault_is_told_with_its_status_and_wait() -> None:
    end = settle(MUTE, facts(fault("http", status=429, error="slow down", retry_after=7.0)))
    assert end.error == "HTTP 429, retry after 7 s: slow down"


def test_a_crash_is_told_with_the_last_line_of_stderr() -> None:
    end = settle(MUTE, replace(FACTS, exit=1, stderr_tail="config is broken"))
    assert end.error == "it ended (exit 1) without reporting a result: config is broken"


@pytest.mark.parametrize("reading", [DONE, MUTE, Reading(end=EndReason.CRASHED)])
@pytest.mark.parametrize("exit_code", [0, 1, 137])
def test_no_exit_code_makes_an_empty_trajectory_a_success(reading: Reading, exit_code: int) -> None:
    known = replace(FACTS, exit=exit_code, steps=0)
    assert settle(reading, known).reason is not EndReason.COMPLETED

"""The shared frame with a CLI that bash plays: what it gets, how it is followed, and every way in which it ends."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.base import AgentTask, CallStatus, EndReason, Grants, McpGrant, ModelEndpoint, ToolKind
from devops_bench.agents.frame.ender import Ender
from devops_bench.agents.frame.run import CliAgent
from devops_bench.errors import ConfigError
from devops_bench.models.exchange import AskedCall, Exchange
from devops_bench.models.wire import Finish, Tokens
from devops_bench.process import tagged
from devops_bench.sandbox import Sandbox
from devops_bench.sandbox.launch import TAG
from tests.agents.frame.cli import BashCli, agent_of
from tests.boxes import task_for

pytestmark = pytest.mark.sandbox
ENDPOINT = ModelEndpoint("anthropic", "m", "http://127.0.0.1:1", "token")
DONE = """echo '{"say": "Done."}'; echo '{"end": "completed"}'"""


def task(box: Sandbox, **more: Any) -> AgentTask:
    given = {"endpoint": ENDPOINT, **more}
    return task_for(box, **given)


def test_it_gets_prompt_files_and_environment_and_nothing_else(any_box: Sandbox) -> None:
    script = "cat >prompt; pwd >place; cat ~/.cli/config >config; env | sort >env; echo $0 $@ >args;" + DONE
    cli = BashCli(script, files={".cli/config": "private"}, env={"CLI_MODE": "quiet"})
    run = agent_of(cli).run(replace(task(any_box, extra_flags=("--fast",), rules_text="Be kind."), env={"GIVEN": "1"}))
    here = any_box.spec.workspace
    assert (run.end, run.raw_end, run.errors, run.output) == (EndReason.COMPLETED, "said", (), "Done.")
    assert run.version == "1.2.3"
    prompt = (here / "prompt").read_text()
    assert prompt.startswith("You are an engineer on call.")
    assert "You have 1 min and at most 20 replies in all." in prompt
    assert "Rules:\nBe kind.\n\nYour task:\n\nMake the service answer again." in prompt
    assert (here / "place").read_text().strip() == str(any_box.workspace)
    assert (here / "config").read_text() == "private"
    assert (here / "args").read_text().strip() == "cli --fast"
    env = dict(line.split("=", 1) for line in (here / "env").read_text().splitlines())
    assert (env["CLI_MODE"], env["GIVEN"]) == ("quiet", "1")
    assert "token" not in env.values()
    assert not [name for name in env if "API_KEY" in name or name.startswith("BENCH")]


def test_skills_are_copied_to_its_place_and_the_prompt_names_the_mcp_server(box: Sandbox, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "look-first"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: look-first\ndescription: Look.\n---\nLook first.\n")
    grants = Grants(
        mcp=McpGrant("k8s", ("relay",), ("127.0.0.1", 1), "t", ("pods_list",)), skills_paths=(tmp_path / "skills",)
    )
    said = """
cat ~/.cli/skills/look-first/SKILL.md >skill; cat >prompt
for name in Shell mcp__k8s__pods_list mcp__other__x Skill; do echo "{\\"call\\": \\"$name\\"}"; done
"""
    run = agent_of(BashCli(said + DONE)).run(task(box, grants=grants))
    assert "Look first." in (box.spec.workspace / "skill").read_text()
    assert "The MCP server k8s is connected. Its tools: pods_list." in (box.spec.workspace / "prompt").read_text()
    kinds = [call.kind for call in run.tool_calls]
    assert kinds == [ToolKind.BUILTIN, ToolKind.MCP, ToolKind.BUILTIN, ToolKind.SKILL]


def test_lines_are_followed_as_they_come_and_output_is_passed_on(box: Sandbox) -> None:
    heard: list[tuple[str, Mapping[str, Any]]] = []
    script = """printf '{"call": '; printf '"Shell"}\\n'; echo words >&2; """ + DONE
    agent_of(BashCli(script)).run(task(box, emit=lambda kind, fields: heard.append((kind, fields))))
    assert ("tool_call", {"name": "Shell", "phase": "started"}) in heard
    text = "".join(fields["text"] for kind, fields in heard if kind == "output")
    assert "words" in text and '{"end": "completed"}' in text


@pytest.mark.parametrize("fail", ["follow", "read"])
def test_a_fault_of_the_adapter_is_no_traceback(box: Sandbox, fail: str) -> None:
    run = agent_of(BashCli(DONE, fail=fail)).run(task(box))
    if fail == "follow":
        assert run.end is EndReason.COMPLETED
    else:
        assert (run.end, run.raw_end) == (EndReason.CRASHED, "exit_0")
        assert any("what bash-cli left cannot be read: KeyError: 'usage'" in error for error in run.errors)


def test_an_unreadable_record_is_replaced_by_the_gateways(box: Sandbox) -> None:
    exchanges = (
        Exchange(1, 100.0, "anthropic", "m", status=200, calls=(AskedCall("Shell", {"a": 1}, "c1"),), latency=1.0,
                 finish=Finish.CALLS, tokens=Tokens(10, 5, 2, 0, 1), served_model="m-1", cost_usd=0.5),
        Exchange(2, 103.0, "anthropic", "m", status=200, text="Done.", finish=Finish.STOP, tokens=Tokens(20, 5),
                 served_model="m-1", cost_usd=0.25),
    )  # fmt: skip
    run = agent_of(BashCli("exit 0", fail="read")).run(task(box, exchanges=lambda: exchanges))
    (call,) = run.tool_calls
    assert (call.name, call.args, call.status, call.ended - call.started) == (
        "Shell", {"a": 1}, CallStatus.UNKNOWN, 2.0,
    )  # fmt: skip
    assert run.usage is not None and (run.usage.input, run.usage.total) == (30, 40)
    assert (run.cost_usd, run.served_models, run.model_turns) == (0.75, ("m-1",), 2)
    assert run.end is EndReason.CRASHED, "no word of the CLI itself: not a success"
    assert any("these are the gateway's" in error for error in run.errors)


@pytest.mark.parametrize(
    ("offered", "end"), [("mcp__k8s/pods_list", EndReason.COMPLETED), ("Shell", EndReason.CRASHED)]
)
def test_a_server_that_is_not_there_is_believed_until_the_model_was_offered_its_tools(
    box: Sandbox, offered: str, end: EndReason
) -> None:
    grants = Grants(mcp=McpGrant("k8s", ("relay",), ("127.0.0.1", 1), "t", ("pods_list",)))
    seen = (Exchange(1, 100.0, "anthropic", "m", status=200, tools=(offered,), text="Done.", finish=Finish.STOP),)
    cli = BashCli("""echo '{"server": "failed"}';""" + DONE)
    assert agent_of(cli).run(task(box, grants=grants, exchanges=lambda: seen)).end is end


def test_a_cli_that_breaks_on_a_disk_that_the_agent_filled_is_judged(
    box: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Sandbox, "is_full", lambda _box: True)
    asked = AskedCall("Shell", {"command": "head -c 9G /dev/zero >big"})
    seen = (Exchange(1, 100.0, "anthropic", "m", status=200, tools=("Shell",), calls=(asked,), finish=Finish.CALLS),)
    run = agent_of(BashCli("echo ENOSPC >&2; exit 1")).run(task(box, exchanges=lambda: seen))
    assert (run.end, run.raw_end) == (EndReason.MAX_TURNS, "cap_disk")
    assert run.errors[0] == "it broke at the sandbox's limit on disk"


@pytest.mark.parametrize(
    ("script", "end", "raw"),
    [
        ("exit 0", EndReason.CRASHED, "exit_0"),
        ("echo broken config >&2; exit 3", EndReason.CRASHED, "exit_3"),
        ("kill -KILL $$", EndReason.CRASHED, "signal_9"),
        ("""echo '{"say": "Half"'""", EndReason.CRASHED, "exit_0"),
        ("""echo '{"end": "completed"}'""", EndReason.EMPTY, "empty"),
        ("""echo '{"say": "x"}'; echo '{"end": "max_turns"}'; exit 1""", EndReason.MAX_TURNS, "said"),
    ],
)
def test_ends(any_box: Sandbox, script: str, end: EndReason, raw: str) -> None:
    run = agent_of(BashCli(script)).run(task(any_box))
    assert (run.end, run.raw_end) == (end, raw)
    assert run.errors
    if "broken" in script:
        assert "broken config" in run.errors[0]


def test_the_time_limit_ends_the_whole_tree_whatever_it_ignores(any_box: Sandbox) -> None:
    script = "trap '' TERM; (trap '' TERM; sleep 1000) & setsid sleep 1000 & echo '{\"say\": \"so far\"}'; sleep 1000"
    run = agent_of(BashCli(script)).run(task(any_box, timeout=0.5))
    assert (run.end, run.raw_end) == (EndReason.TIMEOUT, "timeout")
    assert [step.message for step in run.steps] == ["so far"]
    assert list(tagged(TAG, any_box.tag)) == []


def test_a_flood_is_ended_as_one_and_what_came_before_is_kept(any_box: Sandbox) -> None:
    script = """echo '{"say": "so far"}'; while :; do echo "noise noise noise"; done"""
    given = task(any_box)
    run = agent_of(BashCli(script)).run(replace(given, limits=replace(given.limits, output_bytes=100_000)))
    assert (run.end, run.raw_end) == (EndReason.MAX_TURNS, "cap_output")
    assert run.errors[0] == "it printed more than 100000 bytes and was ended"
    assert [step.message for step in run.steps] == ["so far"]
    assert list(tagged(TAG, any_box.tag)) == []


def test_a_line_without_end_does_no_harm(box: Sandbox) -> None:
    run = agent_of(BashCli("head -c 20000000 /dev/zero | tr '\\0' x; echo; " + DONE)).run(
        replace(task(box), limits=replace(task(box).limits, output_bytes=32 << 20))
    )
    assert (run.end, run.output) == (EndReason.COMPLETED, "Done.")


def test_a_cli_that_goes_on_after_its_model_failed_is_ended(any_box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ender.__init__, "__defaults__", (0.1,))  # the grace
    failed = (Exchange(1, 100.0, "anthropic", "m", status=429, fault="http", retry_after=30.0, error="slow down"),)
    run = agent_of(BashCli("trap '' TERM; sleep 1000")).run(task(any_box, exchanges=lambda: failed))
    assert (run.end, run.raw_end) == (EndReason.API_ERROR, "http_429")
    assert run.errors[0] == "HTTP 429, retry after 30 s: slow down"
    assert list(tagged(TAG, any_box.tag)) == []


def test_a_stop_of_the_harness_closes_the_tree(any_box: Sandbox) -> None:
    class Stop(BaseException):
        pass

    def stop(_signal: int, _frame: object) -> None:
        raise Stop

    before = signal.signal(signal.SIGUSR1, stop)
    begun = threading.Event()

    def emit(kind: str, _fields: Mapping[str, Any]) -> None:
        begun.set()

    def interrupt() -> None:
        begun.wait(30)
        os.kill(os.getpid(), signal.SIGUSR1)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(Stop):
            agent_of(BashCli("trap '' TERM; echo; sleep 1000 & sleep 1000")).run(task(any_box, emit=emit))
    finally:
        thread.join()
        signal.signal(signal.SIGUSR1, before)
    deadline = time.monotonic() + 10
    while list(tagged(TAG, any_box.tag)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert list(tagged(TAG, any_box.tag)) == []


@pytest.mark.parametrize(
    ("cli", "more", "says"),
    [
        (BashCli(DONE), {"endpoint": None}, "agent bash-cli has no model"),
        (BashCli(DONE), {"endpoint": replace(ENDPOINT, provider="google")}, "cannot speak google"),
        (BashCli(DONE, skills_folder=""), {"grants": Grants(skills_paths=(Path("x"),))}, "cannot serve \\+skills"),
        (BashCli(DONE, mcp_name=""), {"grants": Grants(mcp=McpGrant("k", (), ("h", 1), "t"))}, "cannot serve \\+mcp"),
        (BashCli(DONE), {"grants": Grants(skills_paths=(Path("/absent"),))}, "no \\*/SKILL.md here"),
    ],
)  # fmt: skip
def test_what_cannot_be_granted_is_refused(box: Sandbox, cli: BashCli, more: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        agent_of(cli).run(task(box, **more))


def test_an_agent_that_is_not_installed_names_the_command(box: Sandbox) -> None:
    agent = CliAgent(BashCli(DONE), find=lambda _cli, _env: None)
    # No row in the table of installs: `agents install` could not bring it.
    line = "agent bash-cli (Bash CLI) is not installed; install bash-cli (npm), or put bash on PATH, or name it by"
    assert (agent.missing({}) or "").startswith(line)
    ours = CliAgent(BashCli(DONE, key="codex"), find=lambda _cli, _env: None)
    assert "; run `devops-bench agents install codex`, or name" in (ours.missing({}) or "")
    assert agent.binds({}) == ()
    with pytest.raises(ConfigError, match="is not installed; install bash-cli"):
        agent.run(task(box))
    only_path = CliAgent(BashCli(DONE, package=""), find=lambda _cli, _env: None)
    assert (only_path.missing({}) or "").endswith("put bash on PATH, or name it by AGENT_TARGET")


def test_a_broken_installation_is_one_line(box: Sandbox) -> None:
    def find(_cli: object, _env: Mapping[str, str]) -> None:
        raise ConfigError("is no program", where="/opt/x", fix="change AGENT_TARGET")

    line = CliAgent(BashCli(DONE), find=find).missing({})
    assert line == "agent bash-cli (Bash CLI): /opt/x: is no program; change AGENT_TARGET"

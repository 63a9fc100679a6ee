"""The OpenCode adapter on recorded and on hostile output: no CLI, no sandbox."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind, Usage
from devops_bench.agents.clis.opencode import START, OpenCode
from devops_bench.agents.frame.types import Left
from devops_bench.agents.skills import Skill
from devops_bench.sandbox import Sandbox
from tests.agents.clis.reading import GRANT, LIES, RECORDED, a_task, left_behind

STDOUT = (RECORDED / "opencode" / "stdout.jsonl").read_bytes()
PROGRAM = ("/opt/agent/node_modules/opencode-linux-x64/bin/opencode",)
CONFIG = ".agent/opencode.json"


@pytest.fixture
def box(bare_mode, make_box) -> Sandbox:
    return make_box(bare_mode)


@pytest.fixture
def left(box: Sandbox) -> Left:
    return left_behind(box.spec.home, STDOUT)


def test_a_recorded_run_becomes_steps(box: Sandbox, left: Left) -> None:
    reading = OpenCode().read(left, a_task(OpenCode(), box, mcp=GRANT))
    assert (reading.end, reading.raw_end, reading.errors) == (EndReason.COMPLETED, "", ())
    assert reading.output == "All is well." and reading.session.startswith("ses_")
    assert [step.message for step in reading.steps] == ["I look first.", "", "", "", "All is well."]
    assert reading.steps[0].reasoning == "Hm."
    calls = [call for step in reading.steps for call in step.tool_calls]
    assert [(call.name, call.status, call.kind) for call in calls] == [
        ("bash", CallStatus.ERROR, ToolKind.BUILTIN),  # exit 3, which the CLI calls completed; it ended last
        ("write", CallStatus.OK, ToolKind.BUILTIN),
        ("k8s_echo", CallStatus.OK, ToolKind.MCP),
        ("skill", CallStatus.OK, ToolKind.SKILL),
        ("no_such_tool", CallStatus.ERROR, ToolKind.BUILTIN),
        ("grep", CallStatus.OK, ToolKind.BUILTIN),
    ]
    assert dict(calls[2].args) == {"text": "salut"} and calls[2].result == "salut"
    assert "unavailable tool" in calls[4].result
    assert all(1_795_000_000 < call.started <= call.ended for call in calls)
    assert reading.skills_used == ("read-the-runbook",)


def test_what_was_cached_is_input_and_thoughts_are_output(box: Sandbox, left: Left) -> None:
    reading = OpenCode().read(left, a_task(OpenCode(), box))
    assert reading.steps[0].usage == Usage(1000, 50, 200, 0, 10, 1050)
    assert reading.usage == Usage(5000, 250, 1000, 0, 50, 5250)


@pytest.mark.parametrize(
    ("reason", "end", "raw"),
    [
        ("length", EndReason.COMPLETED, "max_tokens"),
        ("content-filter", EndReason.REFUSED, "content_filter"),
        ("tool-calls", None, ""),
        ("unknown", None, ""),
    ],
)
def test_the_last_reply_tells_the_end(box: Sandbox, left: Left, reason: str, end: EndReason, raw: str) -> None:
    told = STDOUT.replace(b'"reason":"stop"', json.dumps(reason).join(['"reason":', ""]).encode())
    reading = OpenCode().read(replace(left, stdout=told), a_task(OpenCode(), box))
    assert (reading.end, reading.raw_end) == (end, raw)


def test_an_error_is_no_success(box: Sandbox, left: Left) -> None:
    error = {"type": "error", "error": {"name": "APIError", "data": {"message": "Bad\nrequest", "statusCode": 400}}}
    reading = OpenCode().read(
        replace(left, stdout=STDOUT + json.dumps(error).encode() + b"\n"), a_task(OpenCode(), box)
    )
    assert (reading.end, reading.errors, reading.output) == (EndReason.API_ERROR, ("Bad request",), "")


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_read_without_a_word(box: Sandbox, left: Left, lie: str) -> None:
    kinds = ("text", "reasoning", "tool_use", "step_finish", "error", lie.strip('"'))
    part = '{"id": %s, "messageID": %s, "text": %s, "callID": %s, "tool": %s, "state": %s, "tokens": %s, "reason": %s}'
    lines = [f'{{"type": {json.dumps(kind)}, "part": {lie}, "error": {lie}, "sessionID": {lie}}}' for kind in kinds]
    lines += [f'{{"type": {json.dumps(kind)}, "part": {part % ((lie,) * 8)}}}' for kind in kinds]
    state = f'{{"status": {lie}, "input": {lie}, "output": {lie}, "metadata": {lie}, "time": {{"start": {lie}}}}}'
    lines += [f'{{"type": "tool_use", "part": {{"tool": "bash", "callID": "c", "state": {state}}}}}', lie]
    stdout = "\n".join(lines).encode()
    reading = OpenCode().read(replace(left, stdout=stdout), a_task(OpenCode(), box))
    assert reading.output == "" or lie == '"x"'
    for line in stdout.split(b"\n"):
        OpenCode().follow(line)


def test_a_baseline_run_is_granted_nothing(box: Sandbox) -> None:
    launch = OpenCode().launch(a_task(OpenCode(), box), PROGRAM, ())
    config = json.loads(launch.files[CONFIG])
    allowed = [name for name, rule in config["permission"].items() if rule == "allow"]
    assert set(allowed) == OpenCode.builtin_tools and next(iter(config["permission"].items())) == ("*", "deny")
    assert config["enabled_providers"] == ["gateway"] and "mcp" not in config
    assert config["provider"]["gateway"]["options"]["baseURL"] == "http://127.0.0.1:9"
    assert "token" not in " ".join(launch.argv) and launch.stdin == b"Do it."


def test_grants_and_allowed_tools_are_in_its_rules(box: Sandbox) -> None:
    skill = Skill("read-the-runbook", "How.", Path("/nowhere"))
    task = a_task(OpenCode(), box, mcp=GRANT, allowed_tools=("bash", "echo"))
    config = json.loads(OpenCode().launch(task, PROGRAM, (skill,)).files[CONFIG])
    allowed = {name for name, rule in config["permission"].items() if rule == "allow"}
    assert allowed == {"bash", "k8s_*"}
    assert list(config["permission"]["skill"].items()) == [("*", "deny"), ("read-the-runbook", "allow")]
    assert config["mcp"]["k8s"]["command"] == ["/bin/bash", "/run/agent/relay"]


def test_the_pinned_ripgrep_comes_first_on_its_path(tmp_path: Path, box: Sandbox) -> None:
    program = tmp_path / "node_modules" / "opencode-linux-x64" / "bin" / "opencode"
    beside = tmp_path / "node_modules" / "@vscode" / "ripgrep-linux-x64" / "bin" / "rg"
    for path, text in ((program, '#!/bin/bash\ncommand -v rg\necho "$@"\n'), (beside, "#!/bin/bash\n")):
        path.parent.mkdir(parents=True)
        path.write_text(text)
        path.chmod(0o700)
    launch = OpenCode().launch(a_task(OpenCode(), box), (str(program),), ())
    assert START in launch.argv
    done = subprocess.run(launch.argv, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True, check=True)
    first, flags = done.stdout.splitlines()
    assert first == str(beside) and flags.startswith("run --format json")


def test_what_it_reports_as_it_goes() -> None:
    seen = [activity for line in STDOUT.splitlines() if (activity := OpenCode().follow(line))]
    assert [one.fields["name"] for one in seen] == ["write", "k8s_echo", "bash", "skill", "no_such_tool", "grep"]
    assert OpenCode().follow(b"garbage") is None

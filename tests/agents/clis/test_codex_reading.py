"""The Codex adapter on recorded and on hostile output: no CLI, no sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from devops_bench.agents.base import CallStatus, EndReason, ToolKind, Usage
from devops_bench.agents.clis.codex import START, Codex
from devops_bench.agents.frame.types import Left
from devops_bench.errors import ConfigError
from devops_bench.sandbox import Sandbox
from tests.agents.clis.reading import GRANT, LIES, RECORDED, a_task, left_behind

STDOUT = (RECORDED / "codex" / "stdout.jsonl").read_bytes()
RECORD = (RECORDED / "codex" / "rollout.jsonl").read_bytes()
THREAD = json.loads(STDOUT.splitlines()[0])["thread_id"]
ROLLOUT = f".codex/sessions/2026/11/29/rollout-2026-11-29T21-15-17-{THREAD}.jsonl"
BEGUN = json.dumps({"type": "thread.started", "thread_id": THREAD}).encode() + b"\n"


@pytest.fixture
def box(bare_mode, make_box) -> Sandbox:
    return make_box(bare_mode)


@pytest.fixture
def left(box: Sandbox) -> Left:
    return left_behind(box.spec.home, STDOUT, **{ROLLOUT: RECORD})


def test_a_recorded_run_becomes_steps(box: Sandbox, left: Left) -> None:
    reading = Codex().read(left, a_task(Codex(), box, mcp=GRANT))
    assert (reading.end, reading.errors, reading.output) == (EndReason.COMPLETED, (), "Done.")
    assert [step.message for step in reading.steps] == ["I look first.", "", "", "Done."]
    assert (reading.steps[0].reasoning, reading.steps[0].model) == ("Hm.", "scripted:s")
    calls = [call for step in reading.steps for call in step.tool_calls]
    assert [(call.name, call.status, call.kind) for call in calls] == [
        ("exec_command", CallStatus.ERROR, ToolKind.BUILTIN),
        ("mcp__k8s__echo", CallStatus.OK, ToolKind.MCP),
        ("exec_command", CallStatus.OK, ToolKind.BUILTIN),
        ("no_such_tool", CallStatus.ERROR, ToolKind.BUILTIN),
    ]
    assert [dict(call.args) for call in calls[:2]] == [{"cmd": "echo hi; exit 3"}, {"text": "salut"}]
    assert "exited with code 3" in calls[0].result and "salut" in calls[1].result
    assert all(1_795_000_000 < call.started <= call.ended for call in calls)
    assert reading.skills_used == ("read-the-runbook",), "it reads SKILL.md by its shell"


def test_tokens_with_cache_and_thoughts(box: Sandbox, left: Left) -> None:
    reading = Codex().read(left, a_task(Codex(), box))
    assert reading.steps[0].usage == Usage(1000, 50, 200, 0, 10, 1050)
    assert reading.usage == Usage(4000, 200, 800, 0, 40, 4200)


def test_without_a_closing_event_nothing_says_that_it_finished(box: Sandbox) -> None:
    cut = b"\n".join(STDOUT.splitlines()[:-1])
    reading = Codex().read(left_behind(box.spec.home, cut, **{ROLLOUT: RECORD}), a_task(Codex(), box))
    assert (reading.end, len(reading.steps), reading.output) == (None, 4, "")


def test_the_rollout_of_another_thread_is_not_taken_for_this_one(box: Sandbox) -> None:
    forged = ROLLOUT.replace(THREAD, "01a22929-0000-7853-8456-9818721842fb")
    assert Codex().read(left_behind(box.spec.home, STDOUT, **{forged: RECORD}), a_task(Codex(), box)).steps == ()


@pytest.mark.parametrize(
    ("said", "end", "raw"),
    [
        ("exceeded retry limit, last status: 429 Too Many Requests", EndReason.API_ERROR, "http_429"),
        ("unexpected status 401 Unauthorized: no, url: http://127.0.0.1:1/v1", EndReason.API_ERROR, "http_401"),
        ("stream disconnected before completion: UTF8 error", EndReason.API_ERROR, "error"),
        ("Incomplete response returned, reason: max_output_tokens", EndReason.COMPLETED, "max_tokens"),
        ("Incomplete response returned, reason: content_filter", EndReason.REFUSED, "content_filter"),
    ],
)
def test_its_words_for_an_end(box: Sandbox, said: str, end: EndReason, raw: str) -> None:
    event = json.dumps({"type": "turn.failed", "error": {"message": said}}).encode()
    reading = Codex().read(left_behind(box.spec.home, BEGUN + event), a_task(Codex(), box))
    assert (reading.end, reading.raw_end, reading.errors) == (end, raw, (said,))


def test_a_required_server_that_is_not_there_is_told(box: Sandbox) -> None:
    left = left_behind(box.spec.home, b"", b"Error: required MCP servers failed to initialize: k8s: gone")
    assert Codex().read(left, a_task(Codex(), box, mcp=GRANT)).mcp_servers == {"k8s": "failed"}
    assert Codex().read(left, a_task(Codex(), box)).mcp_servers == {}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_read_without_harm(box: Sandbox, lie: str) -> None:
    events = ('{"type": %s}', '{"type": "item.started", "item": %s}', '{"type": "turn.failed", "error": %s}',
              '{"type": "turn.completed", "usage": %s}', '{"item": {"type": "agent_message", "text": %s}}')  # fmt: skip
    items = ("function_call", "custom_tool_call", "function_call_output", "message", "reasoning")
    records = (
        '{"type": "turn_context", "payload": {"model": %s}}',
        '{"type": "token_usage_record", "payload": {"usage": %s}}',
        '{"type": "event_msg", "payload": {"item": {"status": "failed", "id": %s}}}',
        '{"type": "response_item", "timestamp": %s, "payload": %s}',
        *(
            '{"type": "response_item", "payload": {"type": "' + kind + '", "role": "assistant", "call_id": %s, '
            '"name": %s, "namespace": %s, "arguments": %s, "input": %s, "output": %s, "content": %s, "summary": %s}}'
            for kind in items
        ),
    )
    stdout, rollout = ("\n".join(shape.replace("%s", lie) for shape in shapes).encode() for shapes in (events, records))
    left = left_behind(box.spec.home, BEGUN + stdout, **{ROLLOUT: rollout})
    assert Codex().read(left, a_task(Codex(), box)).end in {None, *EndReason}
    for line in stdout.splitlines():
        Codex().follow(line)


def test_a_rollout_that_is_a_link_is_not_read(box: Sandbox, left: Left, tmp_path: Path) -> None:
    os.rename(left.home / ROLLOUT, tmp_path / "elsewhere")
    os.symlink(tmp_path / "elsewhere", left.home / ROLLOUT)
    assert Codex().read(left, a_task(Codex(), box)).steps == ()


def test_a_baseline_run_is_granted_nothing(box: Sandbox) -> None:
    launch = Codex().launch(a_task(Codex(), box), ("codex",), ())
    config = tomllib.loads(launch.files[".codex/config.toml"])
    assert (config["model"], config["web_search"], config["approval_policy"]) == ("some-model", "disabled", "never")
    provider = config["model_providers"]["gateway"]
    assert (provider["base_url"], provider["wire_api"]) == ("http://127.0.0.1:9", "responses")
    assert (provider["request_max_retries"], provider["stream_max_retries"]) == (0, 0)
    assert not config["skills"]["bundled"]["enabled"] and not config["agents"]["enabled"]
    assert not any(config["features"].values()) and "mcp_servers" not in config
    assert "token" not in " ".join(launch.argv) and launch.stdin == b"Do it."


def test_a_granted_server_is_required(box: Sandbox) -> None:
    launch = Codex().launch(a_task(Codex(), box, mcp=GRANT), ("codex",), ())
    server = tomllib.loads(launch.files[".codex/config.toml"])["mcp_servers"]["k8s"]
    assert (server["command"], server["args"], server["required"]) == ("/bin/bash", ["/run/agent/relay"], True)


def test_it_cannot_leave_out_its_own_tools(box: Sandbox) -> None:
    with pytest.raises(ConfigError, match="cannot leave out its own tools"):
        Codex().launch(a_task(Codex(), box, allowed_tools=("exec_command",)), ("codex",), ())
    assert Codex().launch(a_task(Codex(), box, mcp=GRANT, allowed_tools=("echo",)), ("codex",), ())


@pytest.mark.parametrize("works", [True, False])
def test_its_own_list_of_models_is_given_back_without_the_mode_that_hides_tools(tmp_path: Path, works: bool) -> None:
    listed = (
        '{"models":[{"slug":"m","tool_mode":"code_mode_only","use_responses_lite":true,"supports_search_tool": true,'
    )
    listed += '"experimental_supported_tools":["clock","more"],"base_instructions":"Say \\"tool_mode\\"."}]}'
    program = tmp_path / "codex"
    program.write_text(
        "#!/bin/bash\nif [ \"$*\" = 'debug models' ]; then "
        + (f"cat <<'END'\n{listed}\nEND\n" if works else "exit 1\n")
        + 'else printf "%s\\n" "$@"; fi\n'
    )
    program.chmod(0o700)
    done = subprocess.run(
        ["/bin/bash", "-c", START, "codex", "2", "/bin/bash", str(program), "exec", "--json"],
        env={"CODEX_HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    words = done.stdout.splitlines()
    assert words[:2] == ["exec", "--json"]
    if not works:
        assert words[2:] == []
        return
    assert words[2:] == ["-c", f"model_catalog_json='{tmp_path}/models.json'"]
    (model,) = json.loads((tmp_path / "models.json").read_text())["models"]
    assert (model["tool_mode"], model["use_responses_lite"], model["supports_search_tool"]) == (None, False, False)
    assert model["experimental_supported_tools"] == [] and model["base_instructions"] == 'Say "tool_mode".'


def test_what_it_reports_as_it_goes() -> None:
    seen = [activity for line in STDOUT.splitlines() if (activity := Codex().follow(line))]
    assert [one.fields["name"] for one in seen] == ["exec_command", "echo", "exec_command"]
    assert Codex().follow(b"garbage") is None

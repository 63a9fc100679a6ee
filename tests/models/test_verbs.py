"""Verbs become the tools that each agent really offers, with the arguments that its schema names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devops_bench.models.scenario import File, Mcp, Shell, Skill, Tool
from devops_bench.models.verbs import NoToolError, make_calls
from devops_bench.models.wire import Conversation, Offered


def offered(tool: str, within: str | None = None, /, required: str = "", **properties: object) -> Offered:
    kinds = {key: kind if isinstance(kind, dict) else {"type": kind} for key, kind in properties.items()}
    schema = {"type": "object", "properties": kinds, "required": required.split()}
    return Offered(tool, schema, within)


S = "string"
# The tools as the agents' requests describe them, cut to what matters.
AGENTS = {
    "api": [
        offered("bash", command=S, timeout_sec="number", required="command"),
        offered("kubectl", args="array"),
        offered("file", action=S, path=S, content=S, old=S, new=S, required="action path"),
    ],
    "gemini": [
        offered("run_shell_command", command="STRING", description="STRING", dir_path="STRING", required="command"),
        offered("read_file", file_path=S, required="file_path"),
        offered("write_file", file_path=S, content=S, required="file_path content"),
        offered("replace", file_path=S, old_string=S, new_string=S, instruction=S, required="file_path instruction"),
        offered("activate_skill", name={"type": "string", "enum": ["triage"]}, required="name"),
        offered("mcp_k8s_pods_list", namespace=S),
    ],
    "claude": [
        offered("Bash", command=S, description=S, timeout="number", required="command"),
        offered("Read", file_path=S, required="file_path"),
        offered("Edit", file_path=S, old_string=S, new_string=S, required="file_path old_string new_string"),
        offered("Write", file_path=S, content=S),
        offered("Skill", skill=S, args=S, required="skill"),
        offered("mcp__k8s__pods_list", namespace=S),
    ],
    "openclaw": [
        offered("read", path=S),
        offered("write", path=S, content=S),
        offered("edit", path=S, edits={"type": "array", "items": {"properties": {"oldText": {}, "newText": {}}}}),
        offered("exec", command=S, workdir=S, required="command"),
        offered("k8s__pods_list", namespace=S),
    ],
    "codex": [
        offered("exec_command", cmd=S, workdir=S, required="cmd"),
        offered("pods_list", "mcp__k8s", namespace=S),
    ],
    "codex-old": [offered("shell", command="array", workdir=S, required="command")],
    "opencode": [
        offered("bash", command=S, description=S, required="command description"),
        offered("read", filePath=S),
        offered("write", filePath=S, content=S),
        offered("edit", filePath=S, oldString=S, newString=S),
        offered("skill", name=S),
        offered("k8s_pods_list", namespace=S),
    ],
}


def said(agent: str, *results: str, system: str = "") -> Conversation:
    return Conversation("m", tuple(AGENTS[agent]), False, 100, "go", 3, results, system)


def call(agent: str, verb: object, *results: str, system: str = "") -> tuple[str, dict]:
    (made,) = make_calls([verb], said(agent, *results, system=system))
    return made.name, dict(made.args)


@pytest.mark.parametrize(
    ("agent", "name", "args"),
    [
        ("api", "bash", {"command": "ls"}),
        ("gemini", "run_shell_command", {"command": "ls"}),
        ("claude", "Bash", {"command": "ls"}),
        ("openclaw", "exec", {"command": "ls"}),
        ("codex", "exec_command", {"cmd": "ls"}),
        ("codex-old", "shell", {"command": ["bash", "-lc", "ls"]}),
        ("opencode", "bash", {"command": "ls", "description": "scripted"}),
    ],
)
def test_shell(agent: str, name: str, args: dict) -> None:
    assert call(agent, Shell(command="ls")) == (name, args)


@pytest.mark.parametrize(
    ("agent", "name", "args"),
    [
        ("api", "file", {"action": "edit", "path": "f", "old": "a", "new": "b"}),
        (
            "gemini",
            "replace",
            {"file_path": "f", "old_string": "a", "new_string": "b", "instruction": "scripted"},
        ),
        ("claude", "Edit", {"file_path": "f", "old_string": "a", "new_string": "b"}),
        ("openclaw", "edit", {"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}),
        ("opencode", "edit", {"filePath": "f", "oldString": "a", "newString": "b"}),
    ],
)
def test_edit(agent: str, name: str, args: dict) -> None:
    assert call(agent, File(action="edit", path="f", old="a", new="b")) == (name, args)


@pytest.mark.parametrize(
    ("agent", "read", "write", "path"),
    [
        ("api", "file", "file", "path"),
        ("gemini", "read_file", "write_file", "file_path"),
        ("claude", "Read", "Write", "file_path"),
        ("openclaw", "read", "write", "path"),
        ("opencode", "read", "write", "filePath"),
    ],
)
def test_read_and_write(agent: str, read: str, write: str, path: str) -> None:
    name, args = call(agent, File(action="read", path="f"))
    assert (name, args[path]) == (read, "f") and "content" not in args
    name, args = call(agent, File(action="write", path="f", content="x"))
    assert (name, args[path], args["content"]) == (write, "f", "x")


def test_an_agent_without_file_tools_does_it_by_its_shell(tmp_path: Path) -> None:
    path = tmp_path / "it's a folder" / "a file"
    content = "one 'two' \"three\"\n$HOME `x`\n"

    def run(verb: File) -> str:
        _, args = call("codex", verb)
        return subprocess.run(["bash", "-c", args["cmd"]], check=True, capture_output=True, text=True).stdout

    run(File(action="write", path=str(path), content=content))
    assert path.read_text() == content
    run(File(action="edit", path=str(path), old="'two'", new="$2"))
    assert run(File(action="read", path=str(path))) == content.replace("'two'", "$2")


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("gemini", "mcp_k8s_pods_list"),
        ("claude", "mcp__k8s__pods_list"),
        ("openclaw", "k8s__pods_list"),
        ("codex", "pods_list"),
        ("opencode", "k8s_pods_list"),
    ],
)
@pytest.mark.parametrize("server", ["k8s", None])
def test_mcp(agent: str, name: str, server: str | None) -> None:
    (made,) = make_calls([Mcp(tool="pods_list", server=server, args={"namespace": "web"})], said(agent))
    assert (made.name, dict(made.args)) == (name, {"namespace": "web"})
    assert made.namespace == ("mcp__k8s" if agent == "codex" else None)


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("gemini", "mcp_k8s_pods_list"),
        ("claude", "mcp__k8s__pods_list"),
        ("openclaw", "k8s__pods_list"),
        ("codex", "pods_list"),
        ("opencode", "k8s_pods_list"),
    ],
)
def test_mcp_by_the_first_of_several_patterns(agent: str, name: str) -> None:
    assert call(agent, Mcp(tool="namespaces_list|*list*|*", server="k8s"))[0] == name


def test_a_pattern_takes_no_tool_that_is_not_a_server_s() -> None:
    for agent in ("api", "gemini", "codex-old"):
        with pytest.raises(NoToolError, match="wants mcp"):
            call(agent, Mcp(tool="*file*|*shell*|*bash*"))


def test_mcp_of_another_server_is_not_taken() -> None:
    with pytest.raises(NoToolError, match="wants mcp"):
        call("claude", Mcp(tool="pods_list", server="gke"))


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        ("gemini", ("activate_skill", {"name": "triage"})),
        ("claude", ("Skill", {"skill": "triage"})),
        ("opencode", ("skill", {"name": "triage"})),
        ("openclaw", ("read", {"path": "/home/a/skills/triage/SKILL.md"})),
        ("codex", ("exec_command", {"cmd": "cat /home/a/skills/triage/SKILL.md"})),
    ],
)
def test_skill(agent: str, expected: tuple[str, dict]) -> None:
    listing = "<available_skills>\n- triage (file: /home/a/skills/triage/SKILL.md)\n</available_skills>"
    assert call(agent, Skill(name="triage"), system=listing) == expected


def test_a_skill_that_is_not_listed_is_said_clearly() -> None:
    with pytest.raises(NoToolError, match="names no triage"):
        call("codex", Skill(name="triage"))


def test_a_raw_call_needs_no_such_tool() -> None:
    assert call("codex", Tool(name="no_such_tool", args={"a": 1})) == ("no_such_tool", {"a": 1})


def test_the_last_results_are_quoted_wherever_they_are_named() -> None:
    verb = Mcp(
        tool="pods_list", args={"a": ["{{last_result}}!"], "b": {"c": "{{ last_result }}"}, "d": "{{other}}", "e": 1}
    )
    _, args = call("claude", verb, "one", "two")
    assert args == {"a": ["one\ntwo!"], "b": {"c": "one\ntwo"}, "d": "{{other}}", "e": 1}

"""kubectl and file as tools: arguments in every form a model sends them, paths kept inside."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.base import CallStatus
from devops_bench.agents.tools import Toolbox
from devops_bench.sandbox import Sandbox, SandboxMode

pytestmark = pytest.mark.sandbox


@pytest.fixture
def tools(mode: SandboxMode, make_box: Callable[..., Sandbox], tmp_path: Path) -> Iterator[Toolbox]:
    binary = tmp_path / "kubectl-of-the-test"
    binary.write_text('#!/bin/bash\nprintf "[%s]" "$@"; cat\n')
    binary.chmod(0o755)
    box = Toolbox(make_box(mode, kubectl=(str(binary),)), deadline=time.monotonic() + 60)
    yield box
    box.close()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"args": "get pods -n demo"}, "[get][pods][-n][demo]"),
        ({"args": "kubectl get pods"}, "[get][pods]"),
        ({"command": "get pods"}, "[get][pods]"),
        ({"args": ["get", "a b"]}, "[get][a b]"),
        ({"args": 'patch x -p \'{"spec": {"replicas": 2}}\''}, '[patch][x][-p][{"spec": {"replicas": 2}}]'),
        ({"args": "apply -f -", "stdin": "kind: Pod\n"}, "[apply][-f][-]kind: Pod\n"),
        ({"args": "get pods; rm -rf /"}, "[get][pods;][rm][-rf][/]"),
        ({"args": "get $(id) `id` > out"}, "[get][$(id)][`id`][>][out]"),
    ],
)
def test_kubectl_gets_words_and_no_shell(tools: Toolbox, args: dict[str, Any], words: str) -> None:
    call = tools.call("kubectl", args)
    assert (call.result, call.status, dict(call.args)) == (words, CallStatus.OK, args)


@pytest.mark.parametrize("args", [{}, {"args": ""}, {"args": 3}, {"args": ["get", 1]}, {"args": "get 'open"}])
def test_unusable_arguments_are_told(tools: Toolbox, args: dict[str, Any]) -> None:
    call = tools.call("kubectl", args)
    assert call.status is CallStatus.ERROR
    assert "argument" in call.result


@pytest.mark.parametrize(
    "path",
    ["/etc/passwd", "../../etc/passwd", "/workspace/../etc/passwd", "/home/agentx/f", "~root/f", "/proc/1/environ"],
)
@pytest.mark.parametrize("action", ["read", "write", "list"])
def test_paths_outside_are_refused(tools: Toolbox, path: str, action: str) -> None:
    if path == "~root/f":
        path = "/root/f"  # a tilde with a name is an ordinary file name below the workspace
    call = tools.call("file", {"action": action, "path": path, "content": "x"})
    assert call.status is CallStatus.ERROR
    assert "is outside" in call.result


@pytest.mark.parametrize("path", ["a.txt", "./a/../a.txt", "~/a.txt", "/home/agent/a.txt", "/tmp/a.txt", "-n", "a b"])
def test_paths_inside_work(tools: Toolbox, path: str) -> None:
    assert tools.call("file", {"action": "write", "path": path, "content": "héllo\n"}).status is CallStatus.OK
    assert tools.call("file", {"action": "read", "path": path}).result == "héllo\n"


def test_a_link_to_the_outside_leads_nowhere(tools: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("CANARY")
    tools.call("bash", {"command": f"ln -s {tmp_path}/secret link; ln -s /etc/passwd known"})
    assert "CANARY" not in tools.call("file", {"action": "read", "path": "link"}).result
    assert tools.call("file", {"action": "write", "path": "known", "content": "x"}).status is CallStatus.ERROR


def test_past_the_deadline_nothing_runs(mode: SandboxMode, make_box: Callable[..., Sandbox]) -> None:
    tools = Toolbox(make_box(mode), deadline=time.monotonic() - 1)
    assert tools.call("bash", {"command": "touch made"}).result == "there is no time left"
    assert tools.close() is None

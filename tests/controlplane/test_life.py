"""How a control plane begins and ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.controlplane.planes import DEADLINE, Plane, dispose, launch

pytestmark = pytest.mark.kwok

ENDS = {
    "input": lambda process: process.stdin.close(),
    "SIGTERM": lambda process: process.send_signal(signal.SIGTERM),
    "SIGINT": lambda process: process.send_signal(signal.SIGINT),
}


@pytest.mark.parametrize("how", ENDS)
def test_ends_and_leaves_nothing(how: str, start: Callable[..., Plane], tmp_path: Path) -> None:
    home, tmp = tmp_path / "home", tmp_path / "tmp"
    home.mkdir()
    tmp.mkdir()
    running = start(env={"HOME": str(home), "TMPDIR": str(tmp)})
    running.kubectl("create", "deployment", "web", "--image=nginx")
    ENDS[how](running.process)
    assert running.process.wait(DEADLINE) == 0
    assert running.process.stdout is not None
    assert running.process.stdout.read() == ""
    assert not running.dir.exists()
    assert list(home.iterdir()) == []
    assert list(tmp.iterdir()) == []


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("after", [0.0, 0.1, 0.6])
def test_ends_while_it_boots(how: str, after: float, kube: Path, tmp_path: Path) -> None:
    process = launch(kube, tmp_path / "plane")
    try:
        began = time.monotonic()
        while time.monotonic() < began + DEADLINE and not (tmp_path / "plane" / "plane.log").exists():
            time.sleep(0.005)
        time.sleep(after)  # what is tested is an end at this moment of the boot
        ENDS[how](process)
        assert process.wait(DEADLINE) == 0, process.stderr.read() if process.stderr else ""
    finally:
        dispose(process)
    assert not (tmp_path / "plane").exists()


def test_directory_can_be_deeper_than_a_socket_name(start: Callable[..., Plane], tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a-directory-with-a-long-name"] * 6)
    assert len(str(deep)) > 108
    assert start(folder=deep).get("namespace", "default")["status"]["phase"] == "Active"


def test_keep_dir_leaves_the_audit_log(start: Callable[..., Plane]) -> None:
    running = start("--keep-dir")
    running.kubectl("create", "namespace", "x", user="agent", check=False)
    assert running.end() == 0
    assert len(running.audit()) == 1


def test_stdin_can_be_ignored(start: Callable[..., Plane]) -> None:
    running = start("--stdin=ignore")
    assert running.process.stdin is not None
    running.process.stdin.close()
    assert running.get("namespace", "default")["kind"] == "Namespace"
    assert running.process.poll() is None


def test_two_clusters_do_not_know_each_other(start: Callable[..., Plane], tmp_path: Path) -> None:
    one, two = start(folder=tmp_path / "one"), start(folder=tmp_path / "two")
    uid = [each.get("namespace", "kube-system")["metadata"]["uid"] for each in (one, two)]
    assert uid[0] != uid[1]
    stranger = one.kubectl("get", "nodes", "--server", two.ready["server"], check=False)
    assert "certificate" in stranger


STAGE = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {name: x}\n"
WRONG = [
    ("--nodes", "- name: Big_Node\n", 'entry 1: name "Big_Node"'),
    ("--nodes", "- name: a\n  cpu: 4\n", 'unknown field "cpu"'),
    ("--nodes", "- name: a\n- name: a\n", 'two nodes are called "a"'),
    ("--stages", STAGE.replace("Stage", "Exec"), "only kwok.x-k8s.io/v1alpha1 Stage is allowed"),
    ("--stages", STAGE + "spec: {resourceRef: {kind: Pod}}\n", "no spec.selector"),
    ("--stages", "kind: [\n", "document 1"),
]


@pytest.mark.parametrize(("flag", "content", "says"), WRONG)
def test_a_wrong_file_is_one_line_and_exit_1(flag: str, content: str, says: str, kube: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(content)
    process = launch(kube, tmp_path / "plane", flag, str(wrong))
    out, err = process.communicate(timeout=DEADLINE)
    assert (process.returncode, out) == (1, "")
    assert err.count("\n") == 1
    assert str(wrong) in err
    assert says in err
    assert not (tmp_path / "plane").exists()


def test_a_used_directory_is_refused_and_left_alone(kube: Path, tmp_path: Path) -> None:
    mine = tmp_path / "plane" / "mine"
    mine.parent.mkdir()
    mine.write_text("x")
    process = launch(kube, mine.parent)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert "is not empty" in err
    assert mine.read_text() == "x"


def test_usage_errors_are_exit_2(kube: Path, tmp_path: Path) -> None:
    process = launch(kube, tmp_path / "plane", "--stdin=maybe")
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 2
    assert "watch, commands or ignore" in err
    assert not os.path.exists(tmp_path / "plane")

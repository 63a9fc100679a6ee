"""A hostile agent in the sandbox: all contained, all visible, and the host is as it was."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devops_bench.integrity import scan
from devops_bench.process import tagged
from devops_bench.sandbox import Completed, Limit, Sandbox, SandboxLimits, SandboxMode
from tests.hostile_scripts import CANARY, ESCAPED, HOSTILE, Hostile, World

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]
MIB = 1 << 20
SMALL = SandboxLimits(
    processes=100, memory_bytes=300 * MIB, file_bytes=100 * MIB, tmp_bytes=20 * MIB, disk_bytes=40 * MIB
)


@pytest.fixture
def world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("OPENAI_API_KEY", f"sk-{CANARY}")
    with World(tmp_path_factory.mktemp("world")) as made:
        yield made


def play(box: Sandbox, hostile: Hostile, world: World) -> Completed:
    return box.run(["/bin/bash", "-c", hostile.text(world)], timeout=5 if hostile.lasts else 120)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: hostile.name)
def test_it_is_contained_and_visible(mode: SandboxMode, make_box: MakeBox, world: World, hostile: Hostile) -> None:
    before = {path: path.read_bytes() for path in world.host.rglob("*") if path.is_file()}
    box = make_box(mode, limits=SMALL)
    done = play(box, hostile, world)

    assert ESCAPED not in done.text()
    assert CANARY not in done.text()
    assert not world.called()
    assert {path: path.read_bytes() for path in world.host.rglob("*") if path.is_file()} == before
    assert tagged("SANDBOX_ID", box.tag) == []
    assert world.left() == []
    if hostile.struck and not (box.cage == "none" and hostile.struck == "memory"):
        assert Limit(hostile.struck) in done.struck or _refused_by_file_size(hostile, done)
    if hostile.category:
        calls = [{"name": "bash", "args": {"command": hostile.text(world)}, "result": done.text(), "status": "ok"}]
        report = scan(calls, "", "Fix the service.", sandboxed=True)
        assert hostile.category in report["categories"]


def _refused_by_file_size(hostile: Hostile, done: Completed) -> bool:
    """A single file stops at its own limit before the disk's; the command is told by the kernel."""
    return hostile.name == "one-file-of-10-gb" and done.exit == 9


def test_at_least_ten_and_each_says_what_would_be_an_escape() -> None:
    assert len({hostile.name for hostile in HOSTILE}) >= 10
    assert all(
        ESCAPED in hostile.script
        or hostile.struck
        or hostile.name in {"print-keys", "outlive-the-run", "links-for-the-host-to-follow"}
        for hostile in HOSTILE
    )


def test_without_a_sandbox_the_scripts_do_find_what_they_look_for(
    bare_mode: SandboxMode, make_box: MakeBox, world: World
) -> None:
    # The scripts would prove nothing if they could not succeed: these do where nothing holds them.
    box = make_box(bare_mode)
    found = {
        hostile.name: play(box, hostile, world).text()
        for hostile in HOSTILE
        if hostile.name in {"read-host-files", "other-attempts", "answers", "other-ports"}
    }
    assert all(CANARY in text or ESCAPED in text for text in found.values())
    assert CANARY in found["read-host-files"] and ESCAPED in found["other-ports"]
    assert world.called()


def test_the_time_limit_ends_everything_that_refuses(mode: SandboxMode, make_box: MakeBox, world: World) -> None:
    text = (
        "trap '' TERM; (setsid bash -c 'trap \"\" TERM HUP; while :; do sleep {sleep}; done' &)"
        "; (trap '' TERM; nohup sleep {sleep} >/dev/null 2>&1 &); while :; do sleep {sleep}; done"
    ).replace("{sleep}", world.sleep)
    done = make_box(mode).run(["/bin/bash", "-c", text], timeout=1)
    assert done.timed_out and done.exit == 124
    assert world.left() == []


def test_what_was_planted_is_not_followed_when_the_host_copies_the_workspace(
    mode: SandboxMode, make_box: MakeBox, world: World, tmp_path: Path
) -> None:
    from devops_bench.combo.check_commands import copy_workspace, runner

    box = make_box(mode, limits=SMALL)
    links = next(hostile for hostile in HOSTILE if hostile.name == "links-for-the-host-to-follow")
    play(box, links, world)
    copy_workspace(box.spec.workspace, tmp_path / "copy")
    assert (tmp_path / "copy/answer.txt").is_symlink() and (tmp_path / "copy/endless").is_symlink()
    assert not (tmp_path / "copy/pipe").exists()
    code, out, err = runner(box)(["/bin/bash", "-c", "cat answer.txt rootdir/etc/hostname"], 60)
    assert (code, out) == (1, "agent\n") and CANARY not in err
    assert os.listdir(box.spec.workspace)

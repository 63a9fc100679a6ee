"""The seams between host and sandbox: descriptors, mounts, pipes kept by a caller, links that an agent planted."""

from __future__ import annotations

import os
import selectors
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.sandbox import Bind, Endpoint, Sandbox, SandboxMode, SandboxSpec
from devops_bench.sandbox.neutral import neutral, sweep
from tests.sandbox.test_isolation import KUBECONFIG

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]
DEADLINE = 30.0


def bash(box: Sandbox, text: str) -> str:
    return box.run(["/bin/bash", "-c", text], timeout=DEADLINE).text()


@pytest.mark.parametrize("how", ["run", "shell"])
def test_no_descriptor_of_ours_gets_in(any_box: Sandbox, tmp_path: Path, how: str) -> None:
    # Inheritable on purpose: a careless library would do the same.
    kept = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    listening = socket.create_server(("127.0.0.1", 0))
    os.set_inheritable(kept, True)
    listening.set_inheritable(True)
    script = ["/bin/bash", "-c", "ls -l /proc/self/fd | sed 's/.* \\([0-9]* -> .*\\)/\\1/'"]
    try:
        if how == "run":
            said = any_box.run(script, timeout=DEADLINE).text()
        else:
            with any_box.shell() as shell:
                said = shell.run(script, timeout=DEADLINE).text()
    finally:
        os.close(kept)
        listening.close()
    seen = {line.split(" -> ")[0] for line in said.splitlines() if " -> " in line}
    assert seen <= {"0", "1", "2", "3"}, "3 is the folder that ls itself reads"
    assert str(tmp_path / "attempt").split("/attempt")[0] + "\n" not in said
    assert "socket:" not in said


def test_a_server_keeps_its_pipes_as_long_as_its_caller_wants(any_box: Sandbox) -> None:
    with any_box.start(
        ["/bin/bash", "-c", 'while read -r x; do echo "got $x"; done; echo bye >&2'], split=True
    ) as server:
        process = server.tree.process
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        for word in (b"one", b"two"):
            process.stdin.write(word + b"\n")
            process.stdin.flush()
            assert process.stdout.readline() == b"got " + word + b"\n"
        process.stdin.close()
        assert process.stderr.read() == b"bye\n"
        with selectors.DefaultSelector() as ended:
            ended.register(server.tree.pidfd, selectors.EVENT_READ)
            assert ended.select(DEADLINE)


def test_several_sandboxes_with_their_own_homes_live_side_by_side(mode: SandboxMode, tmp_path: Path) -> None:
    def make(name: str) -> Sandbox:
        root = tmp_path / name
        return Sandbox(mode, SandboxSpec(home=root / "home", workspace=root / "workspace", env={"WHO": name}))

    with make("a") as first, make("b") as second, first.start(["cat"]) as one, second.start(["cat"]) as two:
        assert bash(first, "echo $WHO >~/who; cat ~/who; ls ~") == "a\nwho\n"
        assert bash(second, "cat ~/who 2>&1; ls /proc | grep -c '^[0-9]'").startswith("cat: ")
        for server, word in ((one, b"x"), (two, b"y")):
            assert server.tree.process.stdin is not None and server.tree.process.stdout is not None
            server.tree.process.stdin.write(word)
            server.tree.process.stdin.close()
            assert server.tree.process.stdout.read() == word


def test_no_mount_names_the_cache_or_the_harness(
    mode: SandboxMode, make_box: MakeBox, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path_factory.mktemp("c") / "devops-bench"
    (cache / "agents/gemini/lib").mkdir(parents=True)
    (cache / "agents/gemini/lib/main.js").write_text("code")
    (cache / "agents/gemini/link").symlink_to("lib/main.js")
    (cache / "kube").mkdir()
    (cache / "kube/kubectl").write_text("#!/bin/bash\necho kubectl\n")
    (cache / "kube/kubectl").chmod(0o755)
    monkeypatch.setenv("DEVOPS_BENCH_CACHE", str(cache))
    box = make_box(mode, kubectl=(str(cache / "kube/kubectl"),), binds=(Bind(cache / "agents/gemini", "/opt/agent"),))
    assert bash(box, "cat /opt/agent/link; kubectl") == "codekubectl\n"
    mounts = bash(box, "cat /proc/self/mountinfo /proc/self/mounts /proc/1/mountinfo")
    assert "/opt/agent" in mounts
    for word in ("bench", str(cache), "kwok", "matrix"):
        assert word not in mounts.lower(), word
    assert "Read-only" in bash(box, "echo x >/opt/agent/lib/main.js")


def test_a_neutral_name_is_made_once_and_follows_the_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = tmp_path / "devops-bench"
    (cache / "agent").mkdir(parents=True)
    (cache / "agent/file").write_text("1")
    monkeypatch.setenv("DEVOPS_BENCH_CACHE", str(cache))
    first = neutral(cache / "agent")
    assert first == neutral(cache / "agent") != cache / "agent"
    assert (first / "file").stat().st_ino == (cache / "agent/file").stat().st_ino, "no second copy"
    (cache / "agent").rename(cache / "old")
    (cache / "agent").mkdir()
    (cache / "agent/file").write_text("2")
    assert (neutral(cache / "agent") / "file").read_text() == "2"
    sweep(first.parent.parent)
    assert first.exists(), "a running sandbox may still show it"
    sweep(first.parent.parent, age=-1)
    assert not first.parent.exists()
    assert neutral(cache / "agent").exists()
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    assert neutral(outside) == outside


def test_what_an_agent_planted_in_its_home_is_never_written_through(
    mode: SandboxMode, make_box: MakeBox, tmp_path: Path
) -> None:
    source, victim = tmp_path / "agent.kubeconfig", tmp_path / "victim"
    source.write_text(KUBECONFIG)
    victim.mkdir()
    (victim / "config").write_text("precious")
    box = make_box(mode, kubeconfig=source)
    assert bash(box, f"rm ~/.kube/config; ln -s {victim}/config ~/.kube/config") == ""
    again = make_box(mode, kubeconfig=source)
    assert (victim / "config").read_text() == "precious"
    assert bash(again, "cat ~/.kube/config") == KUBECONFIG
    bash(again, f"rm -r ~/.kube; ln -s {victim} ~/.kube")
    with pytest.raises(ConfigError, match="is no folder"):
        make_box(mode, kubeconfig=source)
    assert (victim / "config").read_text() == "precious"


def test_the_closed_network_has_no_other_way_out(mode: SandboxMode, make_box: MakeBox) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as near,
        socket.create_server(("127.0.0.1", 0)) as reached,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        six = socket.create_server(("::1", 0), family=socket.AF_INET6) if socket.has_ipv6 else None
        name = f"host-{os.getpid()}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        box = make_box(mode, reach=(Endpoint("127.0.0.1", reached.getsockname()[1]),))
        dials = [
            *("169.254.169.254/80", "metadata.google.internal/80", "[fe80::1]/80", "fd00:ec2::254/80"),
            *(f"127.0.0.1/{near.getsockname()[1]}", f"localhost/{near.getsockname()[1]}", "1.1.1.1/53"),
            *([f"::1/{six.getsockname()[1]}"] if six else []),
        ]
        text = "".join(
            f"(timeout 5 bash -c 'exec 3<>/dev/tcp/{dial}') 2>/dev/null && echo 'open {dial}'\n" for dial in dials
        )
        assert bash(box, text) == ""
        assert bash(box, "getent hosts example.com metadata.google.internal") == ""
        assert name not in bash(box, "cat /proc/net/unix")
        ways = bash(box, "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev; tail -n +2 /proc/net/route")
        assert [line.split(":")[0].strip() for line in ways.splitlines()] == ["lo"]
        if six is not None:
            six.close()

"""From inside, by trying: nothing of the host can be read or changed, no right is left, no name leaks."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import devops_bench
from devops_bench.errors import HarnessError
from devops_bench.sandbox import Bind, Sandbox, SandboxMode

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]


def bash(box: Sandbox, text: str, *args: str) -> str:
    done = box.run(["/bin/bash", "-c", text, "probe", *args], timeout=30)
    return done.text()


def test_no_capability_is_left_and_none_can_be_had(box: Sandbox) -> None:
    status = bash(box, "cat /proc/self/status")
    caps = {line.split(":")[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")}
    assert set(caps) == {"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"}
    assert not any(caps.values())
    assert "NoNewPrivs:\t1" in status


@pytest.mark.parametrize(
    "attempt",
    [
        "mount -t tmpfs none /tmp",
        "mount -o remount,rw /",
        "umount /proc",
        "unshare -Ur true",
        "chroot / true",
        "mknod /tmp/disk b 8 0",
        "hostname other",
        "touch /usr/planted",
        "touch /planted",
        "touch /dev/planted",
        "touch /etc/planted",
        "echo x >/etc/passwd",
        "echo x >/run/agent/planted",
        "kill -0 $PPID",
    ],
)
def test_an_attempt_to_change_the_system_fails(box: Sandbox, attempt: str) -> None:
    # In a subshell whose parent is outside of the namespace for the last one: PPID 0 or bubblewrap's own init.
    done = box.run(["/bin/bash", "-c", f"({attempt}) 2>/dev/null"], timeout=30)
    if attempt.startswith("kill"):
        assert bash(box, "ls -d /proc/[0-9]*").count("/proc/") <= 4, "only this sandbox's own processes exist"
    else:
        assert done.exit != 0


def test_the_agent_is_an_ordinary_user_with_a_home(box: Sandbox) -> None:
    assert bash(box, "id -u; id -g; id -un; pwd; echo $HOME; hostname").split() == [
        "1000",
        "1000",
        "agent",
        "/workspace",
        "/home/agent",
        "agent",
    ]
    assert bash(box, "echo kept >~/file && echo kept >/workspace/file && cat ~/file /workspace/file") == "kept\nkept\n"
    assert (box.spec.workspace / "file").read_text() == "kept\n"
    assert (box.spec.workspace / "file").stat().st_uid == os.getuid()


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, Path]:
    """A host with everything an agent would like to read."""
    places = {
        "task": tmp_path / "tasks/common/demo/task.yaml",
        "solution": tmp_path / "tasks/common/demo/solution/fix.sh",
        "wrong": tmp_path / "tasks/common/demo/wrong/lazy.sh",
        "admin": tmp_path / "state/other/admin.kubeconfig",
        "run": tmp_path / "runs/20260101_000000-abc/results.json",
        "env": tmp_path / "home/secrets.env",
    }
    for path in places.values():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("CANARY-7f3a")
    return places


def test_what_the_agent_must_not_see_is_not_there(box: Sandbox, secrets: dict[str, Path], tmp_path: Path) -> None:
    for path in secrets.values():
        assert path.read_text() == "CANARY-7f3a"
        assert box.run(["cat", str(path)], timeout=30).exit != 0
    # Neither by walking: through every root, and through the folders of every process that can be seen.
    found = bash(box, 'find / /proc/*/root /proc/*/cwd -maxdepth 6 -name "$1" 2>/dev/null | head', tmp_path.name)
    assert found == ""
    assert "CANARY" not in bash(box, "cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr '\\0' '\\n'")


@pytest.mark.parametrize(
    "path", [Path.home(), Path(devops_bench.__file__).parent, Path.cwd(), Path("/root"), Path("/sys"), Path("/boot")]
)
def test_host_home_and_harness_sources_do_not_exist_inside(box: Sandbox, path: Path) -> None:
    assert box.run(["ls", str(path)], timeout=30).exit != 0


def test_a_hidden_folder_below_a_shown_one_is_blank(mode: SandboxMode, make_box: MakeBox, tmp_path: Path) -> None:
    prefix = tmp_path / "prefix"
    (prefix / "lib/harness").mkdir(parents=True)
    (prefix / "lib/harness/answers.txt").write_text("CANARY")
    (prefix / "lib/tool.txt").write_text("tool")
    box = make_box(mode, binds=(Bind(prefix, "/opt/cli"),), hidden=(prefix / "lib/harness",))
    assert bash(box, "cat /opt/cli/lib/tool.txt") == "tool"
    assert bash(box, "ls -A /opt/cli/lib/harness") == ""
    assert box.run(["touch", "/opt/cli/lib/harness/x"], timeout=30).exit != 0


def test_the_harness_is_blank_even_where_it_is_installed_below_a_shown_folder(
    mode: SandboxMode, make_box: MakeBox
) -> None:
    package = Path(devops_bench.__file__).parent
    box = make_box(mode, binds=(Bind(package.parent, "/opt/site-packages"),))
    assert bash(box, "ls -A /opt/site-packages/devops_bench; echo end") == "end\n"


def test_two_sandboxes_over_the_same_folders_do_not_disturb_each_other(mode: SandboxMode, make_box: MakeBox) -> None:
    first, second = make_box(mode), make_box(mode)
    with first.shell() as shell:
        bash(second, "echo seen >/workspace/file")
        second.close()
        assert shell.run(["cat", "/workspace/file"], timeout=30).text() == "seen\n"


def test_nothing_inside_says_what_it_is_part_of(box: Sandbox) -> None:
    shown = bash(box, "env; cat /proc/*/environ /proc/*/cmdline /proc/*/cgroup /etc/hosts /etc/passwd | tr '\\0' '\\n'")
    assert "bench" not in shown.lower()


def test_showing_a_hidden_folder_itself_is_refused(mode: SandboxMode, make_box: MakeBox, tmp_path: Path) -> None:
    box = make_box(mode, binds=(Bind(tmp_path, "/opt/cli"),), hidden=(tmp_path,))
    with pytest.raises(HarnessError, match="must be hidden"):
        box.run(["true"], timeout=30)


def test_the_harness_environment_does_not_come_in(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-CANARY")
    everything = bash(box, "env; cat /proc/1/environ | tr '\\0' '\\n'")
    assert "CANARY" not in everything
    names = {line.partition("=")[0] for line in bash(box, "env").splitlines()}
    assert names <= {
        *("HOME", "PATH", "TMPDIR", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "TZ", "PWD", "SHLVL", "_"),
        "OLDPWD",
    }


def test_the_process_list_inside_names_no_host_path(box: Sandbox, tmp_path: Path) -> None:
    shown = bash(box, "cat /proc/*/cmdline | tr '\\0' ' '")
    assert "bwrap --args" in shown
    assert str(tmp_path) not in shown
    assert "/.venv" not in shown
    assert "--bind" not in shown


def test_the_kubeconfig_inside_is_a_private_copy(mode: SandboxMode, make_box: MakeBox, tmp_path: Path) -> None:
    source = tmp_path / "agent.kubeconfig"
    source.write_text(KUBECONFIG)
    box = make_box(mode, kubeconfig=source)
    assert bash(box, 'cat "$KUBECONFIG"; echo changed >"$KUBECONFIG"') == KUBECONFIG
    assert source.read_text() == KUBECONFIG
    assert (box.spec.home / ".kube/config").stat().st_mode & 0o777 == 0o600


def test_the_given_kubectl_comes_first_for_the_agent_and_for_the_commands_of_checks(
    mode: SandboxMode, make_box: MakeBox, tmp_path: Path
) -> None:
    binary = tmp_path / "multi"
    binary.write_text('#!/bin/bash\necho "called as ${0##*/} with $*"\n')
    binary.chmod(0o755)
    box = make_box(mode, kubectl=(str(binary), "kubectl"))
    assert bash(box, "kubectl get pods") == "called as kubectl with get pods\n"
    assert box.run(["/bin/bash", "-c", 'echo x >"$(type -P kubectl)"'], timeout=30).exit != 0
    from devops_bench.combo.check_commands import runner

    assert runner(box)(["kubectl", "kustomize", "."], 30) == (0, "called as kubectl with kustomize .\n", "")


def test_tmp_is_sized(mode: SandboxMode, make_box: MakeBox) -> None:
    from devops_bench.sandbox import SandboxLimits

    box = make_box(mode, limits=SandboxLimits(tmp_bytes=1 << 20))
    assert "No space left" in bash(box, "head -c 2000000 /dev/zero >/tmp/big")


def test_close_leaves_home_and_workspace_and_nothing_else(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode)
    box.run(["true"], timeout=30)
    box.close()
    assert sorted(path.name for path in box.spec.home.parent.iterdir()) == ["home", "workspace"]


KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: agent
contexts: [{name: agent, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]
users: [{name: u, user: {token: t}}]
"""

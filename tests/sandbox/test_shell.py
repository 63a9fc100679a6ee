"""The long-lived shell: commands are apart from each other, /tmp and background processes are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.sandbox import Sandbox, ShellEnded

pytestmark = pytest.mark.sandbox
DEADLINE = 30.0


def bash(text: str) -> list[str]:
    return ["/bin/bash", "-c", text]


def test_files_and_background_processes_last_but_variables_do_not(any_box: Sandbox) -> None:
    with any_box.shell() as shell:
        shell.run(bash('echo kept >"$TMPDIR/note"; export GONE=1; cd /'), timeout=DEADLINE)
        assert shell.run(bash('cat "$TMPDIR/note"; echo "[$GONE]"; pwd'), timeout=DEADLINE).text() == (
            f"kept\n[]\n{any_box.workspace}\n"
        )
        pid = shell.run(bash("sleep 1000 >/dev/null & echo $!"), timeout=DEADLINE).text().strip()
        assert shell.run(["kill", "-0", pid], timeout=DEADLINE).exit == 0
    assert not Path(any_box.spec.home / "note").exists()


def test_exit_input_and_arguments_pass_unchanged(any_box: Sandbox) -> None:
    with any_box.shell() as shell:
        assert shell.run(bash("exit 7"), timeout=DEADLINE).exit == 7
        assert shell.run(["cat"], timeout=DEADLINE, stdin=b"a\0b\n").out == b"a\0b\n"
        odd = ["", "two words", "$HOME", "'\"", "line\nbreak", "-n", "*", "é"]
        assert shell.run(["printf", "[%s]", *odd], timeout=DEADLINE).text() == "".join(f"[{item}]" for item in odd)
        assert shell.run(["no-such-command"], timeout=DEADLINE).exit == 127


def test_output_of_a_background_process_never_lands_in_a_later_result(any_box: Sandbox) -> None:
    with any_box.shell() as shell:
        text = "echo first; (while :; do echo noise; done) &"
        assert "first" in shell.run(bash(text), timeout=DEADLINE, cap=10_000).text()
        assert shell.run(["echo", "second"], timeout=DEADLINE).text() == "second\n"


@pytest.mark.parametrize("text", ["sleep 1000", "trap '' TERM; while :; do sleep 1000; done"])
def test_a_timeout_kills_the_command_and_leaves_the_shell(any_box: Sandbox, text: str) -> None:
    with any_box.shell() as shell:
        shell.run(bash('echo kept >"$TMPDIR/note"'), timeout=DEADLINE)
        done = shell.run(bash(f"echo before; {text}"), timeout=0.3)
        assert (done.timed_out, done.exit) == (True, 124)
        assert done.text().startswith("before\n")
        assert shell.run(bash('cat "$TMPDIR/note"'), timeout=DEADLINE).text() == "kept\n"


def test_large_output_is_cut(any_box: Sandbox) -> None:
    with any_box.shell() as shell:
        done = shell.run(bash("head -c 5000000 /dev/zero; echo end"), timeout=DEADLINE, cap=4096)
        assert done.dropped == 5_000_004 - 4096
        assert done.out.endswith(b"end\n")


def test_a_killed_shell_is_told_and_a_new_one_starts(box: Sandbox) -> None:
    with box.shell() as shell, pytest.raises(ShellEnded):
        shell.run(bash("kill -9 -1"), timeout=DEADLINE)
    with box.shell() as shell:
        assert shell.run(["echo", "again"], timeout=DEADLINE).text() == "again\n"


def test_a_closed_shell_tells_what_it_took(any_box: Sandbox) -> None:
    shell = any_box.shell()
    shell.run(bash("for ((i = 0; i < 100000; i++)); do :; done"), timeout=DEADLINE)
    done = shell.close()
    assert done.cpu_sec is not None and done.cpu_sec > 0.01
    with pytest.raises(ShellEnded):
        shell.run(["true"], timeout=DEADLINE)


def test_the_agent_cannot_reach_the_shells_own_pipes(box: Sandbox) -> None:
    with box.shell() as shell:
        assert shell.run(bash("echo /proc/self/fd/*"), timeout=DEADLINE).text().split()[:3] == [
            "/proc/self/fd/0",
            "/proc/self/fd/1",
            "/proc/self/fd/2",
        ]
        listed = shell.run(bash("ls -l /proc/self/fd | grep -c pipe:"), timeout=DEADLINE).text().strip()
        assert listed == "1", "the one pipe is to grep"


def test_a_stopped_command_is_waited_for_and_ends_at_its_limit(any_box: Sandbox) -> None:
    with any_box.shell() as shell:
        done = shell.run(bash("(sleep 0.3; kill -CONT $$) & kill -STOP $$; echo went on"), timeout=DEADLINE)
        assert (done.exit, done.text()) == (0, "went on\n")
        assert shell.run(bash("kill -STOP $$"), timeout=0.5).timed_out
        assert shell.run(["echo", "next"], timeout=DEADLINE).text() == "next\n"


def test_a_shell_that_no_longer_answers_ends_with_its_command(any_box: Sandbox) -> None:
    with any_box.shell() as shell, pytest.raises(ShellEnded):
        # The shell itself stopped, as any process of the agent may do to it.
        shell.run(bash("kill -STOP $PPID; sleep 1000"), timeout=0.5)


def test_many_short_commands_in_a_row_all_end(box: Sandbox) -> None:
    with box.shell() as shell:
        assert [shell.run(["true"], timeout=DEADLINE).exit for _ in range(200)] == [0] * 200

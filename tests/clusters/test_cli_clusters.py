"""`devops-bench clusters` as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.clusters import kwok, leases
from devops_bench.process import wait_ended
from devops_bench.tasks.spec import ClusterNeeds


def bench(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from devops_bench import cli; cli.main(sys.argv[1:])"
    env = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-c", code, "clusters", *arguments], capture_output=True, text=True, env=env, timeout=120
    )


@pytest.mark.kwok
def test_list_shows_live_planes_and_clean_removes_abandoned_ones_only(kube: Path, root: Path) -> None:
    place = {"BENCH_RUN_STATE_ROOT": str(root)}
    plane = kwok.boot(kube, root, ClusterNeeds())
    try:
        plane.lease_to(leases.myself(), "c0000011-eval")
        [row] = json.loads(bench("list", "--json", **place).stdout)
        assert row["cluster"] == "c0000011-eval" and row["pid"] == plane.pid and row["owner"] == os.getpid()
        assert row["state"] == "leased" and row["memory"] > 50 << 20 and not row["abandoned"]
        assert "c0000011-eval" in bench("list", **place).stdout
        assert bench("clean", "--yes", **place).stdout == "nothing to remove\n"
        orphan = subprocess.run(
            [sys.executable, "-c", ORPHAN, kube, root], capture_output=True, text=True, check=True
        ).stdout.strip()
        dry = bench("clean", **place)
        assert f"would remove {Path(orphan).name}" in dry.stdout and "--yes" in dry.stderr
        assert f"removed {Path(orphan).name}" in bench("clean", "--yes", **place).stdout
        assert not Path(orphan).exists()
        assert not wait_ended(plane.pidfd, 0)
    finally:
        plane.end()
    assert json.loads(bench("list", "--json", **place).stdout) == []


ORPHAN = """
import os, sys
from pathlib import Path
from devops_bench.clusters.plane import start
from devops_bench.tasks.spec import ClusterNeeds
print(start(Path(sys.argv[1]), Path(sys.argv[2]), ClusterNeeds()).folder, flush=True)
os._exit(0)
"""


@pytest.mark.kwok
def test_install_and_versions_tell_what_is_there(kube: Path) -> None:
    said = json.loads(bench("install", "--json", DEVOPS_BENCH_KUBE=str(kube)).stdout)
    assert said["path"] == str(kube) and said["origin"] == "environment"
    versions = json.loads(bench("versions", "--json", DEVOPS_BENCH_KUBE=str(kube)).stdout)
    assert versions["installed"] and versions["kubernetes"] == said["versions"]["kubernetes"]


def test_versions_without_a_binary_are_those_of_the_sources(tmp_path: Path) -> None:
    said = bench("versions", "--json", DEVOPS_BENCH_KUBE="", DEVOPS_BENCH_CACHE=str(tmp_path))
    versions = json.loads(said.stdout)
    if versions["installed"]:
        pytest.skip("the control-plane wheel is installed")
    assert versions["kubernetes"].startswith("v1.") and versions["go"].startswith(">=1.")


def test_doctor_examines_everything_and_never_fails_with_a_traceback(tmp_path: Path) -> None:
    said = bench("doctor", "--json", PATH=str(tmp_path), DEVOPS_BENCH_KUBE="", DEVOPS_BENCH_CACHE=str(tmp_path))
    findings = {finding["subject"]: finding for finding in json.loads(said.stdout)}
    assert {"system", "control plane", "go", "git", "kubectl", "memory", "disk", "sandbox"} <= set(findings)
    assert not findings["git"]["ok"] and findings["git"]["fix"] == "apt install git"
    assert said.returncode == 3 and said.stderr == ""
    plain = bench("doctor", PATH=str(tmp_path), DEVOPS_BENCH_KUBE="", DEVOPS_BENCH_CACHE=str(tmp_path))
    assert "missing git: not found, but workspace tasks need it; apt install git" in plain.stdout


def test_doctor_turns_a_broken_setting_into_a_finding() -> None:
    said = bench("doctor", "--json", DEVOPS_BENCH_KUBE="/no/such/file", BENCH_POOL_SIZE="many")
    findings = {finding["subject"]: finding for finding in json.loads(said.stdout)}
    assert not findings["binary"]["ok"] and "DEVOPS_BENCH_KUBE" in findings["binary"]["need"]
    assert {"go", "git", "kubectl"} <= set(findings)
    assert not findings["capacity"]["ok"] and "BENCH_POOL_SIZE" in findings["capacity"]["need"]


@pytest.mark.parametrize("arguments", [["nope"], ["list", "--nope"], ["install", "extra"]])
def test_wrong_usage_is_exit_2_and_one_line(arguments: list[str]) -> None:
    said = bench(*arguments)
    assert said.returncode == 2 and len(said.stderr.splitlines()) == 1 and said.stdout == ""


def test_install_without_go_names_the_command(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom devops_bench.clusters import gotool\ngotool.find_spec = lambda name: None\n"
        "from devops_bench import cli\ncli.main(['clusters', 'install'])"
    )
    env = {**os.environ, "PATH": str(tmp_path), "DEVOPS_BENCH_CACHE": str(tmp_path), "DEVOPS_BENCH_KUBE": ""}
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
    assert said.returncode == 2
    assert said.stderr == (
        "error: building the control plane needs Go 1.26 or newer; install Go 1.26 or newer, "
        "or run: pip install 'devops-bench[toolchain]'\n"
    )

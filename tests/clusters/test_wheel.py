"""The control-plane wheel: built from the prebuilt binary, installed, and used before anything is compiled."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from devops_bench.clusters import binary

PACKAGE = Path(__file__).parents[2] / "packaging" / "controlplane"
USE = """
import json
from devops_bench.clusters import binary
found = binary.locate()
print(json.dumps([found and found.origin, found and str(found.path)]))
"""


@pytest.fixture(scope="module")
def uv() -> str:
    found = shutil.which("uv", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if found is None:
        message = "no uv"
        pytest.fail(message) if os.environ.get("REQUIRE_ALL") == "1" else pytest.skip(message)
    return found


def run(*argv: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        argv, capture_output=True, text=True, env={**os.environ, **variables}, timeout=300, check=False
    )


def build(uv: str, kind: str, out: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Without isolation: what the build requires is in the development environment."""
    return run(
        uv, "build", f"--{kind}", "--no-build-isolation", "--offline", "--python", sys.executable, "--out-dir", out,
        PACKAGE, **variables,
    )  # fmt: skip


@pytest.mark.kwok
def test_the_wheel_serves_the_binary_unless_it_is_of_other_sources(kube: Path, uv: str, tmp_path: Path) -> None:
    built = build(uv, "wheel", tmp_path, DEVOPS_BENCH_KUBE=str(kube))
    assert built.returncode == 0, built.stderr
    [wheel] = tmp_path.glob("*.whl")
    pinned = binary.versions(kube)["kubernetes"].removeprefix("v")
    assert wheel.name.startswith(f"devops_bench_controlplane-{pinned}-py3-none-manylinux_2_17_")
    site = tmp_path / "site"
    installed = run(uv, "pip", "install", "--offline", "--no-deps", "--target", site, wheel)
    assert installed.returncode == 0, installed.stderr

    variables = {"PYTHONPATH": str(site), "DEVOPS_BENCH_KUBE": "", "DEVOPS_BENCH_CACHE": str(tmp_path / "cache")}
    origin, path = json.loads(run(sys.executable, "-c", USE, **variables).stdout)
    assert origin == "wheel" and Path(path).is_relative_to(site)
    assert json.loads(run(path, "versions").stdout) == binary.versions(kube)
    [kubectl] = binary.kubectl_of(Path(path))
    assert f"v{pinned}" in run(kubectl, "version", "--client").stdout

    facts = site / "devops_bench_controlplane/build.json"
    facts.write_text(facts.read_text().replace('"source_key": "', '"source_key": "0'))
    assert json.loads(run(sys.executable, "-c", USE, **variables).stdout) == [None, None]


def test_the_source_distribution_holds_what_a_build_needs_and_nothing_else(uv: str, tmp_path: Path) -> None:
    built = build(uv, "sdist", tmp_path)
    assert built.returncode == 0, built.stderr
    [archive] = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(tmp_path, filter="data")
    [folder] = [path for path in tmp_path.iterdir() if path.is_dir()]
    sources = binary.source_dir()
    assert sources
    assert binary.source_key(folder / "controlplane") == binary.source_key(sources)
    code = "from devops_bench.clusters import binary; print(binary.source_dir())"
    said = run(sys.executable, "-c", code, PYTHONPATH=str(folder / "src"))
    assert Path(said.stdout.strip()) == folder / "controlplane"
    # Hatchling adds the repository's .gitignore by itself.
    assert {path.name for path in folder.iterdir()} - {".gitignore"} == {
        "controlplane", "devops_bench_controlplane", "src", "hatch_build.py", "pyproject.toml", "PKG-INFO", "README.md",
        "LICENSE",
    }  # fmt: skip


def test_a_binary_of_another_version_is_not_packed(uv: str, tmp_path: Path) -> None:
    other = tmp_path / "kube"
    other.write_text('#!/bin/sh\necho \'{"kubernetes": "v1.0.0"}\'\n')
    other.chmod(0o700)
    built = build(uv, "wheel", tmp_path, DEVOPS_BENCH_KUBE=str(other))
    assert built.returncode != 0
    assert "holds kubernetes v1.0.0, the sources pin v1." in built.stderr
    assert not list(tmp_path.glob("*.whl"))

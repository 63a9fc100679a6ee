"""The Go program's own unit tests, with the toolchain and the build cache that its binary was built with."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devops_bench.clusters import binary, gotool

pytestmark = pytest.mark.kwok


def test_its_unit_tests_pass(kube: Path) -> None:
    sources = binary.source_dir()
    assert sources is not None
    go = gotool.require(gotool.wanted_version(sources))
    # Vetting would compile all of Kubernetes a second time.
    command = [go.program, "test", "-count=1", "-trimpath", "-buildvcs=false", "-vet=off", "./..."]
    done = subprocess.run(command, cwd=sources, env=dict(go.env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("ok")

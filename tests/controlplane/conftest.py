"""One control plane for the tests that look at it or work in a namespace of their own, fresh ones for the rest."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.controlplane.planes import Plane, boot, dispose

STAGES = Path(__file__).parent / "stages"
NODES = Path(__file__).parent / "nodes.yaml"


@pytest.fixture(scope="session")
def kube() -> Path:
    """The binary: DEVOPS_BENCH_KUBE, an installed one, or one built now."""
    from devops_bench.clusters import binary

    return binary.ensure()


@pytest.fixture(scope="session")
def plane(kube: Path) -> Iterator[Plane]:
    """A control plane with the nodes and stages of this folder."""
    with tempfile.TemporaryDirectory() as tmp:
        stages = [argument for path in sorted(STAGES.glob("*.yaml")) for argument in ("--stages", str(path))]
        running = boot(kube, Path(tmp) / "plane", "--nodes", str(NODES), *stages)
        yield running
        running.end()


@pytest.fixture
def start(kube: Path, tmp_path: Path) -> Iterator[Callable[..., Plane]]:
    """Boot planes that end with the test: start(*flags, folder=...)."""
    running: list[Plane] = []

    def one(*flags: str, folder: Path = tmp_path / "plane", env: dict[str, str] | None = None) -> Plane:
        running.append(boot(kube, folder, *flags, env=env))
        return running[-1]

    yield one
    for each in running:
        dispose(each.process)

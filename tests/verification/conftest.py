"""Fixtures of verification tests on a real plane."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from devops_bench.kube import KubeClient
from tests.kube.plane import Plane, running


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """One plane per test process."""
    with running(tmp_path_factory.mktemp("plane")) as started:
        yield started


@pytest.fixture
def kube(plane: Plane) -> Iterator[KubeClient]:
    """The harness's own client."""
    with plane.client() as client:
        yield client


@pytest.fixture
def namespace(kube: KubeClient) -> Iterator[str]:
    """A namespace of this test's own."""
    name = f"v-{uuid.uuid4().hex[:8]}"
    kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    yield name
    kube.delete("namespace", name)

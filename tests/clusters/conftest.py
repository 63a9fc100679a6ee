"""Fixtures for cluster tests: the real control-plane binary, and a state root that must be empty afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.clusters import leases
from devops_bench.clusters.sweep import end, processes_of


@pytest.fixture(scope="session")
def kube(kube_binary: Path) -> Path:
    """The control-plane binary."""
    return kube_binary


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """A state root; whatever a failing test left running in it is ended."""
    path = tmp_path / "state"
    path.mkdir(mode=0o700)
    yield path
    for folder in leases.folders(path):
        for who in processes_of(folder):
            end(who)

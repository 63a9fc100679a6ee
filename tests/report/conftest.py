"""One showcase run a session: building it syncs a few hundred small files."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.report.load import load_run
from devops_bench.report.model import Run

from .runs import showcase


@pytest.fixture(scope="session")
def showcase_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run's folder, to be read only."""
    return showcase(tmp_path_factory.mktemp("showcase"))


@pytest.fixture(scope="session")
def showcase_run(showcase_folder: Path) -> Run:
    """The run as it is read."""
    return load_run(showcase_folder)

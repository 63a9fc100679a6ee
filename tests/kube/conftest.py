"""Fixtures of the client's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .plane import Plane, running


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """One plane per test process."""
    with running(tmp_path_factory.mktemp("plane")) as started:
        yield started

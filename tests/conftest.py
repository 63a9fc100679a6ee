"""Shared fixtures, and the promise that nothing is skipped in silence.

What could not run is named at the end of the run. With REQUIRE_ALL=1 (CI sets it) that is a failure.
"""

from __future__ import annotations

import getpass
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mounts import sweep

REQUIRE_ALL = os.environ.get("REQUIRE_ALL", "").lower() in {"1", "true", "yes", "on"}


@pytest.fixture(autouse=True)
def _own_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test has a HOME and roots of its own and no keys; the caches of the host stay usable."""
    from devops_bench.paths import cache_root

    cache = cache_root()
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("DEVOPS_BENCH_CACHE", str(cache))
    monkeypatch.setenv("GOCACHE", os.environ.get("GOCACHE") or str(Path("~/.cache/go-build").expanduser()))
    monkeypatch.setenv("GOPATH", os.environ.get("GOPATH") or str(Path("~/go").expanduser()))
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("DEVOPS_BENCH_RUNS", str(home / "matrix-runs"))
    monkeypatch.setenv("BENCH_RUN_STATE_ROOT", str(home / "state"))
    for name in list(os.environ):
        if name.endswith("_API_KEY") or name.startswith(("MATRIX_", "AGENT_", "JUDGE_", "CHAOS_")):
            monkeypatch.delenv(name)
    yield


@pytest.fixture(scope="session")
def kube_binary() -> Path:
    """The control-plane binary; built on first need (minutes on a cold host)."""
    from devops_bench.clusters import binary

    return binary.ensure()


def pytest_configure(config: pytest.Config) -> None:
    """Unmount what a killed session left: nobody else would, and sweeping old temporary folders stumbles over it."""
    if not hasattr(config, "workerinput"):
        sweep(Path(tempfile.gettempdir()).resolve() / f"pytest-of-{getpass.getuser()}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name what did not run."""
    skipped = terminalreporter.stats.get("skipped", [])
    if not skipped:
        return
    verdict = "FAILED, because REQUIRE_ALL is set" if REQUIRE_ALL else "set REQUIRE_ALL=1 to make this an error"
    terminalreporter.section(f"not run: {len(skipped)} ({verdict})")
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        terminalreporter.write_line(f"{report.nodeid}: {reason}")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """With REQUIRE_ALL a skipped test fails the session."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if REQUIRE_ALL and exitstatus == 0 and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED

"""`devops-bench smoke` with real agents: what it prints, its exit codes, and that nothing is left of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.agents_world import CLIS, GRANTS, ensure_installed

pytestmark = pytest.mark.sandbox


def smoke(tmp_path: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from devops_bench.cli import main; main()", "smoke", *args],
        capture_output=True,
        text=True,
        timeout=900,
        env={**os.environ, "TMPDIR": str(tmp_path), **env},
    )


def test_good_configurations_of_every_cli_leave_nothing_behind(tmp_path: Path) -> None:
    ensure_installed(*CLIS)
    configs = ["oc", "gcli", "cc", "opencode", "codex", "codex+skills"]
    done = smoke(tmp_path, *configs, "--json", "--timeout-sec", "600")
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["verdict"] == "good"
    rows = {row["config"]: row for row in report["rows"]}
    assert sorted(rows) == sorted(configs)
    for row in rows.values():
        assert row["verdict"] == "good"
        assert row["agreement"] == "agrees"
        assert row["version"] and row["calls"] >= 1 and row["mcp_calls"] == 0
    assert rows["codex+skills"]["skills"] == ["smoke-check"]
    assert report["work"] == ""
    assert not list(tmp_path.glob("devops-bench-smoke-*"))
    state = Path(os.environ["BENCH_RUN_STATE_ROOT"])
    assert not state.exists() or not [path for path in state.iterdir() if path.name.startswith("smoke")]


@pytest.mark.kwok
def test_an_mcp_configuration_is_tried_on_a_cluster_of_its_own(tmp_path: Path, kube_binary: Path) -> None:
    ensure_installed("codex", "kubernetes-mcp-server")
    done = smoke(tmp_path, "codex+mcp+skills", "--timeout-sec", "600", DEVOPS_BENCH_KUBE=str(kube_binary))
    assert done.returncode == 0, done.stdout + done.stderr
    table = done.stdout.splitlines()
    assert table[0].split() == ["config", "version", "seconds", "calls", "mcp", "verdict"]
    assert "good: 3 calls, 1 of them reached the MCP server" in table[1]
    assert table[2] == "1 of 1 configurations are what their labels say"


@pytest.mark.soak
@pytest.mark.kwok
def test_every_agent_with_every_set_of_grants(tmp_path: Path, kube_binary: Path) -> None:
    ensure_installed(*CLIS, "kubernetes-mcp-server")
    configs = [f"{agent}{grants}" for agent in ("oc", "gcli", "cc", "codex", "opencode", "api") for grants in GRANTS]
    done = smoke(tmp_path, *configs, "--timeout-sec", "600", DEVOPS_BENCH_KUBE=str(kube_binary))
    assert done.returncode == 0, done.stdout + done.stderr
    _head, *rows, last = done.stdout.splitlines()
    assert last == "24 of 24 configurations are what their labels say"
    assert {row.split()[0] for row in rows} == set(configs)


def test_a_configuration_that_is_not_what_it_says_keeps_its_records(tmp_path: Path) -> None:
    ensure_installed("codex")
    done = smoke(tmp_path, "codex", "--timeout-sec", "600", AGENT_EXTRA_FLAGS="-c skills.bundled.enabled=true")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "invalid: setup in agent: the model is shown skills that nobody granted: " in done.stdout
    (work,) = tmp_path.glob("devops-bench-smoke-*")
    assert f"logs and records: {work}" in done.stdout
    assert list(work.glob("run_*/model.jsonl"))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("gclii",), "error: unknown agent 'gclii'; did you mean gcli?"),
        (("noop",), "error: noop ask no model; name a configuration of another agent"),
        (("codex", "--real"), "error: --real needs one model; name it by --model or AGENT_MODEL"),
        (("codex", "--model", "m"), "error: --model is for --real; add --real, or leave --model out"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, args: tuple[str, ...], said: str) -> None:
    ensure_installed("codex")
    done = smoke(tmp_path, *args)
    assert (done.returncode, done.stderr.strip()) == (2, said)
    assert not list(tmp_path.iterdir())

"""Fixtures and makers shared by tests that run something in a sandbox; where the host cannot sandbox, they skip."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from devops_bench.agents.base import AgentTask, Grants, Limits, ModelEndpoint
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.grants import grant_agent
from devops_bench.clusters.kwok import Kwok
from devops_bench.sandbox import Sandbox, SandboxMode, SandboxSpec, detect
from devops_bench.tasks.spec import ClusterNeeds

MakeBox = Callable[..., Sandbox]


@pytest.fixture(scope="session")
def mode() -> SandboxMode:
    found = detect({"PATH": os.environ["PATH"]})
    if not found.sandboxed:
        pytest.skip(found.warning)
    return found


@pytest.fixture(scope="session")
def bare_mode() -> SandboxMode:
    return detect({"BENCH_AGENT_SANDBOX": "off"})


@pytest.fixture
def make_box(tmp_path: Path) -> Iterator[MakeBox]:
    """make_box(mode, **spec fields): a sandbox whose folders are below tmp_path/attempt."""
    with ExitStack() as stack:

        def make(which: SandboxMode, **fields: Any) -> Sandbox:
            root = tmp_path / "attempt"
            spec = SandboxSpec(home=root / "home", workspace=root / "workspace", **fields)
            return stack.enter_context(Sandbox(which, spec))

        yield make


@pytest.fixture
def box(mode: SandboxMode, make_box: MakeBox) -> Sandbox:
    return make_box(mode)


@pytest.fixture(params=["sandboxed", "bare"])
def any_box(request: pytest.FixtureRequest, make_box: MakeBox) -> Sandbox:
    """Both kinds: what callers rely on must hold with and without isolation."""
    return make_box(request.getfixturevalue("mode" if request.param == "sandboxed" else "bare_mode"))


@pytest.fixture
def cluster(kube_binary: Path, tmp_path: Path) -> Iterator[Cluster]:
    """An embedded cluster below tmp_path/state that has granted the agent its rights."""
    root = tmp_path / "state"
    root.mkdir(mode=0o700)
    provider = Kwok(kube_binary, {"BENCH_RUN_STATE_ROOT": str(root), "HOME": str(tmp_path)})
    made = provider.create("c0000001-boxes", ClusterNeeds(), root / "rid")
    try:
        grant_agent(made, ClusterNeeds())
        yield made
    finally:
        provider.destroy(made)


def task_for(
    box: Sandbox,
    *,
    endpoint: ModelEndpoint | None = None,
    script: Path | None = None,
    timeout: float = 60,
    turns: int = 20,
    grants: Grants | None = None,
    **more: Any,
) -> AgentTask:
    """An AgentTask over a sandbox."""
    return AgentTask(
        prompt="Make the service answer again.",
        workspace=box.spec.workspace,
        home=box.spec.home,
        sandbox=box,
        endpoint=endpoint,
        grants=grants or Grants(),
        limits=Limits(timeout_sec=timeout, max_turns=turns, output_bytes=1 << 20),
        env={},
        script=script,
        **more,
    )

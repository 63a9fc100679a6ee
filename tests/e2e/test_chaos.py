"""SIGKILL and SIGSTOP at random moments on supervisor, fork server, combos, agents, MCP servers and control planes:
nothing is lost, doubled or left behind, and the summary is right.

The seed is in the test's name; a failure prints the whole plan. `make test` plays one seed with a few acts, `make soak`
240 acts over twenty seeds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from .chaos import Act, Chaos, matrix, plan
from .world import World

pytestmark = [pytest.mark.kwok, pytest.mark.sandbox]


@pytest.fixture(autouse=True)
def _binary(kube_binary: Path, world: World) -> None:
    world.env["DEVOPS_BENCH_KUBE"] = str(kube_binary)


@pytest.mark.parametrize("seed", [1])
def test_a_few_signals(world: World, seed: int) -> None:
    under_fire(world, seed, plan(seed, 5), clusters=1, plain=2)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100, 120))
def test_signals_at_random_moments(world: World, seed: int) -> None:
    under_fire(world, seed, plan(seed, 12), clusters=2, plain=5)


def under_fire(world: World, seed: int, acts: list[Act], clusters: int, plain: int) -> None:
    """Play all acts, over as many runs as it takes."""
    flags, combos = matrix(world, seed, clusters, plain)
    count = len(acts)
    hit: list[str] = []
    while acts:
        chaos = Chaos(world, world.launch(*flags), seed, acts, combos)
        acts = chaos.play()
        chaos.verify()
        hit += chaos.hit
        assert chaos.hit, f"a run in which nothing could be hit: {chaos.context}"
    assert len(hit) == count
    print(f"seed {seed}: {', '.join(hit)}")

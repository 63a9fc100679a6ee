"""Clusters for combos: each gets one of its own and it is taken away again.

`get` gives the provider that a task names. Everything heavy is imported inside.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from devops_bench.errors import ConfigError

if TYPE_CHECKING:
    from devops_bench.clusters.base import Provider
    from devops_bench.clusters.build import Progress

AVAILABLE = ("none", "kwok", "existing")
PLANNED = ("kind", "gke")


def get(name: str, env: Mapping[str, str] = os.environ, progress: Progress | None = None) -> Provider:
    """The provider called `name`; for `kwok` the control plane is built first if need be (`progress` is told).

    Raises ConfigError for an unknown or unavailable one, and when it is not configured.
    """
    if name == "none":
        from devops_bench.clusters.none import NoCluster

        return NoCluster()
    if name == "kwok":
        from devops_bench.clusters import binary
        from devops_bench.clusters.kwok import Kwok

        return Kwok(binary.ensure(progress, env), env)
    if name == "existing":
        from devops_bench.clusters.existing import Existing

        return Existing(env)
    if name in PLANNED:
        raise ConfigError(
            f"cluster provider {name!r} is not available in this version", fix=f"use one of {', '.join(AVAILABLE)}"
        )
    raise ConfigError(f"no cluster provider {name!r}", fix=f"use one of {', '.join(AVAILABLE)}")

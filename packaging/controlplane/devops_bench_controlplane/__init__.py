"""The control-plane binary of devops-bench, as data of a package."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["SOURCE_KEY", "VERSIONS", "path"]

_HERE = Path(__file__).parent
_BUILD = json.loads((_HERE / "build.json").read_text())

SOURCE_KEY: str = _BUILD["source_key"]
"""Hash of the Go sources that the binary was built from, as `devops_bench.clusters.binary.source_key` computes it."""

VERSIONS: dict[str, str] = _BUILD["versions"]
"""What runs inside: kubernetes, etcd, kwok, go."""


def path() -> Path:
    """The executable."""
    return _HERE / "kube"

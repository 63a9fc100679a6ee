"""The versions that the control plane's go.mod pins: the one place where they stand."""

from __future__ import annotations

import re
from pathlib import Path

MODULES = {"kubernetes": "k8s.io/kubernetes", "etcd": "go.etcd.io/etcd/server/v3", "kwok": "sigs.k8s.io/kwok"}


def pinned(sources: Path | None) -> dict[str, str]:
    """Component -> version (`v1.36.1`) in the go.mod of `sources`, and `go`, the least Go version. Empty without."""
    if sources is None:
        return {}
    text = (sources / "go.mod").read_text()
    found = {}
    for name, module in MODULES.items():
        if match := re.search(rf"^\s*(?:require\s+)?{re.escape(module)} (v\S+)", text, re.MULTILINE):
            found[name] = match[1]
    if match := re.search(r"^go (\S+)", text, re.MULTILINE):
        found["go"] = f">={match[1]}"
    return found

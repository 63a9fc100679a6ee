"""Checks that a provider cannot serve are named before anything is launched."""

from __future__ import annotations

from typing import Any

import pytest

from devops_bench.tasks.checks import CHECK_TYPES
from devops_bench.verification import unsupported

from .builders import entry

FIELDS: dict[str, dict[str, Any]] = {
    "resource_property": {"kind": "Pod"},
    "pod_healthy": {"selector": "a=b"},
    "scaling_complete": {"deployment": "x"},
    "identity_preserved": {"kind": "Pod", "resource_name": "x"},
    "git_repo_sync": {"repo_path": "x"},
    "http_probe": {"url": "http://x"},
    "pod_exec": {"command": ["x"]},
    "cloud_resource_property": {"args": ["x"]},
    "audit": {},
    "file": {"file": "x"},
    "command": {"command": ["x"]},
    "dry_run": {"manifest": "{}"},
    "reachable": {"source": {"namespace": "x"}, "target": {"namespace": "x"}, "port": 80},
    "access": {"user": "x", "can": []},
    "script": {"file": "x"},
    "answer": {"value": "x"},
}
SERVED = {
    "none": {"git_repo_sync", "file", "command", "answer"},
    "kwok": {
        "git_repo_sync",
        "file",
        "command",
        "resource_property",
        "pod_healthy",
        "scaling_complete",
        "identity_preserved",
        "dry_run",
        "reachable",
        "access",
        "script",
        "answer",
        "audit",
    },
}


def test_the_table_knows_every_check_type() -> None:
    assert set(FIELDS) | {"sequence", "parallel", "all", "any", "none"} == set(CHECK_TYPES)


@pytest.mark.parametrize("provider", sorted(SERVED))
@pytest.mark.parametrize("kind", sorted(FIELDS))
def test_a_check_is_refused_exactly_where_it_cannot_be_served(provider: str, kind: str) -> None:
    lines = unsupported([entry("e", kind, **FIELDS[kind])], provider)
    assert (lines == []) is (kind in SERVED[provider])
    for line in lines:
        assert line.startswith(f"e: check {kind} ")
        assert provider in line


def test_a_check_deep_in_groups_is_found_once_and_an_unknown_provider_serves_nothing() -> None:
    probe = {"type": "http_probe", "url": "http://x"}
    deep = entry("deep", "all", checks=[{"type": "any", "checks": [probe, probe]}, {"type": "file", "file": "x"}])
    assert len(unsupported([deep], "kwok")) == 1
    assert len(unsupported([deep], "moon")) == 2

"""Agents: adapters as a family of small modules, the sandbox they run in, and the shapes their work is recorded in.

`get(key)` gives an adapter; `base` holds the interface; `sandbox` the place; `trajectory` the record.
"""

from __future__ import annotations

from devops_bench.agents.registry import canonical, get, keys

__all__ = ["canonical", "get", "keys"]

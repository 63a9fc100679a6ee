"""Finds and installs agent CLIs: AGENT_TARGET first, then the pinned npm install in the cache, then PATH."""

from devops_bench.agents.install.types import Installation

__all__ = ["Installation"]

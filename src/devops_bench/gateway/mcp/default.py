"""Which MCP server `+mcp` means where the user names none: by the cluster's provider."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from devops_bench.agents import install
from devops_bench.gateway.mcp.program import KUBECONFIG

KUBERNETES = "kubernetes-mcp-server"
GKE = "gke-mcp"
# Toolset `core` alone: `config` has a tool that prints the kubeconfig, private key included. One cluster, so no tool
# gets an argument to choose another.
FLAGS = (
    "--kubeconfig",
    KUBECONFIG,
    "--cluster-provider",
    "kubeconfig",
    "--toolsets",
    "core",
    "--disable-multi-cluster",
)


def default_server(provider: str, env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The command of the default server, as `McpGateway` takes it; None when there is none or it is not installed.

    kwok, kind, existing: kubernetes-mcp-server, the pinned installation before PATH. gke: gke-mcp from PATH. none: no
    cluster, so no default.
    """
    if provider == "gke":
        found = shutil.which(GKE, path=env.get("PATH"))
        return (found,) if found else None
    if provider not in {"kwok", "kind", "existing"}:
        return None
    installation = install.find(KUBERNETES, env)
    return (*installation.host_argv, *FLAGS) if installation is not None else None

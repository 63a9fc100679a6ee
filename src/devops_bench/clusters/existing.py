"""Provider `existing`: the user's own cluster, one namespace per combo.

The kubeconfig and the context are named explicitly (BENCH_EXISTING_KUBECONFIG, BENCH_EXISTING_CONTEXT): the ambient
KUBECONFIG and the current context are never used, so that no evaluation ever runs where somebody happened to be logged
in. The agent gets the token of a ServiceAccount that can do nothing outside its namespace. A namespace is removed only
when it carries our labels and the UID that we noted when we made it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from devops_bench.clusters import binary, kubeconfig, leases, namespaces, rbac
from devops_bench.clusters.base import Cluster
from devops_bench.clusters.grants import apply, wait_effective
from devops_bench.errors import ConfigError, RefusedError, TaskError
from devops_bench.kube import KubeClient, KubeConflict, KubeForbidden, KubeNotFound
from devops_bench.paths import private_dir, state_root
from devops_bench.tasks.spec import ClusterNeeds

KUBECONFIG = "BENCH_EXISTING_KUBECONFIG"
CONTEXT = "BENCH_EXISTING_CONTEXT"
ADMIN_FILE = "admin.kubeconfig"
AGENT_FILE = "agent/config"
MCP_FILE = "mcp/config"
ACCOUNTS = ("oncall", "oncall-tools")
TOKEN_SECONDS = 24 * 3600  # more than any combo takes; a cluster may shorten it


class Existing:
    """The provider. Raises ConfigError at once when the cluster is not named explicitly."""

    name = "existing"

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        missing = [variable for variable in (KUBECONFIG, CONTEXT) if not env.get(variable)]
        if missing:
            raise ConfigError(
                f"provider `existing` needs {' and '.join(missing)}; the ambient kubeconfig is never used",
                fix=f"set {KUBECONFIG} to a file and {CONTEXT} to one of its contexts",
            )
        self.path = Path(env[KUBECONFIG]).expanduser()
        self.context = env[CONTEXT]
        self.kubectl = binary.kubectl(env)
        self.root = state_root(env)

    def create(self, name: str, needs: ClusterNeeds, state_dir: Path) -> Cluster:
        """Make the namespace `name`, an account confined to it, and its kubeconfigs.

        Raises RefusedError when the namespace exists, ConfigError for missing rights, TaskError for needs that a
        namespace cannot give.
        """
        rules = _confined(rbac.parse(needs.agent_role), needs, name)
        admin = kubeconfig.extract(self.path, self.context)
        private_dir(state_dir)
        kubeconfig.write(state_dir / ADMIN_FILE, admin)
        place: dict[str, Any] = admin["clusters"][0]["cluster"]
        with self._client(state_dir) as kube:
            try:
                self._make_namespace(kube, name)
                self._grant(kube, name, rules)
                for account, file in zip(ACCOUNTS, (AGENT_FILE, MCP_FILE), strict=True):
                    token = self._token(kube, name, account)
                    kubeconfig.write(state_dir / file, kubeconfig.for_token(place, token, name))
            except KubeForbidden as error:
                self._remove(name, state_dir)
                raise ConfigError(
                    f"the user of context {self.context!r} may not do what is needed: {error.what}",
                    where=self.path,
                    fix="use one that may create namespaces, service accounts with tokens, roles and bindings",
                ) from None
            except BaseException:
                self._remove(name, state_dir)
                raise
        return Cluster(
            name=name,
            provider=self.name,
            server=str(place.get("server")),
            admin_kubeconfig=state_dir / ADMIN_FILE,
            agent_kubeconfig=state_dir / AGENT_FILE,
            mcp_kubeconfig=state_dir / MCP_FILE,
            directory=state_dir,
            kubectl=self.kubectl,
            facts={"CLUSTER_NAME": name, "NAMESPACE": name},
            kubelets=True,
        )

    def destroy(self, cluster: Cluster) -> None:
        """Remove the namespace (waits until it is gone) and the kubeconfigs; idempotent."""
        if cluster.directory is not None:
            self._remove(cluster.name, cluster.directory)

    def residue(self, name: str, state_dir: Path) -> list[str]:
        """The namespace, if it exists, and kubeconfigs that are left."""
        left = [
            f"file {state_dir / file}" for file in (ADMIN_FILE, AGENT_FILE, MCP_FILE) if (state_dir / file).exists()
        ]
        with self._direct() as kube:
            try:
                phase = kube.get("Namespace", name).get("status", {}).get("phase", "")
                left.append(f"namespace {name} ({phase}) in context {self.context}")
            except KubeNotFound:
                pass
        return left

    # Steps

    def _client(self, state_dir: Path) -> KubeClient:
        return KubeClient.from_kubeconfig(state_dir / ADMIN_FILE, self.kubectl)

    def _direct(self) -> KubeClient:
        return KubeClient.from_kubeconfig(self.path, self.kubectl, context=self.context)

    def _make_namespace(self, kube: KubeClient, name: str) -> None:
        manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": rbac.LABELS}}
        try:
            namespaces.remove(self.root, name)  # of an attempt that was killed
            made = kube.create(manifest)
        except KubeConflict:
            raise RefusedError(
                f"namespace {name} already exists in context {self.context}",
                fix=f"see what it is, then run: kubectl --context {self.context} delete namespace {name}",
            ) from None
        uid = str(made["metadata"]["uid"])
        namespaces.Note(name, uid, self.path.absolute(), self.context, leases.myself(), self.kubectl).write(self.root)

    def _grant(self, kube: KubeClient, name: str, rules: list[rbac.AgentRule]) -> None:
        subjects = [{"kind": "ServiceAccount", "name": account, "namespace": name} for account in ACCOUNTS]
        for account in ACCOUNTS:
            metadata = {"name": account, "namespace": name, "labels": dict(rbac.LABELS)}
            kube.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        wanted = rbac.grant(rules, (), [name], subjects)
        for item in wanted.objects:
            apply(kube, item)
        user = f"system:serviceaccount:{name}:{ACCOUNTS[0]}"
        wait_effective(kube, user, wanted.reviews, ("system:serviceaccounts", f"system:serviceaccounts:{name}"))

    def _token(self, kube: KubeClient, name: str, account: str) -> str:
        path = f"/api/v1/namespaces/{quote(name)}/serviceaccounts/{account}/token"
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": {"expirationSeconds": TOKEN_SECONDS},
        }
        reply = kube.post(path, body)
        return str(reply["status"]["token"])

    def _remove(self, name: str, state_dir: Path) -> None:
        namespaces.remove(self.root, name)
        for file in (AGENT_FILE, MCP_FILE, ADMIN_FILE):
            (state_dir / file).unlink(missing_ok=True)


def _confined(rules: list[rbac.AgentRule], needs: ClusterNeeds, name: str) -> list[rbac.AgentRule]:
    """The rules with every grant inside the namespace `name`. Raises TaskError for needs that go beyond it."""
    if needs.need_own_plane:
        raise TaskError("the task needs nodes or stages of its own; provider `existing` cannot give them")
    if any(rule.namespaces or rule.nonResourceURLs for rule in rules):
        raise TaskError("agent_role names namespaces; provider `existing` confines the agent to one of its own")
    narrowed: dict[str | None, str | None] = {None: None, "default": "edit", "read": "view"}
    return [
        rule.model_copy(update={"namespaces": [name], "preset": narrowed.get(rule.preset, rule.preset)})
        for rule in rules
    ]

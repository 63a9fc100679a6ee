"""The client: kinds by any name, lists with paging, watches, server-side dry runs, the few writes the harness needs.

Called from many threads at once by verification; each call has its own deadline and borrows a connection of its own.
Raises the classes of `kube.errors` only. Names and namespaces are quoted, so no value can change the path of a request.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

from devops_bench.errors import ConfigError
from devops_bench.kube import discovery
from devops_bench.kube.deadline import Deadline
from devops_bench.kube.discovery import Kinds, Resource
from devops_bench.kube.errors import KubeError, KubeGone, KubeNotFound, KubeUnavailable, KubeUnknownKind, from_status
from devops_bench.kube.kubeconfig import Credentials
from devops_bench.kube.proxy import KubectlProxy
from devops_bench.kube.session import JSON, METADATA, Session, StreamHandle
from devops_bench.kube.transport import Origin

CALL_TIMEOUT = 10.0  # seconds; ten times a slow list on a busy two-core host
PAGE = 500  # objects per page, as kubectl
FIELD_MANAGER = "kubectl"  # shows in managedFields: an agent must not read there what made its cluster


@dataclass(frozen=True, slots=True)
class KubeList:
    """Objects of one kind and the store's revision at which they were all true."""

    items: list[dict[str, Any]]
    resource_version: str


class KubeClient:
    """A connection to one API server under one identity. Thread-safe; close it, or use it as a context manager."""

    def __init__(self, origin: Origin, token: str | None = None, timeout: float = CALL_TIMEOUT) -> None:
        self._http = Session(origin, token)
        self.timeout = timeout
        self._kinds: Kinds | None = None
        self._kinds_lock = threading.Lock()
        self._proxy: KubectlProxy | None = None

    @classmethod
    def from_kubeconfig(
        cls, path: Path, kubectl: tuple[str, ...] = (), *, context: str | None = None, timeout: float = CALL_TIMEOUT
    ) -> Self:
        """Connect as the kubeconfig says. Nothing is sent yet.

        A user with an exec or auth-provider plugin is served through `kubectl proxy` on a private unix socket, for
        which `kubectl` (an argv prefix) is needed; without it ConfigError says so.
        """
        credentials = Credentials.load(path, context)
        if credentials.needs_kubectl:
            if not kubectl:
                raise ConfigError(
                    f"this user logs in by a plugin ({credentials.needs_kubectl})",
                    where=path,
                    fix="install kubectl, or use a client certificate or token",
                )
            proxy = KubectlProxy.start(kubectl, path, context)
            client = cls(Origin("http://localhost", None, unix=proxy.socket), None, timeout)
            client._proxy = proxy
            return client
        origin = Origin(credentials.server, credentials.tls(), credentials.tls_server_name)
        return cls(origin, credentials.token, timeout)

    def close(self) -> None:
        """Drop all connections (and the kubectl proxy, if there is one)."""
        self._http.close()
        if self._proxy is not None:
            self._proxy.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Kinds

    def kinds(self, *, fresh: bool = False, deadline: Deadline | None = None) -> Kinds:
        """Everything that is served; cached until `fresh`."""
        with self._kinds_lock:
            if self._kinds is None or fresh:
                self._kinds = self._discover(deadline or Deadline.after(self.timeout))
            return self._kinds

    def resource(self, kind: str, *, deadline: Deadline | None = None) -> Resource:
        """The resource for `kind` by any of its names; asks again once, since CRDs come and go.

        Raises KubeUnknownKind when the API server surely does not serve it, KubeUnavailable when part of its groups
        could not be asked.
        """
        known = self._kinds
        if known is not None and (found := known.find(kind)):
            return found
        kinds = self.kinds(fresh=True, deadline=deadline)
        if found := kinds.find(kind):
            return found
        if kinds.stale:
            raise KubeUnavailable(
                f"kind {kind!r} not found, but these groups could not be asked: {', '.join(kinds.stale)}"
            )
        raise KubeUnknownKind(f"the API server serves no kind {kind!r}", status=404)

    def _discover(self, deadline: Deadline) -> Kinds:
        resources: list[Resource] = []
        stale: list[str] = []
        for root in ("/api", "/apis"):
            reply = self._http.json("GET", root, deadline, accept=discovery.AGGREGATED)
            if reply.get("kind") == "APIGroupDiscoveryList":
                found, dead = discovery.from_aggregated(reply)
                resources += found
                stale += dead
                continue
            versions = [f"/api/{version}" for version in reply.get("versions") or []]
            versions += [f"/apis/{group['preferredVersion']['groupVersion']}" for group in reply.get("groups") or []]
            for path in versions:
                try:
                    resources += discovery.from_resource_list(self._http.json("GET", path, deadline))
                except KubeError:
                    stale.append(path)
        return Kinds.of(resources, stale)

    # Reads

    def list(
        self, kind: str, namespace: str | None = None, selector: str | None = None, *, deadline: Deadline | None = None
    ) -> list[dict[str, Any]]:
        """All objects of `kind`, in one namespace or (None) everywhere; each with its apiVersion and kind."""
        return self.list_with_version(kind, namespace, selector, deadline=deadline).items

    def list_with_version(
        self,
        kind: str,
        namespace: str | None = None,
        selector: str | None = None,
        *,
        metadata_only: bool = False,
        limit: int | None = None,
        deadline: Deadline | None = None,
    ) -> KubeList:
        """As `list`, with the store's revision. `limit` stops after so many objects."""
        deadline = deadline or Deadline.after(self.timeout)
        resource = self.resource(kind, deadline=deadline)
        path = resource.path(quote(namespace, safe="") if namespace else None)
        accept = METADATA.replace("PartialObjectMetadata", "PartialObjectMetadataList") if metadata_only else JSON
        for attempt in (1, 2):
            try:
                return self._pages(resource, path, selector, accept, limit, deadline)
            except KubeGone:
                # The pages outlived the server's history; once more from the start, within the same deadline.
                if attempt == 2:
                    raise
        raise AssertionError("unreachable")

    def _pages(
        self, resource: Resource, path: str, selector: str | None, accept: str, limit: int | None, deadline: Deadline
    ) -> KubeList:
        items: list[dict[str, Any]] = []
        query = {"limit": str(min(limit or PAGE, PAGE))}
        if selector:
            query["labelSelector"] = selector
        while True:
            reply = self._http.json("GET", f"{path}?{urlencode(query)}", deadline, accept=accept)
            metadata = reply.get("metadata") or {}
            for item in reply.get("items") or []:
                item["apiVersion"], item["kind"] = resource.api_version, resource.kind
                items.append(item)
            if not metadata.get("continue") or (limit is not None and len(items) >= limit):
                return KubeList(items, str(metadata.get("resourceVersion") or ""))
            query["continue"] = metadata["continue"]

    def get(
        self, kind: str, name: str, namespace: str | None = None, *, deadline: Deadline | None = None
    ) -> dict[str, Any]:
        """One object. Raises KubeNotFound."""
        deadline = deadline or Deadline.after(self.timeout)
        return self._http.json("GET", self._object_path(kind, name, namespace, deadline), deadline)

    def raw(self, path: str, *, deadline: Deadline | None = None) -> bytes:
        """The body of a GET of an absolute URL path (with query), as it came."""
        return self._http.request("GET", path, deadline or Deadline.after(self.timeout), accept="*/*")

    def watch(
        self,
        kind: str,
        namespace: str | None = None,
        selector: str | None = None,
        *,
        resource_version: str = "",
        metadata_only: bool = False,
        deadline: Deadline,
        opened: StreamHandle | None = None,
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Changes as (`ADDED`|`MODIFIED`|`DELETED`|`BOOKMARK`, object) until the deadline or the server ends it.

        `opened.close()` from another thread ends it early. Raises KubeGone when `resource_version` is too old.
        """
        resource = self.resource(kind, deadline=deadline)
        query = {"watch": "1", "allowWatchBookmarks": "true", "timeoutSeconds": str(int(deadline.remaining()) + 1)}
        if resource_version:
            query["resourceVersion"] = resource_version
        if selector:
            query["labelSelector"] = selector
        path = f"{resource.path(quote(namespace, safe='') if namespace else None)}?{urlencode(query)}"
        accept = METADATA if metadata_only else JSON
        for event in self._http.lines(path, deadline, accept, opened or StreamHandle()):
            kind_of, body = event.get("type"), event.get("object")
            if not isinstance(kind_of, str) or not isinstance(body, dict):
                raise KubeUnavailable(f"WATCH {path}: an event is not understood")
            if kind_of == "ERROR":
                raise from_status(f"WATCH {path}", int(body.get("code") or 500), body)
            yield kind_of, body

    # Writes

    def create(
        self,
        manifest: Mapping[str, Any],
        namespace: str | None = None,
        *,
        dry_run: bool = False,
        as_user: str | None = None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """Create an object. `dry_run` runs all of admission and stores nothing; `as_user` impersonates."""
        deadline = deadline or Deadline.after(self.timeout)
        resource, place = self._of_manifest(manifest, namespace, deadline)
        return self._http.json(
            "POST", f"{resource.path(place)}?{_write_query(dry_run)}", deadline, body=manifest, as_user=as_user
        )

    def apply(
        self,
        manifest: Mapping[str, Any],
        namespace: str | None = None,
        *,
        field_manager: str = FIELD_MANAGER,
        force: bool = True,
        dry_run: bool = False,
        as_user: str | None = None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """Server-side apply: creates the object or takes over the fields that the manifest names."""
        deadline = deadline or Deadline.after(self.timeout)
        resource, place = self._of_manifest(manifest, namespace, deadline)
        name = str((manifest.get("metadata") or {}).get("name") or "")
        if not name:
            raise ConfigError(f"a {resource.kind} without metadata.name cannot be applied", fix="name it")
        query = _write_query(dry_run, field_manager) + f"&force={str(force).lower()}"
        path = f"{resource.path(place, quote(name, safe=''))}?{query}"
        return self._http.json(
            "PATCH", path, deadline, body=manifest, content="application/apply-patch+yaml", as_user=as_user
        )

    def post(self, path: str, body: Mapping[str, Any], *, deadline: Deadline | None = None) -> dict[str, Any]:
        """POST to an absolute URL path: subresources such as a service account's `token`. The caller quotes names."""
        return self._http.json("POST", path, deadline or Deadline.after(self.timeout), body=body)

    def patch(
        self,
        kind: str,
        name: str,
        patch: Mapping[str, Any] | Sequence[Any],
        namespace: str | None = None,
        *,
        subresource: str | None = None,
        deadline: Deadline | None = None,
    ) -> dict[str, Any]:
        """A JSON merge patch (mapping) or a JSON patch (list of operations)."""
        deadline = deadline or Deadline.after(self.timeout)
        content = "application/merge-patch+json" if isinstance(patch, Mapping) else "application/json-patch+json"
        path = f"{self._object_path(kind, name, namespace, deadline, subresource)}?{_write_query(False)}"
        return self._http.json("PATCH", path, deadline, body=patch, content=content)

    def delete(
        self,
        kind: str,
        name: str,
        namespace: str | None = None,
        *,
        grace_sec: int | None = None,
        missing_ok: bool = True,
        deadline: Deadline | None = None,
    ) -> None:
        """Delete in the background. `missing_ok` takes 404 for success."""
        deadline = deadline or Deadline.after(self.timeout)
        options: dict[str, Any] = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        if grace_sec is not None:
            options["gracePeriodSeconds"] = grace_sec
        try:
            self._http.json("DELETE", self._object_path(kind, name, namespace, deadline), deadline, body=options)
        except KubeNotFound:
            if not missing_ok:
                raise

    # One request

    def _object_path(
        self, kind: str, name: str, namespace: str | None, deadline: Deadline, subresource: str | None = None
    ) -> str:
        resource = self.resource(kind, deadline=deadline)
        place = quote(namespace or "default", safe="") if resource.namespaced else None
        return resource.path(place, quote(name, safe=""), subresource)

    def _of_manifest(
        self, manifest: Mapping[str, Any], namespace: str | None, deadline: Deadline
    ) -> tuple[Resource, str | None]:
        api_version, kind = str(manifest.get("apiVersion") or ""), str(manifest.get("kind") or "")
        if not api_version or not kind:
            raise ConfigError("a manifest without apiVersion or kind", fix="write both")
        resource = self.kinds(deadline=deadline).of_manifest(api_version, kind)
        if resource is None:
            resource = self.kinds(fresh=True, deadline=deadline).of_manifest(api_version, kind)
        if resource is None:
            raise KubeUnknownKind(f"the API server serves no {kind} in {api_version}", status=404)
        place = (manifest.get("metadata") or {}).get("namespace") or namespace or "default"
        return resource, quote(str(place), safe="") if resource.namespaced else None


def _write_query(dry_run: bool, field_manager: str = FIELD_MANAGER) -> str:
    return urlencode({"fieldManager": field_manager, **({"dryRun": "All"} if dry_run else {})})

"""`dry_run`: would the API server admit this object, or the next pod of a workload? Nothing is stored."""

from __future__ import annotations

from functools import partial
from typing import Any

from devops_bench.kube import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
)
from devops_bench.tasks.checks import DryRun
from devops_bench.verification import structured
from devops_bench.verification.checks.resources import select
from devops_bench.verification.ops import compiled
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed

# Not the manager that setup applies as: of an object of setup, a manifest with one field would drop all the others.
ASKS = "kubectl-edit"


def dry_run(check: DryRun, scope: Scope) -> Verdict:
    """Create or apply with dryRun=All, as the harness or as `as_user`.

    Denied is a refusal by admission, or by RBAC where `as_user` is asked about. A namespace or kind that is not there
    is neither admitted nor denied by a rule: it fails either way. AlreadyExists comes after admission, so it is
    admitted.
    """
    kube = scope.api()
    pattern = compiled(check.message_matches) if check.message_matches else None
    namespace = check.namespace or scope.context.namespace
    try:
        manifest = _manifest(check, namespace, scope)
    except structured.Unreadable as error:
        return errored(str(error))
    if manifest is None:
        assert check.template_of is not None
        return failed(f"no {check.template_of.kind} {check.template_of.resource_name} in {namespace}")
    deadline = scope.deadline.within(scope.context.limits.call)
    ask = kube.create if check.operation == "create" else partial(kube.apply, field_manager=ASKS)
    try:
        ask(manifest, namespace, dry_run=True, as_user=check.as_user, deadline=deadline)
        admitted, said = True, "admitted"
    except KubeConflict as error:
        if error.reason != "AlreadyExists":
            return errored(error.what)
        admitted, said = True, "admitted (it exists already)"
    except KubeDenied as error:
        admitted, said = False, error.text
    except KubeForbidden as error:
        if check.as_user is None or "impersonate" in error.text:
            return errored(error.what)
        admitted, said = False, error.text
    except KubeNotFound as error:
        return failed(f"cannot be asked: {error.what}")
    except (KubeInvalid, KubeUnavailable, KubeError) as error:
        return errored(error.what)
    if admitted != check.allowed:
        return failed(f"admitted, but must be denied: {said}" if admitted else f"denied: {said}")
    if pattern is not None and not pattern.search(said):
        return failed(f"{'admitted' if admitted else 'denied'}, but not with {check.message_matches!r}: {said}")
    return passed(said if admitted else f"denied: {said}")


def _manifest(check: DryRun, namespace: str, scope: Scope) -> dict[str, Any] | None:
    """The object to ask about; None when the workload is gone. Raises Unreadable."""
    if check.template_of is not None:
        kind, name = check.template_of.kind, check.template_of.resource_name
        found = select(scope.cluster().objects(kind, namespace, scope.deadline), name, None)
        return pod_of(found[0]) if found else None
    manifests = structured.parse(check.manifest or "", "manifest")
    if len(manifests) != 1 or not isinstance(manifests[0], dict):
        raise structured.Unreadable("manifest must be exactly one object")
    manifest: dict[str, Any] = manifests[0]
    return manifest


def pod_of(workload: dict[str, Any]) -> dict[str, Any]:
    """The pod that the workload's controller would make from its template now. Raises Unreadable without a template."""
    spec = workload.get("spec") or {}
    spec = ((spec.get("jobTemplate") or {}).get("spec") or {}) if "jobTemplate" in spec else spec
    template = spec.get("template")
    if not isinstance(template, dict):
        raise structured.Unreadable(f"{workload.get('kind')} has no pod template")
    metadata = {key: value for key, value in (template.get("metadata") or {}).items() if value}
    name = f"{workload['metadata']['name']}-"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "generateName": name},
        "spec": template.get("spec") or {},
    }

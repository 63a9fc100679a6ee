"""`dry_run`: would the API server admit this object? Nothing is stored."""

from __future__ import annotations

from devops_bench.kube import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeForbidden,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
)
from devops_bench.tasks.spec import DryRun
from devops_bench.verification import structured
from devops_bench.verification.ops import compiled
from devops_bench.verification.scope import CannotEvaluate, Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed


def dry_run(check: DryRun, scope: Scope) -> Verdict:
    """Create with dryRun=All, as the harness or as `as_user`.

    Denied is a refusal by admission, or by RBAC where `as_user` is asked about. A namespace or kind that is not there
    is neither admitted nor denied by a rule: it fails either way. AlreadyExists comes after admission, so it is
    admitted.
    """
    kube = scope.context.kube
    if kube is None:
        raise CannotEvaluate("this combo has no cluster to ask")
    try:
        manifests = structured.parse(check.manifest, "manifest")
    except structured.Unreadable as error:
        return errored(str(error))
    if len(manifests) != 1 or not isinstance(manifests[0], dict):
        return errored("manifest must be exactly one object")
    pattern = compiled(check.message_matches) if check.message_matches else None
    namespace = check.namespace or scope.context.namespace
    deadline = scope.deadline.within(scope.context.limits.call)
    try:
        kube.create(manifests[0], namespace, dry_run=True, as_user=check.as_user, deadline=deadline)
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

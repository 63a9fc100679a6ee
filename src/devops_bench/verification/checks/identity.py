"""`identity_preserved`: the object is the one that setup made, not a copy made anew."""

from __future__ import annotations

from devops_bench.kube import KubeUnknownKind
from devops_bench.tasks.checks import IdentityPreserved
from devops_bench.verification.checks.resources import select
from devops_bench.verification.scope import Scope
from devops_bench.verification.verdict import Verdict, errored, failed, passed


def identity_preserved(check: IdentityPreserved, scope: Scope) -> Verdict:
    """UID and creation time equal those recorded after setup.

    The baseline decides. Without a baseline the annotations that setup wrote are used; an agent can edit those, so they
    never overrule a baseline. An object that the baseline does not hold, or that has neither, is an error.
    """
    namespace = check.namespace or scope.context.namespace
    what = f"{check.kind} {check.resource_name}"
    baseline = scope.context.baseline
    original = None
    if baseline is not None:
        original = baseline.identity(check.kind, namespace, check.resource_name)
        if original is None:
            return errored(f"{what} was not there after setup: nothing to compare with")
    try:
        found = select(scope.cluster().objects(check.kind, namespace, scope.deadline), check.resource_name, None)
    except KubeUnknownKind as gone:
        return failed(gone.what)
    if not found:
        return failed(f"{what} is gone")
    metadata = found[0]["metadata"]
    uid, created = metadata.get("uid"), metadata.get("creationTimestamp")
    if original is None:
        annotations = metadata.get("annotations") or {}
        said_uid = annotations.get(check.uid_annotation_key)
        said_created = annotations.get(check.creation_timestamp_annotation_key)
        if said_uid is None and said_created is None:
            return errored(f"{what}: no baseline and no annotation to compare with")
        same = said_uid in {None, uid} and said_created in {None, created}
    else:
        same = (uid, created) == (original.uid, original.created)
    if same:
        return passed(f"{what} is the original ({uid})")
    return failed(f"{what} was made anew at {created} (uid {uid})")

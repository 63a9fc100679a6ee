"""A small synchronous Kubernetes client for the harness: reads, watches, dry runs and the few writes that setup needs.

Used by verification, clusters, tasks (setup) and the combo. Invariants: it never touches an ambient kubeconfig, no call
outlives its deadline (a stopped API server included), and no credential is ever written to a file.
"""

from devops_bench.kube.client import KubeClient, KubeList
from devops_bench.kube.deadline import Deadline
from devops_bench.kube.discovery import Resource
from devops_bench.kube.errors import (
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeForbidden,
    KubeGone,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
    KubeUnknownKind,
)
from devops_bench.kube.kubeconfig import Credentials

__all__ = [
    "Credentials",
    "Deadline",
    "KubeClient",
    "KubeConflict",
    "KubeDenied",
    "KubeError",
    "KubeForbidden",
    "KubeGone",
    "KubeInvalid",
    "KubeList",
    "KubeNotFound",
    "KubeUnavailable",
    "KubeUnknownKind",
    "Resource",
]

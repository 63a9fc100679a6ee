"""Custom kinds that tests define in a cluster."""

from __future__ import annotations

from typing import Any


def custom_kind(kind: str, *, group: str = "example.com", scope: str = "Namespaced", **names: Any) -> dict[str, Any]:
    """A definition of `kind` with any fields, served as v1; `names` are further ones (shortNames)."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, **names},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }

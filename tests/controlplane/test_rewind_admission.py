"""A control plane that is taken back admits again what it admitted at the mark, at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.controlplane.planes import Plane, tell, until

pytestmark = pytest.mark.kwok

CONFIG_MAPS = {
    "resourceRules": [
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    ]
}
LIMITS = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": {"most": "3"}}
PARAMETER = {"name": "limits", "namespace": "default", "parameterNotFoundAction": "Allow"}


def admission(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, "spec": spec,
    }  # fmt: skip


SMALL = admission(
    "ValidatingAdmissionPolicy",
    "small",
    paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    matchConstraints=CONFIG_MAPS,
    validations=[
        {
            "expression": "!has(object.data) || size(object.data.word) <= int(params.data.most)",
            "messageExpression": "'at most ' + params.data.most",
        }
    ],
)
SMALL_BINDING = admission(
    "ValidatingAdmissionPolicyBinding", "small", policyName="small", paramRef=PARAMETER, validationActions=["Deny"]
)
SIGNED = admission(
    "MutatingAdmissionPolicy",
    "signed",
    matchConstraints=CONFIG_MAPS,
    reinvocationPolicy="Never",
    mutations=[
        {
            "patchType": "ApplyConfiguration",
            "applyConfiguration": {"expression": 'Object{metadata: Object.metadata{labels: {"signed": "yes"}}}'},
        }
    ],
)
SIGNED_BINDING = admission("MutatingAdmissionPolicyBinding", "signed", policyName="signed")


def attempt(plane: Plane, word: str) -> str:
    """What the API server makes of a ConfigMap: its label, or why it is refused."""
    template = "-o=jsonpath={.metadata.labels.signed}"
    return plane.kubectl(
        "create", "configmap", "try", f"--from-literal=word={word}", "--dry-run=server", template, check=False
    )


def test_policies_bindings_and_parameters_are_in_use_again_when_it_is_back(start: Callable[..., Plane]) -> None:
    plane = start("--stdin=commands")
    plane.apply(LIMITS, SMALL, SMALL_BINDING, SIGNED, SIGNED_BINDING)
    until(lambda: attempt(plane, "four"), lambda said: "at most 3" in said)
    until(lambda: attempt(plane, "one"), lambda said: said == "yes")
    assert tell(plane, "mark")["ok"]
    loose = [{"expression": "true"}]
    for spoil in (
        lambda: plane.kubectl("delete", "validatingadmissionpolicybinding/small", "mutatingadmissionpolicy/signed"),
        lambda: plane.apply({**SMALL, "spec": {**SMALL["spec"], "validations": loose}}),
        lambda: plane.kubectl("delete", "validatingadmissionpolicy/small", "mutatingadmissionpolicybinding/signed"),
    ):
        spoil()
        plane.apply({**LIMITS, "data": {"most": "9"}})
        until(lambda: attempt(plane, "four"), lambda said: "at most" not in said)
        assert tell(plane, "rewind")["ok"]
        assert "at most 3" in attempt(plane, "four")
        assert attempt(plane, "one") == "yes"
    names = "validatingadmissionpolicies,validatingadmissionpolicybindings,mutatingadmissionpolicies"
    found = plane.kubectl("get", f"{names},mutatingadmissionpolicybindings,configmaps,leases", "-A", "-o", "name")
    assert "probe" not in found


def test_parameters_are_followed_after_the_last_policy_with_any_was_gone(start: Callable[..., Plane]) -> None:
    plane = start()
    plane.apply(LIMITS, SMALL, SMALL_BINDING)
    until(lambda: attempt(plane, "four"), lambda said: "at most 3" in said)
    plane.kubectl("delete", "validatingadmissionpolicybinding", "small")
    until(lambda: attempt(plane, "four"), lambda said: "at most" not in said)
    plane.apply({**LIMITS, "data": {"most": "2"}}, SMALL_BINDING)
    until(lambda: attempt(plane, "four"), lambda said: "at most 2" in said)

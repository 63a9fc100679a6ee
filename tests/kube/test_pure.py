"""Selectors, discovery, kubeconfigs and the sorting of errors."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.kube import (
    Credentials,
    KubeClient,
    KubeConflict,
    KubeDenied,
    KubeError,
    KubeForbidden,
    KubeGone,
    KubeInvalid,
    KubeNotFound,
    KubeUnavailable,
    Resource,
)
from devops_bench.kube.discovery import Kinds, from_aggregated, from_resource_list
from devops_bench.kube.errors import from_status
from devops_bench.kube.selectors import parse

LABELS = {"app": "web", "tier": "front", "example.com/x": "1"}


@pytest.mark.parametrize(
    ("selector", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app = web , tier=front", True),
        ("app!=web", False),
        ("gone!=x", True),
        ("app in (api, web)", True),
        ("app in (api)", False),
        ("app notin (api),tier", True),
        ("gone notin (x)", True),
        ("gone in (x)", False),
        ("app", True),
        ("!app", False),
        ("!gone", True),
        ("example.com/x=1", True),
        ("app=", False),
    ],
)
def test_a_selector_means_what_kubernetes_means(selector: str, matches: bool) -> None:
    assert parse(selector)(LABELS) is matches


@pytest.mark.parametrize("selector", ["a b", "a=b=c", "in (x)", "a in x", ",", "a=b,,c", "=x", "a in (x", "a>1"])
def test_a_malformed_selector_is_named(selector: str) -> None:
    with pytest.raises(ValueError, match="not understood"):
        parse(selector)


@given(st.text(max_size=30))
def test_no_text_breaks_the_selector_parser(text: str) -> None:
    try:
        parse(text)(LABELS)
    except ValueError as error:
        assert "not understood" in str(error)


def resource(group: str, kind: str, plural: str, *short: str, version: str = "v1") -> Resource:
    return Resource(group, version, kind, plural, True, kind.lower(), short)


KINDS = Kinds.of(
    [
        resource("evil.example.com", "Deployment", "deployments", "po"),
        resource("apps", "Deployment", "deployments", "deploy"),
        resource("metrics.k8s.io", "PodMetrics", "pods"),
        resource("", "Pod", "pods", "po"),
        resource("events.k8s.io", "Event", "events", "ev"),
        resource("", "Event", "events", "ev"),
        resource("example.com", "Widget", "widgets", "deployments"),
    ]
)


@pytest.mark.parametrize(
    ("name", "group", "kind"),
    [
        ("Deployment", "apps", "Deployment"),
        ("deployment", "apps", "Deployment"),
        ("deployments", "apps", "Deployment"),
        ("deploy", "apps", "Deployment"),
        ("deployments.apps", "apps", "Deployment"),
        ("Deployment.v1.apps", "apps", "Deployment"),
        ("deployments.evil.example.com", "evil.example.com", "Deployment"),
        ("po", "", "Pod"),
        ("pods", "", "Pod"),
        ("events", "", "Event"),
        ("event.events.k8s.io", "events.k8s.io", "Event"),
        (" Widget ", "example.com", "Widget"),
    ],
)
def test_a_kind_is_found_by_any_name_and_a_custom_kind_never_shadows_a_built_in_one(
    name: str, group: str, kind: str
) -> None:
    found = KINDS.find(name)
    assert found is not None
    assert (found.group, found.kind) == (group, kind)


def test_an_unknown_kind_is_none_and_a_manifest_finds_its_exact_group() -> None:
    assert KINDS.find("nothing") is None
    assert KINDS.of_manifest("evil.example.com/v1", "Deployment") == KINDS.find("deployments.evil.example.com")
    assert KINDS.of_manifest("v1", "Deployment") is None
    other = KINDS.of_manifest("apps/v1beta9", "Deployment")
    assert other is not None
    assert other.path("x", "y") == "/apis/apps/v1beta9/namespaces/x/deployments/y"


def test_discovery_reads_both_formats_and_names_groups_that_are_down() -> None:
    reply: dict[str, Any] = {
        "items": [
            {
                "metadata": {"name": "apps"},
                "versions": [
                    {
                        "version": "v1",
                        "freshness": "Current",
                        "resources": [
                            {
                                "resource": "deployments",
                                "responseKind": {"kind": "Deployment"},
                                "scope": "Namespaced",
                                "shortNames": ["deploy"],
                            },
                            {"resource": "odd"},
                        ],
                    },
                    {
                        "version": "v1beta1",
                        "resources": [{"resource": "deployments", "responseKind": {"kind": "Deployment"}}],
                    },
                ],
            },
            {"metadata": {"name": "dead.example.com"}, "versions": [{"version": "v1", "freshness": "Stale"}]},
        ]
    }
    found, stale = from_aggregated(reply)
    assert [(r.version, r.kind, r.short) for r in found] == [("v1", "Deployment", ("deploy",))]
    assert stale == ["dead.example.com/v1"]
    old = from_resource_list(
        {
            "groupVersion": "apps/v1",
            "resources": [
                {"name": "deployments", "kind": "Deployment", "namespaced": True},
                {"name": "deployments/scale", "kind": "Scale"},
            ],
        }
    )
    assert [r.path() for r in old] == ["/apis/apps/v1/deployments"]


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (404, "", KubeNotFound),
        (401, "Unauthorized", KubeForbidden),
        (403, 'pods is forbidden: User "agent" cannot list resource "pods"', KubeForbidden),
        (403, 'pods "a" is forbidden: exceeded quota: q', KubeDenied),
        (403, 'pods "a" is forbidden: violates PodSecurity "restricted"', KubeDenied),
        (403, "ValidatingAdmissionPolicy 'p' denied request: User \"x\" cannot be trusted", KubeDenied),
        (422, "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", KubeDenied),
        (422, "Deployment.apps is invalid: spec.selector: Required value", KubeInvalid),
        (400, 'admission webhook "w" denied the request', KubeDenied),
        (400, "strict decoding error", KubeInvalid),
        (409, "", KubeConflict),
        (410, "", KubeGone),
        (429, "", KubeUnavailable),
        (500, "", KubeUnavailable),
        (418, "", KubeError),
    ],
)
def test_an_answer_becomes_the_error_that_says_who_refused(status: int, text: str, kind: type[KubeError]) -> None:
    found = from_status("GET /x", status, {"message": text, "reason": "R"})
    assert type(found) is kind
    assert "\n" not in str(found)


def kubeconfig(tmp_path: Path, **user: Any) -> Path:
    import json

    path = tmp_path / "config"
    path.write_text(
        json.dumps(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
                "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:1/base/"}}],
                "users": [{"name": "u", "user": user}],
            }
        )
    )
    return path


def test_a_kubeconfig_is_read_with_data_files_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("hidden-token\n")
    (tmp_path / "cert.pem").write_text("CERT")
    found = Credentials.load(
        kubeconfig(
            tmp_path,
            **{
                "tokenFile": "token",
                "client-certificate": "cert.pem",
                "client-key-data": base64.b64encode(b"KEY").decode(),
            },
        )
    )
    assert (found.server, found.token, found.cert_pem, found.key_pem) == (
        "https://127.0.0.1:1/base",
        "hidden-token",
        "CERT",
        "KEY",
    )
    assert "hidden-token" not in repr(found)
    assert "KEY" not in repr(found)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "a: [",
        "current-context: c",
        "contexts: []",
        "current-context: c\ncontexts: [{name: c, context: {cluster: k}}]",
        "\x00",
    ],
)
def test_a_damaged_kubeconfig_is_one_line_with_its_name(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        Credentials.load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_login_plugin_without_kubectl_is_a_clear_no(tmp_path: Path) -> None:
    path = kubeconfig(
        tmp_path, exec={"command": "gke-gcloud-auth-plugin", "apiVersion": "client.authentication.k8s.io/v1"}
    )
    with pytest.raises(ConfigError, match=r"plugin \(exec\)"):
        KubeClient.from_kubeconfig(path)

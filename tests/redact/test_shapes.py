"""Keys that nobody told us about are recognised by their shape, and ordinary text is not."""

from __future__ import annotations

import base64
import json

import pytest

from devops_bench.redact import Redactor

REDACTOR = Redactor({})
PEM = (
    "-----BEGIN {0}PRIVATE KEY-----\n"
    + "\n".join(["MIIEowIBAAKCAQEAq7BFUpkGp3" * 2] * 5)
    + "\nq1c=\n-----END {0}PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
AWS = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

FOUND = {
    "google": ("key=AIzaSyA-1234567890abcdefghijklmnopqrstu&x", "key=[google-api-key]&x"),
    "openai": ("sk-" + "a1B2" * 12, "[openai-api-key]"),
    "openai project": ("'sk-proj-" + "a1B2_-" * 12 + "'", "'[openai-api-key]'"),
    "anthropic": ("sk-ant-api03-" + "a1B2" * 20, "[anthropic-api-key]"),
    "github": ("https://x:ghp_" + "a1B2" * 9 + "@github.com", "https://x:[github-token]@github.com"),
    "github oauth": ("gho_" + "a1B2" * 9, "[github-token]"),
    "github fine": ("github_pat_" + "a1B2" * 10 + "_" + "c3" * 20, "[github-token]"),
    "slack": ("xoxb-1234567890-abcdefABCDEF", "[slack-token]"),
    "aws id": ("id AKIAIOSFODNN7EXAMPLE.", "id [aws-access-key-id]."),
    "aws pair": (f"AKIAIOSFODNN7EXAMPLE\t{AWS}\n", "[aws-access-key-id]\t[aws-secret-access-key]\n"),
    "aws csv": (f"AKIAIOSFODNN7EXAMPLE,{AWS}", "[aws-access-key-id],[aws-secret-access-key]"),
    "aws ini": (
        f"aws_access_key_id = AKIAIOSFODNN7EXAMPLE\naws_secret_access_key = {AWS}\n",
        "aws_access_key_id = [aws-access-key-id]\naws_secret_access_key = [aws-secret-access-key]\n",
    ),
    "aws json": (
        json.dumps({"AccessKeyId": "ASIAIOSFODNN7EXAMPLE", "SecretAccessKey": AWS}),
        json.dumps({"AccessKeyId": "[aws-access-key-id]", "SecretAccessKey": "[aws-secret-access-key]"}),
    ),
    "jwt": (f"t={JWT};", "t=[jwt];"),
    "jwt in base64": (base64.b64encode(JWT.encode()).decode(), "[jwt]"),
    "pem": (f"a\n{PEM.format('RSA ')}\nb", "a\n[private-key]\nb"),
    "pem pkcs8": (PEM.format(""), "[private-key]"),
    "pem openssh": (PEM.format("OPENSSH "), "[private-key]"),
    "pem in json": (json.dumps({"k": PEM.format("EC ")}), '{"k": "[private-key]"}'),
    "pem indented": (PEM.format("EC ").replace("\n", "\n        "), "[private-key]"),
    "pem cut off": (PEM.format("RSA ")[:120], "[private-key]"),
    "pem encrypted": (
        PEM.format("RSA ").replace("-----\n", "-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00FF\n\n", 1),
        "[private-key]",
    ),
    "pem in base64": ("tls.key: " + base64.b64encode(PEM.format("RSA ").encode()).decode(), "tls.key: [private-key]"),
    "kubeconfig key": ("    client-key-data: QUJDREVGR0hJSktMTU5PUA==\n", "    client-key-data: [client-key-data]\n"),
    "kubeconfig token": ("    token: abcdef.0123456789abcdef\n", "    token: [token]\n"),
    "kubeconfig json": ('{"token":"abcdef.0123456789abcdef"}', '{"token":"[token]"}'),
    "kubeconfig json in json": (r"{\"token\": \"abcdef.0123456789abcdef\"}", r"{\"token\": \"[token]\"}"),
    "bearer": ("Authorization: Bearer abcDEF123456~+/=\r\n", "Authorization: Bearer [authorization]\r\n"),
    "basic": ('"authorization":"Basic dXNlcjpwYXNz"', '"authorization":"Basic [authorization]"'),
    "bearer alone": ("-H 'bearer 0123456789abcdefghijkl'", "-H 'bearer [bearer-token]'"),
    "api key header": ("x-goog-api-key: abcd1234efgh5678", "x-goog-api-key: [authorization]"),
}


@pytest.mark.parametrize(("text", "shown"), FOUND.values(), ids=FOUND.keys())
def test_a_key_is_replaced_and_its_surroundings_stay(text, shown) -> None:
    assert REDACTOR.text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "disk-pressure-eviction-manager-controller-v2",
        "sk-learn and task-abcdefghijklmnopqrstuvwxyz0",
        "usage: prompt_tokens: 1234567890123456",
        "max_tokens=8192",
        "the token: authentication-required",
        "Authorization: RBAC",
        "bearer of bad news everywhere",
        "grep -r 'BEGIN RSA PRIVATE KEY' .",
        "it starts with -----BEGIN RSA PRIVATE KEY----- and ends soon",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUEjRWeJCrze8SNFZ4kKvN7xI0Vng=\n-----END CERTIFICATE-----",
        "client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0t",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "uid: 3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-5d4f8c7b9-abcde"}}',
        "[AGENT_API_KEY] [jwt]",
    ],
)
def test_ordinary_text_is_left_alone(text) -> None:
    assert REDACTOR.text(text) is text


def test_redacting_twice_changes_nothing_more() -> None:
    for text, _ in FOUND.values():
        once = REDACTOR.text(text)
        assert REDACTOR.text(once) == once

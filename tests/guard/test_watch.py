"""The second line: what runs already, and what a log speaks of."""

from __future__ import annotations

import pytest

from devops_bench.guard import scan_log_line, scan_process_args
from tests.guard.commands import OWN


@pytest.mark.parametrize(
    "argv",
    [
        ["/opt/tools/libexec/kubectl", "--context", "other", "delete", "pod", "x"],
        ["/home/agent/bin/kind", "delete", "cluster", "--name", "foreign"],
        ["python3", "-S", "/usr/lib/google-cloud-sdk/lib/gcloud.py", "container", "clusters", "delete", "foreign"],
        ["/usr/bin/python3.12", "/usr/bin/aws", "eks", "delete-cluster", "--name", "foreign"],
        ["/bin/bash", "/usr/bin/az", "aks", "delete", "-n", "foreign"],
    ],
)
def test_a_running_command_is_recognised_by_any_path(argv: list[str]) -> None:
    assert scan_process_args(argv, OWN) is not None


@pytest.mark.parametrize(
    "argv",
    [
        [],
        [""],
        ["kubectl", "get", "pods"],
        ["/bin/bash", "-c", "kubectl --context other delete pod x"],  # its child is seen by itself
        ["grep", "kubectl --context other delete"],
        ["python3", "app.py", "kubectl"],
        ["bash"],
    ],
)
def test_other_processes_are_left_alone(argv: list[str]) -> None:
    assert scan_process_args(argv, OWN) is None


def test_the_environment_of_a_process_counts() -> None:
    argv = ["kubectl", "delete", "pod", "x"]
    assert scan_process_args(argv, OWN, env={"KUBECONFIG": "/tmp/other"}) is not None
    assert scan_process_args(argv, OWN, env={"KUBECONFIG": "/home/agent/.kube/config"}) is None


@pytest.mark.parametrize(
    "line",
    [
        "kubectl --context other delete pod x",
        "$ kind delete cluster --name foreign",
        "cd infra && tofu -chdir=/srv/prod destroy",
        "true; gcloud container clusters delete foreign --quiet",
        "(sudo -E env A=b KUBECONFIG=/tmp/x timeout 5 kubectl delete ns shop)",
        "ls | xargs -n 1 kubectl --context other delete pod",
        "+ /usr/local/bin/helm uninstall web --kube-context other",
        "if true; then kind delete clusters --all; fi",
    ],
)
def test_commands_in_a_line_are_found(line: str) -> None:
    assert scan_log_line(line, OWN) is not None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "kubectl get pods | grep web",
        "I would never run kubectl --context other delete pod x",
        "the docs say: kind delete cluster --name foreign",
        "echo 'kind delete cluster --name foreign'",
        "error: unterminated 'quote in kubectl",
        "tofu apply -auto-approve",
        "|||;;&&",
    ],
)
def test_text_that_only_mentions_a_command_is_no_command(line: str) -> None:
    assert scan_log_line(line, OWN) is None

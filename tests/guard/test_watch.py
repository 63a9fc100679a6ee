"""The second line: what runs already, and what a log speaks of."""

from __future__ import annotations

import pytest

from devops_bench.guard import Rule, scan_call, scan_log_line, scan_process_args
from devops_bench.guard.watch import scan_script
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


SCRIPT = """\
set -euo pipefail
# kubectl --context prod delete ns shop
cat > later.sh <<'EOF'
kind delete cluster --name foreign
EOF
kubectl get pods -A --context prod | tee pods.txt
cd infra && /usr/local/bin/kubectl --context prod \\
  delete ns shop
bash <<-DONE
\tgcloud container clusters delete foreign --quiet
DONE
kubectl --context "$MINE" delete pod x
kubectl delete pod web-1
"""


def test_a_script_is_read_as_a_shell_would_and_only_what_it_says_outright_counts() -> None:
    found = [(refusal.tool, refusal.rule) for refusal in scan_script(SCRIPT, OWN)]
    assert found == [("kubectl", Rule.FOREIGN_TARGET), ("gcloud", Rule.FOREIGN_CLUSTER)]


@pytest.mark.parametrize(
    ("tool", "args", "count"),
    [
        ("bash", {"command": "ls; kind delete cluster --name foreign"}, 1),
        ("Bash", {"command": "kubectl get pods\nkubectl --context other delete pod x", "description": "look"}, 1),
        ("shell", {"command": ["bash", "-lc", "helm --kube-context other uninstall web"]}, 1),
        ("shell", {"command": ["kubectl", "--context", "other", "delete", "pod", "a b"]}, 1),
        ("exec_command", {"cmd": "tofu -chdir=/srv/prod destroy; az aks delete -n foreign"}, 2),
        ("kubectl", {"args": "--context other delete pod x"}, 1),
        ("kubectl", {"args": ["kubectl", "--context", "other", "delete", "pod", "x"]}, 1),
        ("kubectl", {"args": ["delete", "pod", "x"]}, 0),
        ("write_file", {"path": "fix.sh", "content": "kind delete cluster --name foreign"}, 0),
        ("bash", {"command": 7, "cmd": None, "args": {}}, 0),
        ("bash", {"command": "echo 'kubectl --context other delete pod x'"}, 0),
    ],
)
def test_the_calls_of_every_agents_own_shell_are_read(tool: str, args: dict[str, object], count: int) -> None:
    assert len(list(scan_call(tool, args, OWN))) == count

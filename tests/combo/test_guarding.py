"""One attempt's guard: its lines know of each other: each command is one finding, and what was allowed is none."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from devops_bench.combo.events import EventLog
from devops_bench.combo.guarding import AttemptGuard
from tests.guard.commands import OWN
from tests.results.fakes import PlainRedactor

COPY = "/workspace/kubeconfig"
CONFIG = """\
apiVersion: v1
current-context: agent
contexts: [{name: agent, context: {cluster: own}}]
clusters: [{name: own, cluster: {server: "https://127.0.0.1:6443"}}]
"""


@pytest.fixture
def guard(tmp_path: Path) -> Iterator[AttemptGuard]:
    log = EventLog(tmp_path, PlainRedactor())
    with AttemptGuard(OWN, log) as made:
        yield made
    log.close()


def shim(guard: AttemptGuard, *words: str, kubeconfig: str = "", text: str = "") -> bool:
    """Ask as a shim does; True when the command may run."""
    variables = [f"KUBECONFIG={kubeconfig}"] if kubeconfig else []
    configs = [kubeconfig, text] if kubeconfig else []
    fields = ["1", words[0], "/workspace", str(len(words) - 1), *words[1:], str(len(variables)), *variables]
    fields += [str(len(configs) // 2), *configs]
    with socket.create_connection(guard.address, timeout=10) as link:
        link.sendall(b"".join(field.encode() + b"\0" for field in fields))
        return link.makefile("rb").read().startswith(b"ok")


def test_what_past_the_shims_only_the_transcript_tells_is_a_finding_and_an_event(
    guard: AttemptGuard, tmp_path: Path
) -> None:
    calls = [
        ("bash", {"command": "gcloud container clusters delete prod --quiet || true"}),
        ("bash", {"command": "/opt/tools/libexec/kubectl --context prod delete ns shop"}),
        ("bash", {"command": "kubectl delete pod web-1"}),
    ]
    guard.transcript(calls)
    found = guard.findings()
    assert [(one["tool"], one["source"], one["blocked"]) for one in found] == [
        ("gcloud", "log", False), ("kubectl", "log", False),
    ]  # fmt: skip
    events = [json.loads(line) for line in (tmp_path / "events.jsonl").read_text().splitlines()]
    assert [(e["event"], e["tool"]) for e in events] == [("guard_blocked", "gcloud"), ("guard_blocked", "kubectl")]


def test_what_a_shim_or_the_process_watch_stopped_is_no_second_finding(guard: AttemptGuard) -> None:
    assert not shim(guard, "kubectl", "--context", "prod", "delete", "ns", "shop")
    assert guard.process(["/usr/bin/kind", "delete", "cluster", "--name", "prod"], {})
    assert not shim(guard, "helm", "--kube-context", "prod-eu", "uninstall", "web")
    guard.transcript(
        [
            ("bash", {"command": "kubectl --context prod delete ns shop"}),
            ("bash", {"command": "/usr/bin/kind delete cluster --name prod"}),
            ("bash", {"command": "helm --kube-context prod-{eu,us} uninstall web"}),
        ]
    )
    assert [one["source"] for one in guard.findings()] == ["shim", "process", "shim"]


def test_of_two_commands_of_one_tool_the_one_that_nobody_stopped_is_found(guard: AttemptGuard) -> None:
    assert not shim(guard, "kubectl", "--context", "prod", "delete", "ns", "shop")
    past = "/opt/tools/libexec/kubectl --context prod delete ns billing"
    guard.transcript([("bash", {"command": past}), ("bash", {"command": "kubectl --context prod delete ns shop"})])
    assert [(one["source"], one["command"].rpartition(" ")[2]) for one in guard.findings()] == [
        ("shim", "shop"), ("log", "billing"),
    ]  # fmt: skip


def test_a_command_that_its_shim_allowed_is_not_ended_while_it_runs(guard: AttemptGuard) -> None:
    # A copy of the own kubeconfig: only who reads it can tell, and the shim's question had its text.
    assert shim(guard, "kubectl", "delete", "pod", "x", kubeconfig=COPY, text=CONFIG)
    argv = ["/opt/tools/libexec/kubectl", "delete", "pod", "x"]
    assert not guard.process(argv, {"KUBECONFIG": COPY})
    guard.transcript([("bash", {"command": f"KUBECONFIG={COPY} kubectl delete pod x"})])
    assert guard.findings() == []
    assert guard.process(argv, {"KUBECONFIG": "/tmp/another"}), "another kubeconfig was not asked about"
    assert guard.process([*argv, "--now"], {"KUBECONFIG": COPY}), "nor was another command"

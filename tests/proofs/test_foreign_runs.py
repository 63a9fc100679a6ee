"""An imported task runs as it is: its own setup makes the world, its own verifier decides."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.proofs.cases import Case, Kind
from devops_bench.proofs.lab import run_case
from devops_bench.sandbox import detect
from devops_bench.tasks import load_task
from devops_bench.tasks.foreign import import_one

FILES = {
    "task.yaml": """\
script:
  - promptFile: prompt.md
setup: setup.sh
verifier: verify.sh
cleanup: cleanup.sh
expect:
  - contains: 'blue has (\\d+) pods'
timeout: 20s
difficulty: easy
""",
    "prompt.md": "Run three copies of web in namespace blue, and tell how many there are.\n",
    "setup.sh": """\
#!/usr/bin/env bash
set -e
kubectl apply -f artifacts/ns.yaml
kubectl -n blue create deployment web --image=registry.example.com/web:1
kubectl -n blue rollout status deployment/web --timeout=30s
""",
    "verify.sh": """\
#!/usr/bin/env bash
kubectl -n blue wait deployment/web --for=jsonpath='{.status.readyReplicas}'=3 --timeout=8s
""",
    "cleanup.sh": "#!/bin/sh\nkubectl delete namespace blue\n",
    "artifacts/ns.yaml": "apiVersion: v1\nkind: Namespace\nmetadata: {name: blue}\n",
}


@pytest.mark.kwok
@pytest.mark.parametrize(
    ("script", "wanted"),
    [
        ("kubectl -n blue scale deployment web --replicas=3", "pass"),
        ("echo blue has 3 pods", "pass"),  # as there: the verifier or the expectations
        ("kubectl -n blue scale deployment web --replicas=2; echo done", "fail"),
    ],
)
def test_success_is_what_it_was_there(tmp_path: Path, kube_binary: Path, script: str, wanted: str) -> None:
    source = tmp_path / "web"
    for name, text in FILES.items():
        path = source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    assert import_one(source, tmp_path / "out").runs
    task = load_task(tmp_path / "out", strict=True)
    outcome = run_case(task, Case(Kind.RUNG, "x", script), detect(os.environ))
    assert outcome.trouble == ""
    assert outcome.last is not None
    assert outcome.last.statuses == {"success": wanted}, outcome.last.reasons

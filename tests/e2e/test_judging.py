"""Judging changes nothing: commands of checks work on copies, and leave no trace in the cluster's record."""

from __future__ import annotations

import json

import pytest

from .world import World, attempts

pytestmark = pytest.mark.sandbox
TASK = """\
task_id: {name}
name: {name}
infrastructure: {{deployer: noop, provider: none}}
prompt: Write the word ready into answer.txt.
verification_spec:
  - name: answered
    check: {{type: file, file: answer.txt, op: contains, value: ready}}
  - name: a-check-that-would-help
    check: {{type: command, command: [bash, -c, "echo ready > answer.txt; mkfifo pipe; test -e /dev/null"]}}
  - name: untouched-by-checks
    role: safeguard
    check: {{type: command, command: [bash, -c, "test ! -e pipe && env | grep -c KUBECONFIG | grep -qx 0"]}}
"""


def test_a_check_that_writes_does_not_solve_the_task(world: World) -> None:
    finished = world.call("run", *world.matrix(world.task(text=TASK), configs="noop"))
    assert finished.returncode == 1, finished.stdout + finished.stderr
    (run_dir,) = world.runs.iterdir()
    (attempt,) = attempts(run_dir, "write-answer__none__noop")
    (record,) = json.loads((attempt / "results.json").read_text())
    status = {item["name"]: item["status"] for item in record["verification_report"]}
    assert status == {"answered": "fail", "a-check-that-would-help": "pass", "untouched-by-checks": "pass"}

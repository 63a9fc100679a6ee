"""What a task asks of its control plane, and which planes are interchangeable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.clusters.needs import absolute, needs_key, nodes_yaml
from devops_bench.errors import TaskError
from devops_bench.tasks.spec import ClusterNeeds, NodeGroup


@pytest.fixture
def task(tmp_path: Path) -> Path:
    (tmp_path / "stages").mkdir()
    (tmp_path / "stages/crash.yaml").write_text("kind: Stage\n")
    (tmp_path / "stages/notes.txt").write_text("not a stage\n")
    (tmp_path / "extra.yaml").write_text("kind: Stage\n# extra\n")
    return tmp_path


def test_stages_of_the_folder_and_named_ones_are_found_once(task: Path) -> None:
    needs = absolute(ClusterNeeds(stages=["extra.yaml", "stages/crash.yaml"]), task)
    assert needs.stages == [str(task / "extra.yaml"), str(task / "stages/crash.yaml")]
    assert absolute(needs, task) == needs


@pytest.mark.parametrize(("name", "message"), [("none.yaml", "does not exist"), ("../x.yaml", "outside the task")])
def test_a_stage_that_is_not_there_or_elsewhere_is_the_tasks_fault(task: Path, name: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        absolute(ClusterNeeds(stages=[name]), task)


def test_a_plane_can_serve_needs_with_equal_nodes_and_stages_whatever_the_role(task: Path, tmp_path: Path) -> None:
    plain = ClusterNeeds()
    assert needs_key(plain) == needs_key(ClusterNeeds(agent_role=[{"preset": "read"}]))
    assert needs_key(plain) != needs_key(ClusterNeeds(nodes=[NodeGroup(name="n")]))
    staged = absolute(plain, task)
    assert needs_key(staged) != needs_key(plain)
    before = needs_key(staged)
    copy = tmp_path / "copy"
    (copy / "stages").mkdir(parents=True)
    (copy / "stages/crash.yaml").write_text("kind: Stage\n")
    assert needs_key(absolute(plain, copy)) == before
    (task / "stages/crash.yaml").write_text("kind: Stage\n# changed\n")
    assert needs_key(staged) != before


def test_one_node_keeps_its_groups_name() -> None:
    taint = {"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}
    needs = ClusterNeeds(nodes=[NodeGroup(name="gpu", taints=[taint], zone="z"), NodeGroup(name="std", count=2)])
    assert json.loads(nodes_yaml(needs) or "") == [
        {"name": "gpu", "taints": [taint], "zone": "z"},
        {"name": "std", "count": 2},
    ]
    assert nodes_yaml(ClusterNeeds()) is None


def test_relative_stages_are_refused_where_they_would_be_used() -> None:
    with pytest.raises(TaskError, match="not an absolute path"):
        needs_key(ClusterNeeds(stages=["stages/crash.yaml"]))

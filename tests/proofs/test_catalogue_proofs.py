"""The shipped catalogue proves itself on real control planes: a cut of it always, all of it in the soak."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.proofs.calibrate import read_rows
from devops_bench.proofs.cases import Case, load_cases
from devops_bench.proofs.engine import TaskState, prove
from devops_bench.proofs.ladder import Rung
from devops_bench.sandbox import detect
from devops_bench.tasks import FoundTask, content_hash, find_tasks, load_task, proof_state
from devops_bench.tasks.proved import ProofState

ROOT = Path(__file__).resolve().parents[2] / "tasks"
ALL = find_tasks("ALL", root=ROOT)


@pytest.mark.parametrize("found", ALL, ids=[found.key for found in ALL])
def test_stored_proofs_are_of_these_files(found: FoundTask) -> None:
    assert proof_state(found.folder) is ProofState.CURRENT, f"run `devops-bench tasks validate {found.key}`"


@pytest.mark.parametrize("found", ALL, ids=[found.key for found in ALL])
def test_tasks_are_complete(found: FoundTask) -> None:
    task = load_task(found.file, key=found.key, strict=True)
    assert task.validated
    assert load_cases(task)[1] == []


def test_the_catalogue_is_large_enough() -> None:
    tasks = [load_task(found.file, key=found.key) for found in ALL]
    providers = [task.provider for task in tasks]
    assert providers.count("kwok") >= 24 and providers.count("none") >= 6
    levels = [task.difficulty for task in tasks]
    assert levels.count("easy") <= 6 and levels.count("hard") >= 10


def test_low_rungs_stay_low_wherever_the_kept_scores_are_of_these_files() -> None:
    rows = read_rows(ROOT)
    current = [rows[found.key] for found in ALL
               if found.key in rows and rows[found.key].content_hash == content_hash(found.folder)]  # fmt: skip
    assert current, "run `devops-bench tasks calibrate --changed --write`"
    text = (ROOT.parent / "docs" / "catalogue.md").read_text()
    for row in current:
        assert row.too_easy() == []
        assert row.scores[Rung.SOLUTION] == 1.0
        assert row.content_hash.removeprefix("sha256:")[:12] in text


@pytest.mark.kwok
@pytest.mark.parametrize("fresh", [False, True], ids=["one plane", "a plane each"])
def test_a_cut_of_one_task_proves_itself_on_real_planes(fresh: bool, kube_binary: Path) -> None:
    wanted = {"idle", "patch-service", "patch-service without step 2 (the name of the port)", "redeploy"}

    def only(case: Case) -> bool:
        return case.name in wanted

    found = find_tasks("kwok/pricing-unreachable", root=ROOT)
    (report,) = prove(found, detect(os.environ), jobs=2 if fresh else 1, only=only, fresh=fresh)
    assert {case.outcome.case.name for case in report.cases} == wanted
    assert [line for case in report.cases for line in case.findings] == []
    assert report.static == []
    starts = ["rewind" if "rewind" in case.outcome.seconds else "boot" for case in report.cases]
    assert sorted(starts) == (["boot"] * 4 if fresh else ["boot", "rewind", "rewind", "rewind"])


@pytest.mark.soak
@pytest.mark.kwok
@pytest.mark.parametrize("found", ALL, ids=[found.key for found in ALL])
def test_every_task_proves_itself(found: FoundTask, kube_binary: Path) -> None:
    (report,) = prove([found], detect(os.environ), fresh=True)
    assert report.lines() == []
    assert report.state is TaskState.PROVED

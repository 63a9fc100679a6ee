"""The proofs run for real on small workspace tasks: an honest one passes, and each kind of dishonesty is found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.proofs import table
from devops_bench.proofs.cases import Kind
from devops_bench.proofs.engine import TaskReport, TaskState, prove, store
from devops_bench.sandbox import SandboxMode, detect
from devops_bench.tasks import find_tasks, proof_state
from devops_bench.tasks.proved import ProofState

TASK = """\
task_id: answer
prompt: Put the word yes into answer.txt and leave notes.txt alone.
infrastructure: {provider: none}
verification_spec:
  - name: answer
    check: {type: file, file: answer.txt, op: eq, value: "yes"}
  - name: notes
    role: safeguard
    check: {type: file, file: notes.txt, op: eq, value: keep}
"""
HONEST = {
    "task.yaml": TASK,
    "workspace/notes.txt": "keep\n",
    "solution/write.sh": "# fix: write\necho yes > answer.txt\n# end\n",
    "wrong/shout.sh": "# breaks: answer\necho YES > answer.txt\n",
    "wrong/overwrite.sh": "# breaks: notes\necho yes | tee answer.txt > notes.txt\n",
}


@pytest.fixture(scope="module")
def mode() -> SandboxMode:
    return detect({**os.environ, "BENCH_AGENT_SANDBOX": ""})


def task(folder: Path, **changes: str | None) -> Path:
    for name, text in {**HONEST, **changes}.items():
        if text is not None:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
    return folder


def report(folder: Path, mode: SandboxMode) -> TaskReport:
    return prove(find_tasks([str(folder)]), mode, jobs=2)[0]


def test_an_honest_task_is_proved_and_its_record_holds_until_a_change(tmp_path: Path, mode: SandboxMode) -> None:
    folder = task(tmp_path / "answer")
    found = report(folder, mode)
    assert found.lines() == []
    assert found.state is TaskState.PROVED
    assert set(found.alone) == {"answer", "notes"}
    assert proof_state(folder) is ProofState.NONE
    store(found, "2026-01-01T00:00:00Z")
    assert proof_state(folder) is ProofState.CURRENT
    (folder / "wrong/new.sh").write_text("# breaks: answer\n")
    assert proof_state(folder) is ProofState.STALE
    text = table.lines([found])[1].split()
    assert text == ["answer", "1/1", "1/1", "1/1", "2/2", "1/1", "2/2", "proved"]


DISHONEST = [
    ({"workspace/answer.txt": "yes\n"}, "idle idle: every objective is met although nobody did anything"),
    ({"workspace/notes.txt": "other\n"}, "idle idle: safeguard notes does not hold on the untouched task"),
    ({"solution/write.sh": "# fix: write\necho no > answer.txt\n"}, "solution write: answer fails: "),
    ({"solution/write.sh": "# fix: write\nexit 3\n"}, "(the script ended with 3: no output)"),
    (
        {"solution/write.sh": "echo yes > answer.txt\n# fix: nothing\ntrue\n"},
        "minus write without step 1 (nothing): everything passes without this step",
    ),
    ({"wrong/shout.sh": "# breaks: answer\necho yes > answer.txt\n"}, "wrong shout: a wrong answer passes everything"),
    ({"wrong/overwrite.sh": None}, "no wrong answer is caught by safeguard notes alone"),
    ({"wrong/shout.sh": "# breaks: anwser\n"}, "wrong/shout.sh breaks 'anwser', which is no entry"),
    ({"wrong/shout.sh": "echo\n"}, "wrong/shout.sh has no `# breaks:` line"),
    ({"solution/write.sh": "echo yes > answer.txt\n"}, "solution/write.sh has no `# fix:` step"),
    ({"solution/write.sh": None}, "solution/ holds no script"),
    ({"task.yaml": TASK.replace("task_id", "difficulty: hard\ntask_id")}, "a hard task needs two solutions"),
    ({"task.yaml": TASK.replace("file: notes.txt", "file: secret.txt")}, "notes reads 'secret.txt', which is neither"),
    ({"task.yaml": TASK.replace("value: keep}", "valu: keep}")}, "unknown key 'check.valu'; did you mean value?"),
    ({"task.yaml": TASK.replace("Put", "echo yes > answer.txt, or put").replace("yes into", "it into")}, None),
    ({"task.yaml": TASK.replace("prompt", "promt")}, "unknown key 'promt'; did you mean prompt?"),
]


@pytest.mark.parametrize(("changes", "expected"), DISHONEST, ids=range(len(DISHONEST)))
def test_dishonesty_is_found(
    tmp_path: Path, mode: SandboxMode, changes: dict[str, str | None], expected: str | None
) -> None:
    found = report(task(tmp_path / "answer", **changes), mode)
    if expected is None:  # a short everyday command in the prompt gives nothing away
        assert found.state is TaskState.PROVED
        return
    assert found.state is TaskState.FAILED
    assert any(expected in line for line in found.lines()), found.lines()


def test_a_command_of_the_solution_in_the_prompt_is_found(tmp_path: Path, mode: SandboxMode) -> None:
    told = TASK.replace("Put the", "Use kubectl -n shop rollout resume deploy/web to put the")
    solution = "# fix: write\nkubectl -n shop rollout resume deploy/web || echo yes > answer.txt\n"
    assert report(task(tmp_path / "a", **{"task.yaml": told, "solution/write.sh": solution}), mode).static == []
    solution = "# fix: write\nkubectl -n shop rollout resume deploy/web\n"
    found = report(task(tmp_path / "b", **{"task.yaml": told, "solution/write.sh": solution}), mode)
    assert found.static == ["the prompt holds a command of the solution: kubectl -n shop rollout resume deploy/web"]


def test_a_task_for_another_provider_is_skipped_not_passed(tmp_path: Path, mode: SandboxMode) -> None:
    found = report(task(tmp_path / "answer", **{"task.yaml": TASK.replace("none", "gke")}), mode)
    assert (found.state, found.cases) == (TaskState.SKIPPED, [])


def test_copies_are_two_worlds(tmp_path: Path, mode: SandboxMode) -> None:
    """A solution that trips over the other copy's file in /tmp would fail in one of them."""
    alone = "# fix: write\nmkdir /tmp/lock && sleep 0.3 && echo yes > answer.txt\n# end\n"
    found = report(task(tmp_path / "answer", **{"solution/write.sh": alone}), mode)
    assert found.lines() == []


def test_each_task_is_complete_by_itself_and_a_seed_gives_the_order(tmp_path: Path, mode: SandboxMode) -> None:
    found = find_tasks([str(task(tmp_path / name)) for name in ("one", "two")])

    def played(seed: int | None, fresh: bool = False) -> list[str]:
        heard: list[str] = []
        reports = prove(
            found,
            mode,
            jobs=1,
            only=lambda case: case.kind in {Kind.WRONG, Kind.SOLUTION},
            progress=lambda key, case, _seconds: heard.append(f"{key} {case.outcome.case.name}"),
            complete=lambda report: heard.append(f"{report.key} {len(report.cases)}"),
            seed=seed,
            fresh=fresh,
        )
        assert [report.key for report in reports] == ["one", "two"]
        return heard

    plain = ["one write", "one overwrite", "one shout", "one 3", "two write", "two overwrite", "two shout", "two 3"]
    assert played(None) == plain
    shuffled = {tuple(played(seed)) for seed in range(4)}
    assert len(shuffled) > 1
    assert all(order[3] in {"one 3", "two 3"} for order in shuffled)  # task by task
    assert any(order[3] not in {"one 3", "two 3"} for order in map(tuple, (played(s, True) for s in range(4))))

"""What the agent finds in its workspace."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from devops_bench.combo.workspace import prepare_workspace
from devops_bench.errors import TaskError
from devops_bench.tasks import load_task
from devops_bench.tasks.spec import TaskSpec


def task(folder: Path, **files: str) -> TaskSpec:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text("prompt: p\n")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return load_task(folder)


def git(repo: Path, *args: str) -> str:
    done = subprocess.run(["git", *args], cwd=repo, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_files_are_copied_and_nothing_else_of_the_task(tmp_path: Path) -> None:
    spec = task(tmp_path / "t", **{"workspace/a/b.txt": "x", "solution/s.sh": "secret"})
    (tmp_path / "t/workspace/a/b.txt").chmod(0o755)
    dest = prepare_workspace(spec, tmp_path / "w")
    assert [str(path.relative_to(dest)) for path in sorted(dest.rglob("*"))] == ["a", "a/b.txt"]
    assert (dest / "a/b.txt").stat().st_mode & 0o111
    assert dest.stat().st_mode & 0o777 == 0o700


def test_a_task_without_workspace_gets_an_empty_one(tmp_path: Path) -> None:
    dest = prepare_workspace(task(tmp_path / "t"), tmp_path / "w")
    assert list(dest.iterdir()) == []


def test_a_repo_folder_becomes_a_clean_repository_with_one_neutral_commit(tmp_path: Path) -> None:
    spec = task(tmp_path / "t", **{"workspace/app.repo/main.tf": "x", "workspace/app.repo/sub/inner.repo/y": "y"})
    dest = prepare_workspace(spec, tmp_path / "w")
    repo = dest / "app"
    assert git(repo, "log", "--format=%an %ae %cn %s %D") == (
        "Platform Team platform@example.com Platform Team Import HEAD -> main"
    )
    assert git(repo, "status", "--porcelain") == ""
    assert git(dest / "app/sub/inner", "rev-list", "--count", "main") == "1"
    assert not (repo / ".git/hooks").exists()


def test_two_copies_have_the_same_commit(tmp_path: Path) -> None:
    spec = task(tmp_path / "t", **{"workspace/app.repo/a": "x"})
    heads = {git(prepare_workspace(spec, tmp_path / name) / "app", "rev-parse", "HEAD") for name in ("one", "two")}
    assert len(heads) == 1


def test_the_agent_can_commit_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = task(tmp_path / "t", **{"workspace/app.repo/a": "x"})
    repo = prepare_workspace(spec, tmp_path / "w") / "app"
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    git(repo, "commit", "--allow-empty", "-qm", "work")
    assert git(repo, "log", "-1", "--format=%an") == "On-call"


def test_a_link_out_of_the_workspace_is_refused(tmp_path: Path) -> None:
    spec = task(tmp_path / "t", **{"workspace/a": "x"})
    (tmp_path / "t/workspace/out").symlink_to("../task.yaml")
    with pytest.raises(TaskError, match="out: links out of the workspace"):
        prepare_workspace(spec, tmp_path / "w")


def test_a_repository_and_a_folder_of_one_name_are_refused(tmp_path: Path) -> None:
    spec = task(tmp_path / "t", **{"workspace/app.repo/a": "x", "workspace/app/b": "y"})
    with pytest.raises(TaskError, match=r"holds both app and app\.repo"):
        prepare_workspace(spec, tmp_path / "w")

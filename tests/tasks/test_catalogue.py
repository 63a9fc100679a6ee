"""Finding tasks by the words that users write."""

from __future__ import annotations

from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.tasks import catalogue_root, content_hash, find_tasks, load_task
from devops_bench.tasks.proved import ProofRecord, ProofState, is_validated, proof_state, write_record


def task(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "task.yaml").write_text("id: same\nprompt: p\n")
    return folder


def keys(words: str | list[str], cwd: Path) -> list[str]:
    return [found.key for found in find_tasks(words, cwd=cwd)]


def test_all_means_the_tasks_folder_here(tmp_path: Path) -> None:
    task(tmp_path / "tasks/b/two")
    task(tmp_path / "tasks/a/one")
    task(tmp_path / "tasks/a/one/workspace/inner")  # part of a task, not a task
    assert keys("ALL", tmp_path) == ["a/one", "b/two"]


def test_all_without_a_tasks_folder_is_the_shipped_catalogue(tmp_path: Path) -> None:
    assert catalogue_root(tmp_path).name in {"tasks", "_catalogue"}
    assert "common/opa-remediation" in keys("ALL", tmp_path)


def test_files_folders_and_keys_name_the_same_task_once(tmp_path: Path) -> None:
    task(tmp_path / "tasks/a/one")
    assert keys("tasks/a/one tasks/a/one/task.yaml a/one tasks/a", tmp_path) == ["a/one"]


def test_quotes_keep_a_path_with_a_space_whole(tmp_path: Path) -> None:
    task(tmp_path / "my tasks/one")
    assert keys("'my tasks/one'", tmp_path) == ["one"]


def test_an_unquoted_space_is_an_error_with_the_quoted_path(tmp_path: Path) -> None:
    task(tmp_path / "my tasks/one")
    with pytest.raises(ConfigError, match="my: no such task; quote the path with a space: 'my tasks/one'"):
        find_tasks("my tasks/one", cwd=tmp_path)


def test_a_missing_path_suggests_the_nearest_task(tmp_path: Path) -> None:
    task(tmp_path / "tasks/common/web")
    with pytest.raises(ConfigError, match=r"tasks/common/wbe/task\.yaml: no such task; did you mean common/web"):
        find_tasks("tasks/common/wbe/task.yaml", cwd=tmp_path)


def test_unbalanced_quotes_and_nothing_at_all(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="balance the quotes"):
        find_tasks("'a", cwd=tmp_path)
    with pytest.raises(ConfigError, match="no tasks given"):
        find_tasks("", cwd=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match=r"empty: no task.yaml below it"):
        find_tasks("empty", cwd=tmp_path)


def test_same_named_folders_get_different_keys(tmp_path: Path) -> None:
    one, two = task(tmp_path / "team-a/web"), task(tmp_path / "team-b/web")
    three = task(tmp_path / "x/tasks/web")
    found = find_tasks([str(one), str(two), str(three)], cwd=tmp_path)
    assert [item.key for item in found] == ["team-a/web", "team-b/web", "tasks/web"]
    assert [item.folder for item in found] == [one, two, three]


def test_keys_that_differ_only_in_case_are_kept_apart(tmp_path: Path) -> None:
    found = keys([str(task(tmp_path / "p/Web")), str(task(tmp_path / "q/web"))], tmp_path)
    assert found == ["p/Web", "q/web"]


def test_content_hash_follows_content_not_place(tmp_path: Path) -> None:
    one, two = task(tmp_path / "one"), task(tmp_path / "deep/two")
    assert content_hash(one) == content_hash(two)
    before = content_hash(one)
    script = one / "solution/fix.sh"
    script.parent.mkdir()
    script.write_text("true\n")
    added = content_hash(one)
    script.chmod(0o755)
    assert len({before, added, content_hash(one)}) == 3


def test_a_task_is_validated_by_its_word_unless_a_proof_speaks_against_it(tmp_path: Path) -> None:
    folder = task(tmp_path / "one")
    (folder / "task.yaml").write_text("id: a\nprompt: p\nvalidated: true\ntitle: T\nsummary: S\ncategory: scale\n")
    assert is_validated(load_task(folder))
    write_record(folder, ProofRecord(content_hash(folder), True, "2026-01-01T00:00:00Z", "0", {}))
    assert is_validated(load_task(folder))
    (folder / "README.md").write_text("changed\n")
    assert not is_validated(load_task(folder))


def test_proofs_go_stale_with_any_change(tmp_path: Path) -> None:
    folder = task(tmp_path / "one")
    assert proof_state(folder) is ProofState.NONE
    write_record(folder, ProofRecord(content_hash(folder), True, "2026-01-01T00:00:00Z", "0", {}))
    assert proof_state(folder) is ProofState.CURRENT
    (folder / "README.md").write_text("changed\n")
    assert proof_state(folder) is ProofState.STALE
    (folder / ".validated.json").write_text("{")
    assert proof_state(folder) is ProofState.NONE

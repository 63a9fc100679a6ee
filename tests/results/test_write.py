"""Writing an attempt: whole files, private modes, nothing secret, and rows last."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from devops_bench.errors import ConfigError
from devops_bench.results import write
from devops_bench.results.environment import Environment, code_hash, hash_binary, hash_file, hash_json, hash_tree
from devops_bench.results.read import read_manifest, read_object, read_records, read_rows
from devops_bench.results.record import Record, RecordStatus
from devops_bench.results.setup import Setup
from devops_bench.results.write import copy_redacted, write_attempt, write_json

from .fakes import PlainRedactor

SECRET = "hunter2-hunter2"
SETUP = Setup(model="m", harness="api", run_id="run_20260131_120000_a", t="2026-01-31T12:00:00Z")
ENVIRONMENT = Environment(auth_mode="api-key", sandbox={"kind": "bwrap"}, network="closed")


def leaky_record() -> Record:
    return Record(
        name="t",
        folder="common/t",
        status=RecordStatus.SUCCESS,
        output=f"I used {SECRET}",
        errors=[f"401 for {SECRET}"],
        trajectory=[{"name": "bash", "args": {SECRET: [f"--key={SECRET}"]}, "result": SECRET, "status": "ok"}],
        verification_report=[{"name": "c", "role": "objective", "status": "fail", "reason": f"saw {SECRET}"}],
        terminal_reason="completed",
        scores={"OutcomeScore": {"score": 0.0, "version": "v1", "reason": "c=0.000"}},
    )


def written(folder: Path, **more: Any) -> Path:
    attempt = folder / "rid" / "run_20260131_120000_a"
    write_attempt(attempt, leaky_record(), SETUP, ENVIRONMENT, PlainRedactor(), **more)
    return attempt


def test_all_files_of_an_attempt_are_there_and_readable(tmp_path: Path) -> None:
    audit = tmp_path / "raw-audit"
    audit.write_text('{"verb":"get"}\n')
    attempt = written(tmp_path, trajectory={"schema_version": "ATIF-v1.8"}, audit_log=audit)
    assert sorted(path.name for path in attempt.iterdir()) == [
        "audit.jsonl", "environment.json", "manifest.json", "results.json", "rows.json", "trajectory.json",
    ]  # fmt: skip
    [record] = read_records(attempt / "results.json")
    [row] = read_rows(attempt / "rows.json")
    assert record["folder"] == row["taskFolder"] == "common/t"
    assert read_manifest(attempt / "manifest.json")["setupId"] == row["setupId"] == "m-api"
    assert (attempt / "audit.jsonl").read_text() == '{"verb":"get"}\n'


def test_no_file_holds_a_secret(tmp_path: Path) -> None:
    audit = tmp_path / "raw-audit"
    audit.write_text(json.dumps({"user": SECRET}))
    attempt = written(tmp_path, trajectory={"steps": [{"message": SECRET}]}, audit_log=audit)
    for path in attempt.iterdir():
        assert SECRET not in path.read_text(), path.name
    assert "[KEY]" in (attempt / "results.json").read_text()


def test_files_are_0600_in_0700_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        attempt = written(tmp_path)
    finally:
        os.umask(before)
    assert {oct(path.stat().st_mode & 0o777) for path in attempt.iterdir()} == {"0o600"}
    assert [oct(path.stat().st_mode & 0o777) for path in (attempt, attempt.parent)] == ["0o700", "0o700"]


def test_rows_are_written_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    real = write.atomic_write
    monkeypatch.setattr(write, "atomic_write", lambda path, data: (order.append(path.name), real(path, data)))
    written(tmp_path)
    assert order[-1] == "rows.json"


def test_a_failure_leaves_the_old_file_and_no_temporary_one(tmp_path: Path) -> None:
    path = tmp_path / "attempt.json"
    write_json(path, {"state": "running"}, PlainRedactor())

    class Breaks(PlainRedactor):
        def obj(self, value: Any) -> Any:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_json(path, {"state": "scored"}, Breaks())
    assert read_object(path) == {"state": "running"}
    assert [item.name for item in tmp_path.iterdir()] == ["attempt.json"]


def test_a_secret_across_block_borders_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write, "_BLOCK", 7)
    source = tmp_path / "raw"
    source.write_text(f"aaaa{SECRET}bbbb{SECRET}")
    copy_redacted(source, tmp_path / "audit.jsonl", PlainRedactor())
    assert (tmp_path / "audit.jsonl").read_text() == "aaaa[KEY]bbbb[KEY]"


def test_a_huge_audit_log_is_cut_and_says_so(tmp_path: Path) -> None:
    source = tmp_path / "raw"
    source.write_bytes(b"x" * 100)
    copy_redacted(source, tmp_path / "audit.jsonl", PlainRedactor(), cap=60)
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    assert lines[0] == "x" * 60
    assert json.loads(lines[-1]) == {"truncated": True, "bytes_left_out": 40}


def test_an_audit_log_of_exactly_the_cap_is_not_called_cut(tmp_path: Path) -> None:
    source = tmp_path / "raw"
    source.write_bytes(b"x" * 60)
    copy_redacted(source, tmp_path / "audit.jsonl", PlainRedactor(), cap=60)
    assert (tmp_path / "audit.jsonl").read_bytes() == b"x" * 60


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "rows.json:1: not valid JSON"),
        (b'[{"setupId": "a', "rows.json:1: not valid JSON"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not valid JSON"),
        (b"{}", "not a list"),
        (b"[1]", "row 0 is not an object"),
        (b"[{}]", "row 0: setupId is missing"),
    ],
    ids=["empty", "torn", "binary", "deep", "object", "number", "no-keys"],
)
def test_a_damaged_file_is_one_line_that_names_it(tmp_path: Path, content: bytes, line: str) -> None:
    path = tmp_path / "rows.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_rows(path)
    assert line in str(caught.value)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_older_rows_without_the_newer_keys_are_read_as_they_are(tmp_path: Path) -> None:
    old = {
        "setupId": "m-api", "model": "m", "harness": "api", "augmentation": ["sandboxed"], "taskFolder": "a",
        "runId": "run_20260101_000000", "t": "2026-01-01T00:00:00Z", "taskName": "A", "iteration": 0,
        "status": "success", "outcomeScore": None, "unknown": {"x": 1},
    }  # fmt: skip
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([old]))
    assert read_rows(path) == [old]


def test_a_nan_written_by_another_tool_is_read_as_unknown(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"score": NaN, "more": [Infinity, -Infinity]}')
    assert read_object(path) == {"score": None, "more": [None, None]}


def test_environment_names_versions_and_hashes() -> None:
    data = Environment(
        auth_mode="scripted",
        sandbox={"kind": "off"},
        network="shared",
        control_plane={"version": "1.36.0"},
        agent={"key": "api", "version": "1"},
        task_hash="sha256:aa",
        versions={"kubectl": "1.36.0"},
    ).as_dict()
    assert next(iter(data)) == "schema_version"
    assert data["auth_mode"] == "scripted"
    absent = dict.fromkeys(("checks", "skills", "agent_binary", "code", "rules"))
    assert data["hashes"] == {"task": "sha256:aa", **absent}
    assert {"devops_bench", "python", "kernel", "machine", "kubectl"} == set(data["versions"])


def test_tree_hashes_follow_content_names_and_mode(tmp_path: Path) -> None:
    tree = tmp_path / "t"
    (tree / "sub").mkdir(parents=True)
    (tree / "sub/a").write_text("1")
    first = hash_tree(tree)
    assert first == hash_tree(tree)
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__/a.pyc").write_text("x")
    assert hash_tree(tree) == first
    (tree / "sub/a").chmod(0o700)
    second = hash_tree(tree)
    (tree / "sub/a").rename(tree / "sub/b")
    third = hash_tree(tree)
    (tree / "sub/b").write_text("2")
    (tree / "link").symlink_to("/nowhere")
    assert len({first, second, third, hash_tree(tree)}) == 4
    assert hash_tree(tmp_path / "absent") is None


def test_file_and_json_hashes(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"abc")
    assert hash_file(path) == "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert hash_file(tmp_path / "absent") is None
    assert hash_json({"a": 1, "b": 2}) == hash_json({"b": 2, "a": 1}) != hash_json({"a": 1})


def test_a_kept_binary_hash_is_renewed_when_the_file_changes(tmp_path: Path) -> None:
    path, kept = tmp_path / "bin", tmp_path / "hashes"
    path.write_bytes(b"one")
    first = hash_binary(path, kept)
    assert first == hash_file(path) == hash_binary(path, kept)
    assert len(list(kept.iterdir())) == 1
    path.write_bytes(b"three")
    assert hash_binary(path, kept) == hash_file(path) != first


def test_the_code_hash_is_known_and_steady() -> None:
    assert str(code_hash()).startswith("sha256:")
    assert code_hash() == code_hash.__wrapped__()

"""The aggregate: one batch out of many attempts, the same every time, and an honest error for anything malformed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from devops_bench.results.aggregate import aggregate, main
from devops_bench.results.environment import NO_RULES, hash_text

RUN, T = "run_20260301_000000_batch", "2026-03-01T00:00:00Z"


def put(folder: Path, *, manifest: bool = True, **changes: Any) -> dict[str, Any]:
    row = {
        "setupId": "m-api", "model": "m", "harness": "api", "augmentation": [], "runId": "run_20260101_000000_x",
        "t": "2026-01-01T00:00:00Z", "taskFolder": "common/a", "taskName": "A", "iteration": 0, "status": "success",
        "outcomeScore": 1.0, **changes,
    }  # fmt: skip
    folder.mkdir(parents=True)
    (folder / "rows.json").write_text(json.dumps([row]))
    if manifest:
        keys = ("runId", "t", "setupId", "model", "harness", "augmentation")
        (folder / "manifest.json").write_text(
            json.dumps({"schemaVersion": 2, **{key: row[key] for key in keys}, "judgeModel": "judge", "ours": 1})
        )
    return row


def rows(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "rows.json").read_text())


def test_every_row_becomes_part_of_one_batch(tmp_path: Path) -> None:
    put(tmp_path / "b/run_1", setupId="z-api", model="z")
    put(tmp_path / "a/run_1")
    put(tmp_path / "a/run_2", iteration=1)
    assert main([str(tmp_path), "--run-id", RUN, "--t", T]) == 0
    merged = rows(tmp_path)
    assert [(row["setupId"], row["iteration"]) for row in merged] == [("m-api", 0), ("m-api", 1), ("z-api", 0)]
    assert {(row["runId"], row["t"]) for row in merged} == {(RUN, T)}
    manifests = json.loads((tmp_path / "manifests.json").read_text())
    assert [(m["setupId"], m["runId"], m["t"]) for m in manifests] == [("m-api", RUN, T), ("z-api", RUN, T)]
    assert manifests[0]["judgeModel"] == "judge"


def test_unknown_keys_stay_and_missing_ones_are_not_invented(tmp_path: Path) -> None:
    put(tmp_path / "a", future={"x": [1]})
    aggregate(tmp_path)
    [row] = rows(tmp_path)
    assert row["future"] == {"x": [1]}
    assert "toolScore" not in row


def test_one_setup_with_different_rules_is_warned_of_and_nothing_else_is(tmp_path: Path, capsys: Any) -> None:
    def told(name: str, rules: Any, **changes: Any) -> None:
        put(tmp_path / name, **changes)
        (tmp_path / name / "environment.json").write_text(json.dumps({"hashes": {"rules": rules}}))

    told("a", NO_RULES)
    told("b", NO_RULES, iteration=1)
    told("c", None, iteration=2)  # an agent without a model
    told("d", ["odd"], iteration=3)
    told("e", hash_text("Be kind."), setupId="n-api")
    put(tmp_path / "f", iteration=4)  # of an older version
    assert aggregate(tmp_path).warnings == []
    told("g", hash_text("Be kind."), iteration=1)
    assert main([str(tmp_path)]) == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: setup m-api was given 2 different rules (AGENT_RULES_TEXT), its rows are not comp")
    assert f"no rules: {tmp_path}/a/rows.json" in line and f"{tmp_path}/g/rows.json" in line


def test_of_duplicates_the_greatest_time_is_kept_and_times_are_compared_as_times(tmp_path: Path) -> None:
    put(tmp_path / "a", t="2026-01-01T10:00:00Z", taskName="early")
    put(tmp_path / "b", t="2026-01-01T10:00:00.500Z", taskName="late")
    put(tmp_path / "c", t="2026-01-01T09:00:00Z", taskName="earliest")
    aggregate(tmp_path)
    assert [row["taskName"] for row in rows(tmp_path)] == ["late"]


def test_an_invalid_attempt_never_beats_a_scored_one(tmp_path: Path) -> None:
    put(tmp_path / "a", t="2026-01-01T00:00:00Z", outcomeScore=0.0)
    put(tmp_path / "b", t="2026-01-02T00:00:00Z", outcomeScore=None, status="failed")
    aggregate(tmp_path)
    [row] = rows(tmp_path)
    assert row["outcomeScore"] == 0.0


def test_running_it_again_changes_nothing_but_the_stamp(tmp_path: Path) -> None:
    put(tmp_path / "a")
    put(tmp_path / "b", iteration=1)
    first = aggregate(tmp_path, run_id=RUN, t=T)
    before = {name: (tmp_path / name).read_bytes() for name in ("rows.json", "manifests.json")}
    assert aggregate(tmp_path, run_id=RUN, t=T) == first
    assert {name: (tmp_path / name).read_bytes() for name in before} == before
    other = aggregate(tmp_path, run_id="run_20260401_000000", t="2026-04-01T00:00:00Z")
    assert [{**row, "runId": RUN, "t": T} for row in other.rows] == first.rows


def test_an_aggregate_of_a_part_of_the_tree_is_no_source(tmp_path: Path) -> None:
    put(tmp_path / "run-1/rid/run_1", taskName="from the attempt")
    aggregate(tmp_path / "run-1", run_id=RUN, t="2027-01-01T00:00:00Z")
    put(tmp_path / "run-2/rid/run_1", t="2026-06-01T00:00:00Z", taskName="newer")
    assert aggregate(tmp_path).files == 2
    assert [row["taskName"] for row in rows(tmp_path)] == ["newer"]


def test_another_out_folder_is_made_and_root_is_left_alone(tmp_path: Path) -> None:
    put(tmp_path / "tree/a")
    aggregate(tmp_path / "tree", tmp_path / "new/out")
    assert sorted(path.name for path in (tmp_path / "new/out").iterdir()) == ["manifests.json", "rows.json"]
    assert [path.name for path in (tmp_path / "tree").iterdir()] == ["a"]


def test_trees_without_manifests_get_one_from_the_rows(tmp_path: Path) -> None:
    put(tmp_path / "a", manifest=False)
    [manifest] = aggregate(tmp_path).manifests
    assert manifest["schemaVersion"] == 2
    assert manifest["model"] == "m"
    assert manifest["timeoutSec"] is None


def test_two_models_under_one_setup_id_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(tmp_path / "a", setupId="qwen3-8b-api", model="qwen3:8b")
    put(tmp_path / "b", setupId="qwen3-8b-api", model="qwen3-8b")
    assert main([str(tmp_path)]) == 0
    warning = capsys.readouterr().err
    assert "qwen3:8b" in warning
    assert "qwen3-8b" in warning


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"iteration": "0"}, "iteration is '0'"),
        ({"iteration": True}, "iteration is True"),
        ({"iteration": -1}, "iteration is -1"),
        ({"t": "2026-01-01T00:00:00"}, "t is "),
        ({"t": 5}, "t is 5"),
        ({"runId": "x"}, "runId is 'x'"),
        ({"taskFolder": ""}, "taskFolder is ''"),
        ({"outcomeScore": "1.0"}, "outcomeScore is '1.0'"),
        ({"augmentation": "mcp"}, "augmentation is 'mcp'"),
        ({"catastrophic": 0}, "catastrophic is 0"),
        ({"checks": [1]}, "checks is [1]"),
        ({"model": "x" * 500, "setupId": 3}, "setupId is 3"),
    ],
)
def test_a_malformed_row_is_exit_2_with_one_line_naming_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], changes: dict[str, Any], words: str
) -> None:
    put(tmp_path / "good")
    put(tmp_path / "bad", **changes)
    assert main([str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert str(tmp_path / "bad/rows.json") in err
    assert words in err
    assert not (tmp_path / "rows.json").exists()


@pytest.mark.parametrize(
    "argv",
    [
        ["{root}/absent"],
        ["{root}/empty"],
        ["{root}/full", "--run-id", "x"],
        ["{root}/full", "--t", "today"],
        ["{root}/full", "--t", "2026-01-01T00:00:00+01:00"],
        ["{root}/full/a"],
        ["{root}/full", "-o", "{root}/full/a"],
        ["{root}/full", "-o", "{root}/file"],
    ],
)
def test_usage_errors_are_exit_2_and_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], argv: list[str]
) -> None:
    put(tmp_path / "full/a")
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    before = sorted((str(path), path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file())
    assert main([word.format(root=tmp_path) for word in argv]) == 2
    err = capsys.readouterr().err
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert sorted((str(path), path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()) == before


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    put(tmp_path / "a")
    command = [sys.executable, "-m", "devops_bench.results.aggregate", str(tmp_path), "--run-id", RUN]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1 row of 1 setup from 1 file:" in done.stdout
    assert rows(tmp_path)[0]["runId"] == RUN
    missing = subprocess.run([*command[:3]], capture_output=True, text=True, check=False)
    assert missing.returncode == 2

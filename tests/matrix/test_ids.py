"""Ids: injective, safe on every file system, stable, and of bounded length."""

from __future__ import annotations

import re
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.matrix import ids

WORD = st.text(min_size=1, max_size=120) | st.from_regex(r"[A-Za-z0-9._:/@+~,=-]{1,40}", fullmatch=True)
REPEAT = st.integers(0, ids.REPEAT_MAX)
PARTS = st.tuples(WORD, WORD, WORD, REPEAT)
# A denser space: short parts over the very characters that the encoding treats specially.
TRICKY = st.text(alphabet="aA_.-~,:/=@ é", min_size=1, max_size=4)
TRICKY_PARTS = st.tuples(TRICKY, TRICKY, TRICKY, st.integers(0, 2))
RID = re.compile(r"[a-z0-9][a-z0-9._+@~,=-]*", re.ASCII)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("opa-remediation", "gemini-3.1-pro", "oc+mcp+skills"), "opa-remediation__gemini-3.1-pro__oc+mcp+skills"),
        (("opa-remediation", "gemini-3-1-pro", "oc"), "opa-remediation__gemini-3-1-pro__oc"),
        (("x", "qwen3:8b", "api"), "x__qwen3~8b__api"),
        (("x", "qwen38b", "api"), "x__qwen38b__api"),
        (("x", "claude-opus@20250101", "cc"), "x__claude-opus@20250101__cc"),
        (("x", "openai/gpt-5", "api", 3), "x__openai,gpt-5__api__r3"),
        (("common/x", "m", "noop"), "common,x__m__noop"),
        (("x", "Qwen3", "api"), "x__qwen3=svrmj7evdolg__api"),
    ],
)
def test_common_ids_stay_readable_and_never_change(parts: tuple[str, str, str], expected: str) -> None:
    assert ids.rid(*parts) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qwen3:8b", "qwen38b"),
        ("3.1", "3-1"),
        ("m@1", "m1"),
        ("a/b", "a-b"),
        ("a/b", "a,b"),
        ("a:b", "a~b"),
        ("Model", "model"),
        ("straße", "STRASSE"),
        ("caf\u00e9", "cafe\u0301"),
        ("..", "."),
        ("-m", "m"),
        (".m", "m"),
        ("m ", "m"),
        ("m" * 300, "m" * 301),
    ],
)
def test_model_ids_that_look_alike_have_different_run_ids(one: str, other: str) -> None:
    assert ids.rid("t", one, "api") != ids.rid("t", other, "api")


@given(PARTS, PARTS)
def test_two_combos_never_share_a_run_id(one: tuple[str, str, str, int], other: tuple[str, str, str, int]) -> None:
    assert (ids.rid(*one) == ids.rid(*other)) == (one == other)


@given(st.lists(TRICKY_PARTS, min_size=2, max_size=200, unique=True))
@example([("a__b", "c", "d", 0), ("a", "b__c", "d", 0), ("a_", "b", "c", 0), ("a", "_b", "c", 0)])
@example([("a", "b", "c__r1", 0), ("a", "b", "c", 1)])
def test_run_ids_differ_even_where_the_file_system_folds_case(combos: list[tuple[str, str, str, int]]) -> None:
    assert len({ids.rid(*parts).casefold() for parts in combos}) == len(combos)


@given(PARTS | TRICKY_PARTS)
def test_a_run_id_is_a_safe_file_name_and_a_pure_function(parts: tuple[str, str, str, int]) -> None:
    run_id = ids.rid(*parts)
    assert RID.fullmatch(run_id)
    assert ".." not in run_id
    assert not run_id.endswith(".")
    assert len(run_id.encode()) <= ids.RID_MAX
    assert run_id.count("__") == (3 if parts[3] else 2)
    assert ids.rid(*parts) == run_id
    name = ids.attempt_name(run_id, datetime.now(UTC))
    assert re.fullmatch(r"run_\d{8}_\d{6}(_.+)?", name)
    assert len(name.encode()) <= 255


@given(PARTS)
def test_a_part_without_a_digest_reads_back_exactly(parts: tuple[str, str, str, int]) -> None:
    run_id = ids.rid(*parts)
    *texts, repeat = ids.parts(run_id)
    assert repeat == parts[3]
    for text, original in zip(texts, parts[:3], strict=True):
        assert "=" in text or text == original


def test_a_run_id_survives_undecodable_bytes_of_the_environment() -> None:
    assert ids.rid("t", "m\udcff", "api") != ids.rid("t", "m\udcfe", "api")


@pytest.mark.parametrize("repeat", [-1, ids.REPEAT_MAX + 1])
def test_a_repeat_out_of_range_is_refused(repeat: int) -> None:
    with pytest.raises(ValueError, match="repeat"):
        ids.rid("t", "m", "api", repeat)


@given(PARTS, st.text(max_size=60))
def test_the_cluster_name_is_a_dns_label_that_keeps_the_token_when_cut(
    parts: tuple[str, str, str, int], base: str
) -> None:
    token = ids.token(ids.rid(*parts))
    name = ids.cluster_name(token, base)
    assert re.fullmatch(r"c[0-9a-f]{7}", token)
    assert re.fullmatch(r"[a-z]([a-z0-9-]*[a-z0-9])?", name)
    assert len(name) <= 40
    assert name[:10].startswith(token)


def test_the_cluster_name_is_the_token_and_the_base() -> None:
    run_id = "opa-remediation__gemini-3.1-pro__oc+mcp+skills"
    assert ids.cluster_name(ids.token(run_id), "eval") == f"{ids.token(run_id)}-eval"
    assert ids.cluster_name("c0123456", "a" * 30 + "-b") == "c0123456-" + "a" * 30


def test_launches_in_one_second_get_different_stamps(tmp_path: Path) -> None:
    """Two launches in one second shared a stamp and ran every combo twice."""
    now = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    with ThreadPoolExecutor(16) as pool:
        folders = list(pool.map(lambda _: ids.reserve_run_dir(tmp_path / "runs", now), range(200)))
    assert len(set(folders)) == 200
    assert all(re.fullmatch(r"20300102_030405-[a-z2-7]{8}", folder.name) for folder in folders)
    assert all(stat.S_IMODE(folder.stat().st_mode) == 0o700 for folder in [*folders, tmp_path / "runs"])


def test_a_run_folder_is_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert ids.reserve_run_dir(Path("runs")).parent == tmp_path / "runs"


def test_a_stamp_that_is_taken_is_never_handed_out_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = iter(["20300102_030405-aaaaaaaa", "20300102_030405-aaaaaaaa", "20300102_030405-bbbbbbbb"])
    monkeypatch.setattr(ids, "new_stamp", lambda _now: next(draws))
    assert ids.reserve_run_dir(tmp_path).name.endswith("-aaaaaaaa")
    assert ids.reserve_run_dir(tmp_path).name.endswith("-bbbbbbbb")


def test_a_runs_root_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    with pytest.raises(
        ConfigError, match=r"runs: the runs root cannot be used: Not a directory; set DEVOPS_BENCH_RUNS"
    ):
        ids.reserve_run_dir(tmp_path / "runs")


def test_attempts_of_one_second_take_the_next_second(tmp_path: Path) -> None:
    now = datetime(2030, 1, 2, 3, 4, 59, tzinfo=UTC)
    names = [ids.reserve_attempt_dir(tmp_path, "t__m__api", now).name for _ in range(3)]
    assert names == [
        "run_20300102_030459_t__m__api",
        "run_20300102_030500_t__m__api",
        "run_20300102_030501_t__m__api",
    ]

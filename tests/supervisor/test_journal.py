"""The journal: whole or absent, one fold, damage named by its line."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.settings import ComboState
from devops_bench.supervisor import journal, snapshot
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.state import RunState, fold


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "20261129_120000-abc"
    folder.mkdir()
    return folder


def test_events_come_back_with_growing_seq(run_dir: Path) -> None:
    log = Journal(run_dir)
    log.append("launched", rids=["a"])
    log.append("phase", rid="a", phase="agent")
    log.close()
    again = Journal(run_dir)
    again.append("done")
    again.close()
    events, offset = journal.read(run_dir)
    assert [event["seq"] for event in events] == [1, 2, 3]
    assert {event["run"] for event in events} == {run_dir.name}
    assert offset == (run_dir / journal.NAME).stat().st_size


@pytest.mark.parametrize("cut", range(1, 40))
def test_a_torn_last_line_is_dropped_and_overwritten(run_dir: Path, cut: int) -> None:
    log = Journal(run_dir)
    log.append("launched", rids=["a"])
    whole = (run_dir / journal.NAME).stat().st_size
    log.append("phase", rid="a", phase="agent")
    log.close()
    os.truncate(run_dir / journal.NAME, (run_dir / journal.NAME).stat().st_size - cut)
    events, offset = journal.read(run_dir)
    assert len(events) == 1 and offset == whole
    again = Journal(run_dir)
    again.append("done")
    again.close()
    events, _ = journal.read(run_dir)
    assert [(event["seq"], event["event"]) for event in events] == [(1, "launched"), (2, "done")]


@pytest.mark.parametrize("line", [b"{}", b"not json", b"[]", b'{"seq":"1","event":"x"}', b'{"seq":1}', b"\xff"])
def test_a_damaged_line_names_file_and_line(run_dir: Path, line: bytes) -> None:
    log = Journal(run_dir)
    log.append("launched", rids=[])
    log.close()
    path = run_dir / journal.NAME
    path.write_bytes(path.read_bytes() + line + b"\n")
    with pytest.raises(ConfigError) as caught:
        snapshot.load(run_dir)
    assert f"{path}:2: damaged journal line" in caught.value.message()
    assert "\n" not in caught.value.message()


def test_a_full_disk_leaves_no_torn_line_and_the_ballast_saves_the_last_word(
    run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Journal(run_dir, ballast=4096)
    log.append("launched", rids=[])
    assert (run_dir / journal.BALLAST).stat().st_size == 4096
    real = os.write

    def full(fd: int, data: bytes) -> int:
        if fd == log._fd and (run_dir / journal.BALLAST).exists():
            real(fd, data[:5])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data)

    monkeypatch.setattr(os, "write", full)
    log.append("stop_requested", how="graceful")
    assert not (run_dir / journal.BALLAST).exists()
    log.close()
    events, _ = journal.read(run_dir)
    assert [event["event"] for event in events] == ["launched", "stop_requested"]


def finished(rid: str, state: str, attempt: int = 1) -> dict[str, object]:
    return {"event": "combo_finished", "rid": rid, "state": state, "attempt": attempt, "exit": 0}


EVENTS = st.lists(
    st.one_of(
        st.builds(
            lambda rid, n: {
                "event": "combo_started",
                "rid": rid,
                "attempt": n,
                "directory": f"{rid}/x",
                "worker": {"pid": 1},
            },
            st.sampled_from("abc"),
            st.integers(1, 3),
        ),
        st.builds(finished, st.sampled_from("abc"), st.sampled_from(["scored", "failed", "invalid", "stopped"])),
        st.builds(lambda rid: {"event": "phase", "rid": rid, "phase": "agent"}, st.sampled_from("abc")),
        st.builds(lambda rid: {"event": "retry_planned", "rid": rid, "attempt": 1, "delay": 1}, st.sampled_from("abc")),
        st.just({"event": "some_future_event", "x": 1}),
        st.just({"event": "summarised"}),
    ),
    max_size=30,
)


def numbered(events: list[dict[str, object]]) -> list[dict[str, object]]:
    first = {"event": "launched", "rids": ["a", "b", "c"], "run": "r"}
    return [{"seq": n, "time": f"t{n}", **event} for n, event in enumerate([first, *events], start=1)]


@given(EVENTS, st.integers(0, 30))
def test_state_is_the_same_however_the_fold_is_cut(events: list[dict[str, object]], cut: int) -> None:
    whole = fold(numbered(events))
    first, second = numbered(events)[:cut], numbered(events)[cut:]
    halfway = RunState.from_data(json.loads(json.dumps(fold(first).to_data())))
    assert fold(second, halfway).to_data() == whole.to_data()


def test_a_snapshot_is_only_a_cache(run_dir: Path) -> None:
    log = Journal(run_dir)
    log.append("launched", rids=["a"])
    snapshot.write(run_dir, fold(journal.read(run_dir)[0]), log.path.stat().st_size)
    log.append("combo_started", rid="a", attempt=1, directory="a/x", worker={"pid": 1})
    log.close()
    with_cache = snapshot.load(run_dir)[0]
    assert with_cache.combos["a"].state is ComboState.RUNNING
    for damage in (b"", b"{", b'{"offset": 99999999, "state": {}}', b'{"offset": 0, "state": {"version": 0}}'):
        (run_dir / snapshot.NAME).write_bytes(damage)
        assert snapshot.load(run_dir)[0].to_data() == with_cache.to_data()

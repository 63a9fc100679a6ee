"""Lease files: what a sweep may conclude from them, after crashes, reboots and from other containers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.clusters import leases
from devops_bench.clusters.leases import Lease
from devops_bench.clusters.sweep import UNFINISHED_AGE, abandoned, sweep
from devops_bench.process import ProcessIdentity


def make(root: Path, **owner: str | int) -> Path:
    folder, lease = leases.reserve(root, leases.myself(), "key")
    leases.write(folder, replace(lease, owner=replace(lease.owner, **owner)))  # type: ignore[arg-type]
    return folder


def age(folder: Path) -> None:
    past = folder.stat().st_mtime - 2 * UNFINISHED_AGE
    os.utime(folder, (past, past))


def test_a_lease_reads_as_it_was_written(root: Path) -> None:
    folder, lease = leases.reserve(root, leases.myself(), "abc")
    ready = leases.Ready("https://x", Path("/a"), Path("/b"), Path("/c"), Path("/d"), "v1.36.1", 3, 1.5)
    full = replace(lease, plane=ProcessIdentity(1, 2, "boot", "ns"), name="c0000001-eval", ready=ready)
    leases.write(folder, full)
    assert leases.read(folder) == full
    assert (folder / leases.LEASE).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}', b"\xff\xfe", b'{"owner": {"pid": "x"}}'])
def test_a_damaged_lease_is_none(content: bytes) -> None:
    assert Lease.from_json(content) is None


def test_owners_of_this_boot_are_judged_by_identity(root: Path) -> None:
    mine, reused = make(root), make(root, ticks=1)
    assert not abandoned(mine, leases.read(mine))
    assert abandoned(reused, leases.read(reused))
    assert [swept.folder for swept in sweep(root)] == [reused]
    assert mine.is_dir()


@pytest.mark.parametrize("other", [{"boot": "before-the-reboot"}, {"namespace": "pid:[1]"}])
def test_owners_that_cannot_be_seen_are_judged_by_the_planes_lock(root: Path, other: dict[str, str]) -> None:
    folder = make(root, **other)
    assert not abandoned(folder, leases.read(folder)), "it may be about to start its plane"
    held = leases.hold_log(folder)
    age(folder)
    assert not abandoned(folder, leases.read(folder))
    os.close(held)
    age(folder)
    assert abandoned(folder, leases.read(folder))


@pytest.mark.parametrize("content", [None, "{"])
def test_a_plane_whose_lease_was_lost_goes_as_soon_as_it_has_ended(root: Path, content: str | None) -> None:
    folder = make(root)
    held = leases.hold_log(folder)
    (folder / leases.LEASE).unlink()
    if content is not None:
        (folder / leases.LEASE).write_text(content)
    assert sweep(root) == [], "its plane lives"
    os.close(held)
    assert [swept.folder for swept in sweep(root)] == [folder]
    assert not folder.exists()


def test_a_draft_that_a_killed_process_left_goes_when_it_is_old(root: Path) -> None:
    draft = leases.planes_root(root) / f"{leases.DRAFT}0123"
    draft.mkdir(parents=True)
    assert sweep(root) == []
    age(draft)
    assert [swept.folder for swept in sweep(root)] == [draft]
    assert not draft.exists()


def test_a_sweep_can_be_limited_to_one_cluster(root: Path) -> None:
    folders = {}
    for name in ("c0000001-eval", "c0000002-eval"):
        folders[name] = make(root, ticks=1)
        lease = leases.read(folders[name])
        assert lease
        leases.write(folders[name], replace(lease, name=name))
    assert [swept.name for swept in sweep(root, only="c0000002-eval")] == ["c0000002-eval"]
    assert folders["c0000001-eval"].is_dir() and not folders["c0000002-eval"].exists()


def test_nothing_below_the_state_root_but_planes_is_touched(root: Path) -> None:
    (root / "some__rid").mkdir()
    (leases.planes_root(root)).mkdir()
    (leases.planes_root(root) / "stray-file").touch()
    assert sweep(root) == []
    assert (root / "some__rid").is_dir() and (leases.planes_root(root) / "stray-file").exists()
    assert sweep(root / "not-there") == []

"""A hostile HOME: no link is followed, nothing blocks, nothing is read without bound."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from devops_bench.agents.frame import home as module
from devops_bench.agents.frame.home import Home
from devops_bench.errors import HarnessError


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "secret").write_text("CANARY")
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_files_are_private_and_replace_what_was_there(root: Path) -> None:
    home = Home(root)
    home.write(".cli/deep/settings.json", "{}")
    home.write(".cli/deep/settings.json", "[]")
    path = root / ".cli/deep/settings.json"
    assert path.read_text() == "[]"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((root / ".cli").stat().st_mode) == 0o700


def test_writing_replaces_a_link_and_refuses_one_on_the_way(root: Path) -> None:
    home = Home(root)
    (root / "config").symlink_to(root.parent / "secret")
    home.write("config", "mine")
    assert (root.parent / "secret").read_text() == "CANARY"
    assert not (root / "config").is_symlink()
    (root / "folder").symlink_to(root.parent)
    with pytest.raises(HarnessError, match="folder is no folder"):
        home.write("folder/new", "x")
    with pytest.raises(HarnessError, match="leaves the home"):
        home.write("../new", "x")
    assert not (root.parent / "new").exists()


def test_links_are_never_read(root: Path) -> None:
    home = Home(root)
    (root / "direct").symlink_to(root.parent / "secret")
    (root / "through").symlink_to(root.parent)
    for name in ("direct", "through/secret", "absent"):
        assert home.path(name) is None
    assert home.read("direct") is None
    assert home.read("through/secret") is None
    assert home.read("absent") is None
    assert home.files("") == []
    assert home.files("through") == []


def test_leaving_the_home_is_our_mistake(root: Path) -> None:
    with pytest.raises(HarnessError, match="leaves the home"):
        Home(root).read("../secret")


def test_pipes_and_folders_are_no_files_and_do_not_block(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "folder").mkdir()
    home = Home(root)
    assert home.read("pipe") is None
    assert home.read("folder") is None
    assert home.path("pipe") is None
    assert home.files("") == []


def test_reading_stops_at_the_cap(root: Path) -> None:
    (root / "big").write_bytes(b"x" * 1000)
    assert Home(root).read("big", cap=10) == b"x" * 10


def test_listing_finds_by_suffix_below_and_is_bounded(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a/b/two.jsonl", "one.jsonl", "a/other.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    home = Home(root)
    assert home.files("", ".jsonl") == ["a/b/two.jsonl", "one.jsonl"]
    assert home.files("a", ".jsonl") == ["a/b/two.jsonl"]
    assert home.files("absent") == []
    monkeypatch.setattr(module, "MAX_ENTRIES", 0)
    assert home.files("") == []
    monkeypatch.undo()
    monkeypatch.setattr(module, "MAX_DEPTH", 1)
    assert home.files("", ".jsonl") == ["one.jsonl"]

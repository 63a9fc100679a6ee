"""BENCH_AGENT_SANDBOX: every word of the contract, and what is said when the host cannot."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.sandbox import SandboxKind, SandboxMode, detect
from devops_bench.sandbox.mode import find_bwrap


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "OFF", " No "])
def test_off_words_switch_it_off_loudly(word: str) -> None:
    found = detect({"BENCH_AGENT_SANDBOX": word})
    assert found.kind is SandboxKind.OFF
    assert not found.sandboxed
    assert "WITHOUT a sandbox" in found.warning
    assert "\n" not in found.warning


@pytest.mark.parametrize("word", ["", "1", "true", "bwrap", "TRUE"])
def test_on_words_switch_it_on(mode: SandboxMode, word: str) -> None:
    found = detect({"BENCH_AGENT_SANDBOX": word, "PATH": os.environ["PATH"]})
    assert found.sandboxed
    assert found.warning == ""
    assert found.bwrap is not None


@pytest.mark.parametrize(
    ("word", "says"),
    [("docker", "docker is not available yet"), ("maybe", "'maybe' is not known"), ("2", "'2' is not known")],
)
def test_other_words_are_errors(word: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        detect({"BENCH_AGENT_SANDBOX": word})


@pytest.fixture
def forbidden(tmp_path: Path) -> str:
    """A PATH whose bwrap fails as it does where user namespaces are forbidden."""
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    return str(tmp_path)


def test_a_host_that_forbids_namespaces_gets_one_warning_line(forbidden: str) -> None:
    found = detect({"PATH": forbidden})
    assert not found.sandboxed
    assert "forbids user namespaces (bwrap: No permissions" in found.warning
    assert "\n" not in found.warning


def test_asked_for_but_impossible_is_an_error(forbidden: str) -> None:
    with pytest.raises(ConfigError, match=r"forbids user namespaces.*BENCH_AGENT_SANDBOX=off"):
        detect({"PATH": forbidden, "BENCH_AGENT_SANDBOX": "1"})


def test_the_systems_bwrap_comes_before_the_wheel(forbidden: str, tmp_path: Path) -> None:
    assert find_bwrap(forbidden) == Path(forbidden, "bwrap")
    empty = tmp_path / "empty"
    empty.mkdir()
    wheel = find_bwrap(str(empty))
    assert wheel is None or wheel.parts[-2:] == ("_bin", "bwrap")

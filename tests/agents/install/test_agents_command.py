"""`devops-bench agents` as a user meets it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devops_bench.cli import run_command


def call(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = run_command("agents", args, "devops-bench agents")
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEVOPS_BENCH_CACHE", str(tmp_path / "cache"))


def test_list_names_every_agent_and_where_it_comes_from(capsys) -> None:
    code, out, _ = call(capsys, "list", "--json")
    rows: dict[str, Any] = {row["key"]: row for row in json.loads(out)}
    assert code == 0
    assert rows["noop"]["source"] == "built in"
    gemini = rows["gemini"]
    assert (gemini["preset"], gemini["source"], gemini["pinned"]) == ("gcli", "", "0.61.0")
    assert gemini["title"] == "Gemini CLI" and gemini["wires"] == ["google"]
    assert rows["kubernetes-mcp-server"]["pinned"] == "0.0.67" and "node" not in rows


def test_list_as_a_table(capsys) -> None:
    code, out, _ = call(capsys, "list")
    lines = out.splitlines()
    assert code == 0 and lines[0].split() == ["KEY", "PRESET", "TITLE", "VERSION", "SOURCE", "WIRES", "SIZE"]
    assert any(line.startswith("openclaw") and "not installed" in line for line in lines)


def test_a_target_shows_up_for_every_agent(capsys, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("AGENT_TARGET", str(tmp_path / "nowhere"))
    code, out, err = call(capsys, "list")
    assert code == 0 and "not usable" in out and "gemini: AGENT_TARGET=" in err


def test_show(capsys) -> None:
    code, out, _ = call(capsys, "show", "gemini-cli")
    assert code == 0 and "install  devops-bench agents install gemini" in out and "key      gemini" in out


@pytest.mark.parametrize("verb", ["show", "install", "doctor"])
def test_an_unknown_agent_is_usage(capsys, verb: str) -> None:
    code, _, err = call(capsys, verb, "gemni")
    assert code == 2 and "did you mean gemini?" in err


def test_install_wants_to_know_what(capsys) -> None:
    code, _, err = call(capsys, "install")
    assert code == 2 and "KEY... of gemini, openclaw" in err
    code, _, err = call(capsys, "install", "--all", "gemini")
    assert code == 2


def test_doctor_says_what_is_missing_and_fails_only_for_what_was_named(capsys) -> None:
    code, out, _ = call(capsys, "doctor", "codex")
    assert code == 3 and "broken  codex: not installed; devops-bench agents install codex" in out
    code, out, _ = call(capsys, "doctor", "--json")
    states = {finding["name"]: finding["state"] for finding in json.loads(out)}
    assert code == 0 and states["codex"] == "missing" and {"sandbox", "npm", "node"} <= set(states)


@pytest.mark.sandbox
def test_install_then_doctor_starts_it_in_the_sandbox(capsys) -> None:
    code, out, err = call(capsys, "install", "gemini")
    assert code == 0 and "gemini 0.61.0 installed: 93 MiB" in out and "gemini: fetch" in err
    code, out, _ = call(capsys, "install", "gemini")
    assert code == 0 and "gemini 0.61.0 is installed" in out
    code, out, _ = call(capsys, "doctor", "gemini")
    assert code == 0 and "ok      gemini 0.61.0 (pinned): starts in the sandbox" in out

"""Pinned packages, Node ranges and npm's environment: pure functions over committed files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devops_bench.agents.install import install_line, installable, pinned_version
from devops_bench.agents.install.npm import failure, npm_environment
from devops_bench.agents.install.packages import PACKAGES, lock, package, plain_version, satisfies
from devops_bench.errors import ConfigError

LOCKED = [key for key, row in PACKAGES.items() if row.pinned]


@pytest.mark.parametrize("key", LOCKED)
def test_every_package_is_pinned_and_held_by_its_hash(key: str) -> None:
    locked = lock(key)
    manifest = json.loads(locked.manifest)
    wanted = {**manifest.get("dependencies", {}), **manifest.get("optionalDependencies", {})}
    assert wanted and all(not version.startswith(("^", "~", "*", ">", "latest")) for version in wanted.values())
    assert locked.entries
    for folder, item in locked.entries.items():
        assert item.get("inBundle") or item["integrity"].startswith("sha512-"), folder
        assert "resolved" not in item, "a lock names no registry"
    assert b"://" not in locked.lock
    assert 0 < locked.count <= len(locked.entries)


@pytest.mark.parametrize("key", LOCKED)
def test_a_program_belongs_to_a_locked_package(key: str) -> None:
    row = package(key)
    for machine in row.programs if "*" not in row.programs else ("x86_64", "aarch64"):
        assert f"node_modules/{row.npm_name(machine)}" in lock(key).entries


def test_the_key_of_a_lock_changes_with_all_that_decides_what_is_installed() -> None:
    from dataclasses import replace

    locked = lock("gemini")
    others = {
        replace(locked, lock=locked.lock + b" ").key,
        replace(locked, manifest=locked.manifest + b" ").key,
        replace(locked, package=replace(locked.package, omit=())).key,
    }
    assert len(others | {locked.key}) == 4 and len(locked.key) == 12


def test_a_machine_that_a_package_is_not_built_for_is_told() -> None:
    with pytest.raises(ConfigError, match=r"opencode is pinned for x86_64, this machine is riscv64; put opencode on"):
        package("opencode").program("riscv64")


def test_what_to_do_when_it_is_missing() -> None:
    assert install_line("codex") == "devops-bench agents install codex"
    assert install_line("kubectl-ai") == "put kubectl-ai on PATH, or set AGENT_TARGET"
    assert "node" not in installable() and pinned_version("kubectl-ai") == ""
    with pytest.raises(ConfigError, match="nothing to install is called 'nope'; use one of gemini"):
        package("nope")


@pytest.mark.parametrize(
    ("version", "wanted", "holds"),
    [
        ("v24.19.0", ">=24.16.0 <25 || >=26.1.0", True),
        ("24.15.9", ">=24.16.0 <25 || >=26.1.0", False),
        ("25.3.0", ">=24.16.0 <25 || >=26.1.0", False),
        ("26.1.0", ">=24.16.0 <25 || >=26.1.0", True),
        ("20.20.2", ">=20", True),
        ("18.0.0", ">=20", False),
        ("22.5.1", "^22.1.0", True),
        ("23.0.0", "^22.1.0", False),
        ("22.5.1", "~22.5.0", True),
        ("22.6.0", "~22.5.0", False),
        ("22.6.0", "22", True),
        ("22.6.0", "*", True),
        ("", "*", False),
    ],
)
def test_npm_ranges(version: str, wanted: str, holds: bool) -> None:
    assert satisfies(version, wanted) is holds


def test_a_platform_is_no_part_of_a_version() -> None:
    assert plain_version("0.171.0-linux-x64") == "0.171.0"
    assert plain_version("1.2.3-beta.1") == "1.2.3-beta.1"


def test_npm_gets_the_users_network_settings_and_none_of_the_users_secrets(tmp_path: Path) -> None:
    (tmp_path / ".npmrc").write_text("registry=http://127.0.0.1:1/\n")
    env = {
        "HOME": str(tmp_path),
        "PATH": "/bin",
        "GEMINI_API_KEY": "k",
        "NODE_OPTIONS": "--inspect",
        "HTTPS_PROXY": "http://127.0.0.1:2",
        "npm_config_registry": "http://127.0.0.1:3",
        "NPM_CONFIG_IGNORE_SCRIPTS": "false",
        "npm_config_cache": "/elsewhere",
    }
    made = npm_environment(env, tmp_path / "home", tmp_path / "cache", tmp_path / "w.cjs")
    assert made["npm_config_registry"] == "http://127.0.0.1:3" and made["HTTPS_PROXY"] == "http://127.0.0.1:2"
    assert made["npm_config_userconfig"] == str(tmp_path / ".npmrc") and made["HOME"] == str(tmp_path / "home")
    assert made["npm_config_ignore_scripts"] == "true" and "NPM_CONFIG_IGNORE_SCRIPTS" not in made
    assert made["npm_config_cache"] == str(tmp_path / "cache")
    assert "GEMINI_API_KEY" not in made and "inspect" not in made["NODE_OPTIONS"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (["npm error code ENOTFOUND", "npm error request to http://x failed"], "the npm registry cannot be reached"),
        (["npm error code E404", "npm error 404 Not Found"], "does not have a pinned package"),
        (["npm error code ENOSPC", "npm error nospc no space left"], "free disk space, or set DEVOPS_BENCH_CACHE"),
        (["npm error code EINTEGRITY", "npm error sha512-a wanted, got sha512-b"], "EINTEGRITY: sha512-a wanted"),
        ([], "npm ended with status 7"),
    ],
)
def test_an_error_of_npm_is_one_line(said: list[str], told: str) -> None:
    message = failure("gemini", 7, said).message()
    assert told in message and "\n" not in message and message.startswith("cannot install gemini: ")

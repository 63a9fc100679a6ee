"""The secrets file: read as a shell would, refused when others can read it, and never shown."""

from __future__ import annotations

import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench.errors import ConfigError
from devops_bench.matrix.secrets import KEY_NAMES, Secrets, parse, read_secrets, secrets_file
from devops_bench.redact import is_secret_name

TEXT = """
# keys of the team
export GEMINI_API_KEY="AIza with space"   # quoted
ANTHROPIC_API_KEY='it"s $literal'
OPENAI_API_KEY=sk-plain#kept  # dropped
AGENT_API_KEY=
JUDGE_API_KEY=first
JUDGE_API_KEY="say \\"hi\\" \\$5 \\\\"
   WITH_SPACES=1
"""
VALUES = {
    "GEMINI_API_KEY": "AIza with space",
    "ANTHROPIC_API_KEY": 'it"s $literal',
    "OPENAI_API_KEY": "sk-plain#kept",
    "JUDGE_API_KEY": 'say "hi" $5 \\',
    "WITH_SPACES": "1",
}


def write(path: Path, text: str, mode: int = 0o600) -> Path:
    path.write_text(text)
    path.chmod(mode)
    return path


def test_a_file_reads_as_a_shell_reads_it(tmp_path: Path) -> None:
    path = write(tmp_path / "secrets.env", TEXT)
    assert dict(read_secrets(path)) == VALUES
    script = f"set -a; . {shlex.quote(str(path))}; env -0"
    shell = subprocess.run(["sh", "-c", script], env={}, capture_output=True, check=True).stdout.decode()
    seen = dict(item.split("=", 1) for item in shell.split("\0") if item)
    assert {name: seen[name] for name in VALUES} == VALUES


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0\n\r"), min_size=1, max_size=40))
def test_any_value_survives_single_quotes(value: str) -> None:
    if "'" not in value:
        assert parse(f"export KEY='{value}'", Path("f")) == {"KEY": value}


def test_a_missing_file_holds_no_secrets(tmp_path: Path) -> None:
    assert dict(read_secrets(secrets_file({"HOME": str(tmp_path)}))) == {}


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620, 0o610])
def test_a_file_that_others_can_use_is_refused_with_the_command_to_run(tmp_path: Path, mode: int) -> None:
    path = write(tmp_path / "secrets.env", "KEY=hunter2hunter2", mode)
    with pytest.raises(ConfigError) as caught:
        read_secrets(path)
    assert str(caught.value).endswith(f"run: chmod 600 {path}")
    assert caught.value.exit_code == 2
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.parametrize(
    "line",
    [
        "sk-hunter2",
        "my key=hunter2",
        'KEY="hunter2',
        "KEY='hunter2",
        'KEY="hunter2"tail',
        "KEY='hunter2' tail",
        "1K=hunter2",
    ],
)
def test_a_bad_line_is_named_by_number_and_never_shown(tmp_path: Path, line: str) -> None:
    path = write(tmp_path / "secrets.env", f"# first\n{line}\n")
    with pytest.raises(ConfigError) as caught:
        read_secrets(path)
    assert str(caught.value).startswith(f"{path}:2: not a KEY=VALUE line")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("raw", [b"KEY=\xff\xfe", b"KEY=a\0b"])
def test_bytes_that_are_no_text_are_refused(tmp_path: Path, raw: bytes) -> None:
    path = write(tmp_path / "secrets.env", "")
    path.write_bytes(raw)
    with pytest.raises(ConfigError):
        read_secrets(path)


def test_only_a_regular_file_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "secrets.env", 0o600)
    with pytest.raises(ConfigError, match="is not a regular file"):
        read_secrets(tmp_path / "secrets.env")
    (tmp_path / "folder").mkdir(mode=0o700)
    with pytest.raises(ConfigError, match="is not a regular file"):
        read_secrets(tmp_path / "folder")


def test_values_show_in_no_representation() -> None:
    secrets = Secrets({"B_KEY": "hunter2", "A_KEY": "hunter3"})
    for text in (repr(secrets), str(secrets), f"{secrets}", f"{[secrets]!r}"):
        assert text.strip("[]") == "Secrets(A_KEY, B_KEY)"


def test_every_key_of_the_contract_is_a_secret_by_name() -> None:
    assert all(map(is_secret_name, KEY_NAMES))

"""The program's front door: help, version, typos, and no traceback whatever happens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench import __version__, cli
from devops_bench.errors import ConfigError, HarnessError, RefusedError

PROGRAM = Path(sys.executable).parent / "devops-bench"


def call(*args: str, module: bool = False) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "devops_bench"] if module else [str(PROGRAM)]
    return subprocess.run([*argv, *args], capture_output=True, text=True, timeout=60, env=dict(os.environ))


def test_version_is_the_same_everywhere() -> None:
    for done in (call("--version"), call("--version", module=True)):
        assert (done.returncode, done.stdout) == (0, f"devops-bench {__version__}\n")


def test_help_lists_every_command_and_every_command_has_help() -> None:
    done = call("--help")
    assert done.returncode == 0
    for name in cli.COMMANDS:
        assert f"  {name} " in done.stdout


@pytest.mark.parametrize("name", sorted(cli.COMMANDS))
def test_each_command_explains_itself(name: str) -> None:
    done = call(name, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"Usage: devops-bench {name}")


def test_help_and_version_import_nothing_heavy() -> None:
    code = (
        "import sys\nfrom devops_bench import cli\n"
        "try:\n    cli.main([sys.argv[1]])\nexcept SystemExit: pass\n"
        "print(sorted({'click', 'pydantic', 'rich', 'ruamel'} & set(sys.modules)))"
    )
    for flag in ("--help", "--version"):
        done = subprocess.run([sys.executable, "-c", code, flag], capture_output=True, text=True, timeout=60)
        assert done.stdout.splitlines()[-1] == "[]", flag


def test_a_misspelt_command_is_a_usage_error_with_a_suggestion() -> None:
    done = call("statsu")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: no command 'statsu'; did you mean `status`?\n"


def test_a_group_without_a_command_shows_its_help_line_by_line() -> None:
    done = call("agents")
    assert (done.returncode, done.stdout) == (2, "")
    lines = done.stderr.splitlines()
    assert lines[0].startswith("Usage: devops-bench agents") and any(line.startswith("  doctor ") for line in lines)


def test_a_command_word_given_to_the_combo_command_is_explained() -> None:
    done = call("status", module=True)
    assert done.returncode == 2
    assert "`devops-bench status`" in done.stderr and done.stderr.count("\n") == 1


def test_an_unknown_option_is_one_line() -> None:
    done = call("status", "--no-such-option")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "--no-such-option" in done.stderr


@pytest.mark.parametrize(
    ("error", "code"),
    [(ConfigError("x is wrong", fix="fix x"), 2), (RefusedError("busy"), 4), (KeyboardInterrupt(), 130)],
)
def test_the_error_family_gives_the_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise error

    assert cli.guarded(fail) == code
    assert "Traceback" not in capsys.readouterr().err


def test_our_own_faults_leave_a_traceback_in_a_private_file_only(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setenv("GEMINI_API_KEY", "a-very-secret-value-1")

    def fail() -> None:
        raise HarnessError("we are wrong about a-very-secret-value-1")

    assert cli.guarded(fail) == 3
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert "Traceback" in file.read_text() and "a-very-secret" not in file.read_text()
    assert "Traceback" not in capsys.readouterr().err


def test_a_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([str(PROGRAM), "--help"], stdout=writer, stderr=subprocess.PIPE, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")

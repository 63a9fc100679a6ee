"""`devops-bench models`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import httpx
from click.testing import CliRunner

from devops_bench.cli.models import command


def test_check_names_what_is_right_and_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "good.yaml").write_text("turns: [a, b]")
    (tmp_path / "bad.yaml").write_text("turns:\n - shel: x\n")
    done = CliRunner().invoke(command, ["check", str(tmp_path)], standalone_mode=False)
    assert done.return_value == 2
    assert "good.yaml: scripted:good, 1 section, 2 turns" in done.stdout
    assert f"error: {tmp_path}/bad.yaml:2: unknown key" in done.stderr
    done = CliRunner().invoke(command, ["check", str(tmp_path / "good.yaml")], standalone_mode=False)
    assert done.return_value == 0


def test_serve_says_where_and_stops_when_told(tmp_path: Path) -> None:
    (tmp_path / "solver.yaml").write_text("turns: [hello]")
    argv = [sys.executable, "-c", "from devops_bench.cli.models import command; command()", "serve", "--scenarios"]
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*argv, str(tmp_path)], stdout=subprocess.PIPE, text=True, env=env) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().split()[-1]
        answer = httpx.post(
            f"{url}/v1/chat/completions",
            json={"model": "scripted:solver", "messages": [{"role": "user", "content": "x"}]},
            timeout=30,
        )
        assert answer.json()["choices"][0]["message"]["content"] == "hello"
        serving.send_signal(signal.SIGTERM)
        assert serving.wait(timeout=30) == 0


def test_serve_without_scenarios_is_one_line(tmp_path: Path) -> None:
    from devops_bench.cli import run_command

    assert run_command("models", ["serve", "--scenarios", str(tmp_path)], "devops-bench models") == 2

"""DRY_RUN: everything that would run, with secrets by name only, and nothing left behind."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench.matrix import dryrun
from devops_bench.matrix.axes import read_axes
from devops_bench.matrix.environment import combo_environment, launch_environment
from devops_bench.matrix.expand import expand
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan
from devops_bench.matrix.secrets import KEY_NAMES

ROOT = Path(__file__).resolve().parents[2]
SHIM = ROOT / "scripts/bastion/run_matrix.sh"
KEY = "AIzaSyHunter2Hunter2Hunter2"


@pytest.fixture
def plan(tmp_path: Path, write_task: Callable[..., Path]) -> Callable[..., Plan]:
    write_task("tasks/common/a")
    write_task("tasks/common/b", provider="kwok", body="")

    def make(**env: str) -> Plan:
        axes = {"MATRIX_TASKS": "ALL", "MATRIX_MODELS": "m1 qwen3:8b", "MATRIX_AGENT_CONFIGS": "noop gcli+mcp"}
        return expand(read_axes({**axes, **env}, cwd=tmp_path))

    return make


def env_of(home: Path, **more: str) -> dict[str, str]:
    return {"HOME": str(home), "GEMINI_API_KEY": KEY, "OPENAI_API_KEY": " ", **more}


def test_the_text_shows_count_combos_notes_findings_and_estimate(tmp_path: Path, plan: Callable[..., Plan]) -> None:
    finding = Finding(Level.WARNING, "agent gemini is not installed", "run: install")
    text = dryrun.render(plan(), env_of(tmp_path), [finding])
    lines = text.splitlines()
    assert lines[0] == "6 combos: 2 tasks x 2 models x 2 configurations x 1 repeat, 3 at once"
    assert lines[1].startswith("note: left out 2 combos (common/a): +mcp without a cluster")
    assert lines[2] == "warning: agent gemini is not installed; run: install"
    assert lines[3].startswith("estimate: about ") and lines[3].endswith("(no earlier runs: defaults), cost unknown")
    for rid in ("a__m1__noop", "a__qwen3~8b__noop", "b__m1__gcli+mcp", "b__qwen3~8b__gcli+mcp"):
        assert any(line.startswith(f"{rid}  [") for line in lines)
    assert "  AGENT_MODEL=qwen3:8b" in lines
    assert "  secrets, by name: GEMINI_API_KEY" in lines
    assert lines[-1] == "dry run: nothing was started and nothing was written"


def test_the_json_holds_each_combo_with_its_whole_environment(tmp_path: Path, plan: Callable[..., Plan]) -> None:
    data = json.loads(dryrun.to_json(plan(MCP_SERVER_BIN="my-server 'a b'"), env_of(tmp_path)))
    assert data["combo_count"] == len(data["combos"]) == 8
    combo = next(item for item in data["combos"] if item["rid"] == "b__qwen3~8b__gcli+mcp")
    assert (combo["agent"], combo["augmentation"], combo["provider"]) == ("gemini", ["mcp"], "kwok")
    assert combo["environment"]["AGENT_MCP_SERVER"] == "my-server 'a b'"
    assert combo["environment"]["BENCH_USE_MCP"] == "1"
    assert combo["environment"]["CLUSTER_NAME"] == combo["cluster_name"] == f"{combo['token']}-eval"
    assert combo["environment"]["AGENT_TIMEOUT_SEC"] == "1200"
    assert combo["secrets"] == ["GEMINI_API_KEY"]
    plain = next(item for item in data["combos"] if item["rid"] == "b__m1__noop")
    assert "AGENT_MCP_SERVER" not in plain["environment"]


@pytest.mark.parametrize("form", [dryrun.render, dryrun.to_json])
def test_no_secret_is_shown_even_where_a_user_put_it_into_a_flag(
    tmp_path: Path, plan: Callable[..., Plan], form: Callable[..., str]
) -> None:
    made = plan(AGENT_EXTRA_FLAGS=f"--key={KEY}", MCP_SERVER_BIN=f"server --token {KEY}")
    text = form(made, env_of(tmp_path), [Finding(Level.WARNING, f"odd: {KEY}")])
    assert "Hunter2" not in text
    assert "[GEMINI_API_KEY]" in text


def test_vertex_drops_every_key_from_the_combos(plan: Callable[..., Plan], tmp_path: Path) -> None:
    made = plan(BENCH_VERTEX="1", PROJECT_ID="proj")
    env = {**dict.fromkeys(KEY_NAMES, KEY), "PATH": "/bin", "HOME": str(tmp_path)}
    shown = combo_environment(made.options, made.combos[0], env)
    assert shown.secrets == ()
    assert shown.values["GOOGLE_CLOUD_API_KEY"] == "gcp-vertex-credentials"
    given = launch_environment(made.options, env)
    assert not set(KEY_NAMES) & set(given)
    assert (given["PATH"], given["GOOGLE_CLOUD_PROJECT"], given["GCP_VERTEX_LOCATION"]) == ("/bin", "proj", "global")
    assert KEY in launch_environment(dataclasses.replace(made.options, vertex=False), env).values()


@pytest.mark.parametrize("planned", ["Be kind.", ""])
def test_a_run_that_goes_on_elsewhere_keeps_the_rules_of_its_plan(plan: Callable[..., Plan], planned: str) -> None:
    made = plan(AGENT_RULES_TEXT=planned)
    given = launch_environment(
        made.options, {"AGENT_RULES_TEXT": "Be quick.", "AGENT_ALLOWED_TOOLS": "a", "PATH": "/bin"}
    )
    assert (given.get("AGENT_RULES_TEXT", ""), "AGENT_ALLOWED_TOOLS" in given) == (planned, False)


# -- the shim, from outside --------------------------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path: Path, write_task: Callable[..., Path]) -> Path:
    """A checkout with the real shim and the real program, so that nothing of this one can be touched."""
    write_task("repo/tasks/common/opa-remediation")
    write_task("repo/my tasks/b")
    repo = tmp_path / "repo"
    (repo / "scripts/bastion").mkdir(parents=True)
    shutil.copy2(SHIM, repo / "scripts/bastion/run_matrix.sh")
    (repo / ".venv/bin").mkdir(parents=True)
    (repo / ".venv/bin/devops-bench").symlink_to(Path(sys.executable).parent / "devops-bench")
    return repo


def shim(repo: Path, home: Path, *args: str, **env: str) -> subprocess.CompletedProcess[str]:
    base = {"HOME": str(home), "PATH": os.environ["PATH"], "TMPDIR": str(home / "tmp"), "LC_ALL": "C.UTF-8"}
    command = [str(repo / "scripts/bastion/run_matrix.sh"), *args]
    return subprocess.run(
        command, env={**base, **env}, cwd=home, capture_output=True, text=True, timeout=120, check=False
    )


def snapshot(*roots: Path) -> dict[str, tuple[int, int, int]]:
    entries = [path for root in roots for path in [root, *root.rglob("*")]]
    return {str(path): (path.lstat().st_mode, path.lstat().st_mtime_ns, path.lstat().st_size) for path in entries}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    (folder / "tmp").mkdir(parents=True)
    secrets = folder / "secrets.env"
    secrets.write_text(f"export GEMINI_API_KEY={KEY}\n")
    secrets.chmod(0o600)
    return folder


def test_a_dry_run_by_the_shim_creates_nothing(checkout: Path, home: Path) -> None:
    before = snapshot(home, checkout)
    done = shim(checkout, home, DRY_RUN="1", MATRIX_AGENT_CONFIGS="noop")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 combo: 1 task x 1 model x 1 configuration x 1 repeat, 3 at once\n")
    assert "opa-remediation__gemini-3.1-pro__noop  [none" in done.stdout
    assert "secrets, by name: GEMINI_API_KEY" in done.stdout
    assert "Hunter2" not in done.stdout
    assert snapshot(home, checkout) == before


def test_the_shim_has_the_defaults_of_the_contract(checkout: Path, home: Path) -> None:
    task = checkout / "tasks/common/opa-remediation/task.yaml"
    task.write_text(task.read_text().replace("provider: none", "provider: kwok").partition("verification_spec")[0])
    done = shim(checkout, home, "--json", DRY_RUN="1", MATRIX_TASKS="", MATRIX_MODELS="", MCP_SERVER_BIN="sh")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert [combo["rid"] for combo in data["combos"]] == ["opa-remediation__gemini-3.1-pro__oc+mcp+skills"]
    assert data["combos"][0]["environment"]["AGENT_TIMEOUT_SEC"] == "1200"
    assert data["max_parallel"] == 3
    # An agent that is not installed is a warning here, an error in a launch.
    assert [finding["level"] for finding in data["findings"] if "openclaw" in finding["what"]] == ["warning"]


def test_no_word_of_the_environment_is_run_by_a_shell(checkout: Path, home: Path) -> None:
    """A model id was executed by the shell; a task path with a space became two combos."""
    before = snapshot(home, checkout)
    words = f"m $(touch {home}/ran) `touch {home}/ran`"
    done = shim(checkout, home, DRY_RUN="1", MATRIX_AGENT_CONFIGS="noop", MATRIX_MODELS=words)
    assert done.returncode == 2
    assert done.stderr == (
        "error: MATRIX_MODELS: '$(touch' is not a model id; "
        "start it with a letter or digit; of other signs it may hold . _ : / @ + ~ = , # % ^ [ ] -\n"
    )
    done = shim(checkout, home, DRY_RUN="1", MATRIX_AGENT_CONFIGS="noop", MATRIX_TASKS="'my tasks/b'")
    assert "b__gemini-3.1-pro__noop" in done.stdout
    assert snapshot(home, checkout) == before


@pytest.mark.parametrize(
    ("env", "says"),
    [
        ({"MATRIX_TASKS": "my tasks/b"}, "quote the path with a space: 'my tasks/b'"),
        ({"MATRIX_TASKS": "gone/task.yaml"}, "gone/task.yaml: no such task"),
        ({"MATRIX_AGENT_CONFIGS": "gcli+mpc"}, "did you mean mcp?"),
        ({"BENCH_REMOTE": "1"}, "remote hosts are not available yet"),
        ({"MAX_PARALLEL": "x"}, "MAX_PARALLEL='x' is not a whole number"),
        ({"RESUME_STAMP": "20300101_000000-gone"}, "no runs yet"),
    ],
)
def test_a_bad_launch_by_the_shim_is_one_line_exit_2_and_leaves_nothing(
    checkout: Path, home: Path, env: dict[str, str], says: str
) -> None:
    before = snapshot(home, checkout)
    done = shim(checkout, home, **{"MATRIX_AGENT_CONFIGS": "noop", **env})
    assert done.returncode == 2
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert snapshot(home, checkout) == before


MAKEFILE = """env:
\t@echo noise of make
\t@mkdir -p .venv/bin "$$TMPDIR/left"
\t@cp program .venv/bin/devops-bench
"""
PROGRAM = """#!/bin/sh
echo "[$*] [$MATRIX_TASKS] [$MATRIX_MODELS] [$MATRIX_AGENT_CONFIGS]"
"""


def test_the_shim_makes_the_environment_inside_the_checkout_alone(checkout: Path, home: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    (checkout / "Makefile").write_text(MAKEFILE)
    (checkout / "program").write_text(PROGRAM)
    (checkout / "program").chmod(0o755)
    before = snapshot(home)
    done = shim(checkout, home, "--json", "a b", MATRIX_MODELS="x y")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[run --json a b] [tasks/common/opa-remediation/task.yaml] [x y] [oc+mcp+skills]\n"
    assert "noise of make" in done.stderr
    assert snapshot(home) == before
    assert sorted(path.name for path in (checkout / ".venv").iterdir()) == ["bin"]
    attached = shim(checkout, home, RESUME_STAMP="20300101_000000-a")
    assert attached.stdout == "[run] [] [] []\n"


def test_the_shim_says_when_the_environment_cannot_be_made(checkout: Path, home: Path) -> None:
    shutil.rmtree(checkout / ".venv")
    (checkout / "Makefile").write_text("env:\n\t@echo no network; exit 1\n")
    done = shim(checkout, home)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no network" in done.stderr
    assert done.stderr.endswith("run_matrix.sh: .venv could not be made; see the lines above, then run `make env`\n")


def test_a_secrets_file_that_others_can_read_stops_the_launch(checkout: Path, home: Path) -> None:
    (home / "secrets.env").chmod(0o644)
    done = shim(checkout, home, DRY_RUN="1", MATRIX_AGENT_CONFIGS="noop")
    assert done.returncode == 2
    assert done.stderr.endswith(f"run: chmod 600 {home}/secrets.env\n")
    assert "Hunter2" not in done.stderr

"""What a user can get wrong about a matrix: each gives one line and exit 2, shows no traceback and changes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from devops_bench.errors import BenchError, ExitCode
from devops_bench.matrix.axes import read_axes
from devops_bench.matrix.expand import expand


@dataclass(frozen=True)
class Bad:
    """An input beside a good one, and what its message must hold."""

    says: str
    env: Mapping[str, str] = field(default_factory=dict)
    flags: Mapping[str, object] = field(default_factory=dict)
    file: str | None = None


BAD = {
    "no tasks": Bad("no tasks given; set MATRIX_TASKS", {"MATRIX_TASKS": ""}),
    "no models": Bad("no models given; set MATRIX_MODELS", {"MATRIX_MODELS": " "}),
    "missing task": Bad("nowhere/task.yaml: no such task", {"MATRIX_TASKS": "nowhere/task.yaml"}),
    "open quote": Bad("MATRIX_TASKS: a quote is not closed", {"MATRIX_TASKS": "tasks/a 'tasks/b"}),
    "unquoted space": Bad("quote the path with a space: 'my tasks/a'", {"MATRIX_TASKS": "my tasks/a"}),
    "folder without tasks": Bad("no task.yaml below it", {"MATRIX_TASKS": "empty"}),
    "pattern without hits": Bad("no task fits the pattern", {"MATRIX_TASKS": "tasks/zz*"}),
    "task that does not parse": Bad("unknown key 'promt'", {"MATRIX_TASKS": "broken"}),
    "only tasks for kind": Bad("nothing is left to run: left out 1 combo", {"MATRIX_TASKS": "kind/c"}),
    "misspelt feature": Bad("did you mean mcp?", {"MATRIX_AGENT_CONFIGS": "gcli+mpc"}),
    "misspelt agent": Bad("did you mean gcli?", {"MATRIX_AGENT_CONFIGS": "gclu"}),
    "empty feature": Bad("has an empty part", {"MATRIX_AGENT_CONFIGS": "gcli+"}),
    "config flag": Bad("--configs: unknown agent 'clude'", flags={"configs": ("clude",)}),
    "model is an option": Bad("'--yolo' is not a model id", {"MATRIX_MODELS": "--yolo"}),
    "model is a command": Bad("'$(id)' is not a model id", {"MATRIX_MODELS": "$(id)"}),
    "parallel is a word": Bad("MAX_PARALLEL='many' is not a whole number", {"MAX_PARALLEL": "many"}),
    "parallel is zero": Bad("MAX_PARALLEL='0' is out of range", {"MAX_PARALLEL": "0"}),
    "parallel is a fraction": Bad("MAX_PARALLEL='1.5' is not a whole number", {"MAX_PARALLEL": "1.5"}),
    "parallel flag": Bad("--max-parallel: '-1' is out of range", flags={"max_parallel": -1}),
    "timeout is nan": Bad("AGENT_TIMEOUT_SEC='nan' is out of range", {"AGENT_TIMEOUT_SEC": "nan"}),
    "timeout is inf": Bad("AGENT_TIMEOUT_SEC='inf' is out of range", {"AGENT_TIMEOUT_SEC": "inf"}),
    "timeout beyond reason": Bad("1e+300 is out of range", {"AGENT_TIMEOUT_SEC": "1e300"}),
    "turns": Bad("AGENT_MAX_TURNS='x'", {"AGENT_MAX_TURNS": "x"}),
    "poll timeout": Bad("MATRIX_POLL_TIMEOUT_SEC='soon'", {"MATRIX_POLL_TIMEOUT_SEC": "soon"}),
    "repeats": Bad("MATRIX_REPEATS: '0' is not a number of repeats", {"MATRIX_REPEATS": "0"}),
    "too many repeats": Bad("set it to 1..1000", {"MATRIX_REPEATS": "1000000"}),
    "dry run": Bad("DRY_RUN: 'maybe' is neither true nor false", {"DRY_RUN": "maybe"}),
    "vertex": Bad("BENCH_VERTEX: '2' is neither true nor false", {"BENCH_VERTEX": "2"}),
    "vertex without project": Bad("BENCH_VERTEX: cloud credentials need a project", {"BENCH_VERTEX": "1"}),
    "remote": Bad("remote hosts are not available yet", {"BENCH_REMOTE": "1"}),
    "sandbox": Bad(
        "BENCH_AGENT_SANDBOX: 'bwarp' is not a sandbox; did you mean bwrap?", {"BENCH_AGENT_SANDBOX": "bwarp"}
    ),
    "docker sandbox": Bad("the docker sandbox is not available yet", {"BENCH_AGENT_SANDBOX": "docker"}),
    "projects differ": Bad("and its alias GCP_PROJECT_ID='b' differ", {"PROJECT_ID": "a", "GCP_PROJECT_ID": "b"}),
    "cluster name": Bad("CLUSTER_NAME: 'My_Lab' is not a cluster name", {"CLUSTER_NAME": "My_Lab"}),
    "provider": Bad("INFRA_PROVIDER: unknown provider 'kwock'; did you mean kwok?", {"INFRA_PROVIDER": "kwock"}),
    "model provider": Bad(
        "AGENT_PROVIDER: unknown provider 'gogle'; did you mean google?", {"AGENT_PROVIDER": "gogle"}
    ),
    "judge provider": Bad("JUDGE_PROVIDER: unknown provider 'x'", {"JUDGE_PROVIDER": "x", "JUDGE_MODEL": "m"}),
    "judge without model": Bad("names a judge provider without a model", {"JUDGE_PROVIDER": "google"}),
    "chaos without model": Bad("names a chaos provider without a model", {"CHAOS_PROVIDER": "google"}),
    "stamp is a path": Bad("RESUME_STAMP: '../x' is not a run's stamp", {"RESUME_STAMP": "../x"}),
    "control character": Bad("GCP_LOCATION: holds a control character", {"GCP_LOCATION": "a\x1b[2Jb"}),
    "absurd length": Bad("MATRIX_MODELS: is longer than 100000 characters", {"MATRIX_MODELS": "m" * 100_001}),
    "setting of a combo": Bad("BENCH_STALL_SEC='x' is not a number", {"BENCH_STALL_SEC": "x"}),
    "extra flags": Bad("AGENT_EXTRA_FLAGS: a quote is not closed", {"AGENT_EXTRA_FLAGS": '--x "y'}),
    "file is missing": Bad("nofile.yaml: cannot be read", file=""),
    "file is empty": Bad("matrix.yaml:1: is not a mapping", file="\n"),
    "file is a list": Bad("matrix.yaml:1: is not a mapping", file="- a\n"),
    "file is no YAML": Bad("matrix.yaml:2: is not YAML", file="tasks: [a\nmodels: b\n"),
    "file has a twin key": Bad("matrix.yaml:2: key 'models' is given twice", file="models: a\nmodels: b\n"),
    "file has an unknown key": Bad(
        "matrix.yaml:2: unknown key 'modles'; did you mean models?", file="tasks: ALL\nmodles: a\n"
    ),
    "file has a number as model": Bad(
        "matrix.yaml:3: models[1] must be text, not the number", file="models:\n- a\n- 3.1\n"
    ),
    "file has a word as number": Bad(
        "matrix.yaml:1: max_parallel must be a whole number", file="max_parallel: three\n"
    ),
    "file has a number out of range": Bad("matrix.yaml:1: '0' is out of range", file="max_parallel: 0\n"),
    "file has a bad config": Bad("matrix.yaml:1: unknown feature 'skill'", file="configs: [cc+skill]\n"),
    "file has an unknown judge key": Bad("matrix.yaml:2: unknown key 'judge.modle'", file="judge:\n  modle: x\n"),
    "file is a billion laughs": Bad(
        "expands to more than",
        file="a: &a [1,1,1,1,1,1,1,1,1,1]\n"
        + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 10)}]\n" for i in range(6)),
    ),
    "file holds a secret": Bad(
        "matrix.yaml:2: OPENAI_API_KEY is a secret", file="env:\n  OPENAI_API_KEY: sk-hunter2\n"
    ),
    "file holds a bad variable": Bad("matrix.yaml:1: 'A B' is not a variable name", file="env: {A B: x}\n"),
    "file has an open quote": Bad(
        "matrix.yaml:1: mcp_server has a quote that is not closed", file="mcp_server: npx 'x\n"
    ),
    "file sets a launch": Bad("matrix.yaml:1: unknown key 'dry_run'", file="dry_run: true\n"),
    "file names a missing task": Bad("no such task", {"MATRIX_TASKS": ""}, file="tasks: [gone]\n"),
}


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    for folder, text in {
        "tasks/a": "prompt: x\ntask_id: a\ninfrastructure: {provider: none}\n",
        "my tasks/a": "prompt: x\ntask_id: a\n",
        "broken": "promt: x\ntask_id: a\n",
        "kind/c": "prompt: x\ntask_id: c\ninfrastructure: {provider: kind}\n",
    }.items():
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "task.yaml").write_text(text)
    (tmp_path / "empty").mkdir()
    return tmp_path


def snapshot(root: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        str(path): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes() if path.is_file() else b"")
        for path in [root, *root.rglob("*")]
    }


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD.keys())
def test_a_bad_matrix_is_one_line_and_changes_nothing(bad: Bad, workspace: Path) -> None:
    file = None
    if bad.file is not None:
        file = workspace / ("matrix.yaml" if bad.file else "nofile.yaml")
        if bad.file:
            file.write_text(bad.file)
    env = {"HOME": str(workspace), "MATRIX_TASKS": "tasks/a", "MATRIX_MODELS": "m", "MATRIX_AGENT_CONFIGS": "noop"}
    if bad.file and ("models" in bad.file or "configs" in bad.file):
        env = {"HOME": str(workspace), "MATRIX_TASKS": "tasks/a", "MATRIX_MODELS": ""}
    before, ambient = snapshot(workspace), dict(os.environ)
    with pytest.raises(BenchError) as caught:
        expand(read_axes({**env, **bad.env}, bad.flags, file, cwd=workspace))
    assert bad.says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert caught.value.exit_code is ExitCode.USAGE
    assert snapshot(workspace) == before
    assert dict(os.environ) == ambient


def test_the_good_matrix_beside_them_expands(workspace: Path) -> None:
    env = {"MATRIX_TASKS": "tasks/a", "MATRIX_MODELS": "m", "MATRIX_AGENT_CONFIGS": "noop"}
    assert [combo.rid for combo in expand(read_axes(env, cwd=workspace)).combos] == ["a__m__noop"]

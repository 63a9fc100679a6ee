"""Where the axes come from: flags over environment over matrix file over defaults, empty meaning unset."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.matrix.axes import read_axes
from devops_bench.matrix.environment import launch_environment, sandbox_environment
from devops_bench.matrix.secrets import KEY_NAMES
from devops_bench.matrix.spec import MatrixSpec

BASE = {"MATRIX_TASKS": "ALL", "MATRIX_MODELS": "m"}


def read(env: dict[str, str] | None = None, flags: dict[str, object] | None = None, **more: Path) -> MatrixSpec:
    return read_axes({**BASE, **(env or {})}, flags, **more)


def matrix_file(folder: Path, text: str) -> Path:
    path = folder / "matrix.yaml"
    path.write_text(textwrap.dedent(text))
    return path


def test_the_defaults_are_those_of_the_contract() -> None:
    spec = read()
    assert [config.preset for config in spec.configs] == ["oc+mcp+skills"]
    assert (spec.repeats, spec.cluster_base, spec.provider, spec.dry_run) == (1, "eval", None, False)
    options = spec.options
    assert (options.max_parallel, options.agent_timeout_sec) == (3, 1200)
    assert (options.location, options.sandbox, options.project) == ("us-central1-a", True, None)
    assert spec.poll_timeout_sec == 86400
    assert (options.judge_model, options.vertex, options.results_dir) == (None, False, None)


def test_flags_win_over_environment_over_file_over_defaults(tmp_path: Path) -> None:
    path = matrix_file(
        tmp_path,
        """
        models: [from-file]
        configs: [noop]
        max_parallel: 7
        agent_timeout_sec: 70
        location: europe-west1-b
        """,
    )
    spec = read_axes(
        {"MATRIX_TASKS": "ALL", "MAX_PARALLEL": "8", "AGENT_TIMEOUT_SEC": "80"},
        {"max_parallel": 9, "tasks": None},
        path,
    )
    assert spec.models == ("from-file",)
    assert spec.options.max_parallel == 9
    assert spec.options.agent_timeout_sec == 80
    assert spec.options.location == "europe-west1-b"
    assert spec.options.agent_max_turns == 100


@pytest.mark.parametrize("empty", ["", "  ", "\t"])
def test_an_empty_variable_is_an_unset_one(empty: str) -> None:
    names = [
        "MAX_PARALLEL",
        "AGENT_TIMEOUT_SEC",
        "BENCH_VERTEX",
        "BENCH_AGENT_SANDBOX",
        "MATRIX_AGENT_CONFIGS",
        "DRY_RUN",
    ]
    names += ["RESUME_STAMP", "CLUSTER_NAME", "BENCH_REMOTE", "JUDGE_PROVIDER", "PROJECT_ID", "BENCH_STALL_SEC"]
    assert read(dict.fromkeys(names, empty)) == read()
    with pytest.raises(ConfigError, match="no tasks given; set MATRIX_TASKS, --tasks or `tasks:` in a matrix file"):
        read({"MATRIX_TASKS": empty})
    with pytest.raises(ConfigError, match="no models given"):
        read({"MATRIX_MODELS": empty})


def test_task_paths_are_split_as_a_shell_does() -> None:
    """A task path with a space became two combos."""
    spec = read({"MATRIX_TASKS": "a/task.yaml 'my dir/task.yaml'  b\\ c/task.yaml ALL"})
    assert [ref.text for ref in spec.tasks] == ["a/task.yaml", "my dir/task.yaml", "b c/task.yaml", "ALL"]


def test_a_repeated_task_flag_is_taken_as_it_stands() -> None:
    spec = read(flags={"tasks": ("my dir/task.yaml", "b")})
    assert [(ref.text, ref.place.where) for ref in spec.tasks] == [("my dir/task.yaml", "--tasks"), ("b", "--tasks")]


def test_paths_of_a_matrix_file_count_from_its_folder(tmp_path: Path) -> None:
    (tmp_path / "team").mkdir()
    path = matrix_file(
        tmp_path / "team",
        """
        tasks: [own/a, ../shared/b]
        models: m
        skills_paths: [skills]
        scenarios_dir: scenarios
        results_dir: ../results
        """,
    )
    spec = read_axes({}, {}, Path("team/matrix.yaml"), cwd=tmp_path)
    assert [(ref.text, ref.base) for ref in spec.tasks] == [("own/a", path.parent), ("../shared/b", path.parent)]
    assert spec.tasks[0].place.line == 2
    assert spec.options.skills_paths == (str(tmp_path / "team/skills"),)
    assert spec.options.scenarios_dir == str(tmp_path / "team/scenarios")
    assert spec.options.results_dir == str(tmp_path / "results")


def test_a_matrix_file_may_set_everything_that_a_team_shares(tmp_path: Path) -> None:
    path = matrix_file(
        tmp_path,
        """
        tasks: ALL
        models: [a, "b:1"]
        configs: [gcli+mcp, cc]
        repeats: 5
        max_parallel: 2
        agent_timeout_sec: 300.5
        agent_max_turns: 20
        agent_provider: openai-compatible
        agent_extra_flags: [--verbose, "--note=a b"]
        mcp_server: [npx, server, --flag]
        sandbox: false
        provider: existing
        cluster_name: lab
        project: my-project
        judge: {model: judge-1, provider: anthropic}
        chaos: {model: chaos-1}
        no_teardown: true
        skip_model_preflight: true
        env: {NAMESPACE: shop}
        """,
    )
    spec = read_axes({}, {}, path)
    options = spec.options
    assert spec.models == ("a", "b:1")
    assert [config.preset for config in spec.configs] == ["gcli+mcp", "cc"]
    assert (spec.repeats, spec.provider, spec.cluster_base, spec.skip_model_preflight) == (5, "existing", "lab", True)
    assert (options.agent_timeout_sec, options.agent_max_turns, options.sandbox) == (300.5, 20, False)
    assert options.agent_extra_flags == ("--verbose", "--note=a b")
    assert options.mcp_server == ("npx", "server", "--flag")
    assert (options.judge_model, options.judge_provider) == ("judge-1", "anthropic")
    assert options.env == {"NAMESPACE": "shop", "CHAOS_MODEL": "chaos-1", "BENCH_AGENT_SANDBOX": "off"}
    assert (options.project, options.no_teardown) == ("my-project", True)
    assert any("SANDBOX IS OFF" in note for note in spec.notes)


def test_a_model_given_twice_runs_once_and_is_said() -> None:
    """A model listed twice ran twice in one directory."""
    spec = read({"MATRIX_MODELS": "gemini-3.1-pro qwen3:8b gemini-3.1-pro qwen38b"})
    assert spec.models == ("gemini-3.1-pro", "qwen3:8b", "qwen38b")
    assert spec.notes == ("model gemini-3.1-pro is given more than once: runs once",)


@pytest.mark.parametrize(
    "model", ["$(touch x)", "`id`", "a;b", "a|b", "m'", "--model", "-m", ".m", "a\\b", "a&b", "\u00e9"]
)
def test_a_model_id_that_a_shell_could_run_is_refused(model: str) -> None:
    """A model id was executed by the shell."""
    with pytest.raises(ConfigError, match="is not a model id"):
        read(flags={"models": (model,)})


@pytest.mark.parametrize(
    "model",
    [
        "gemini-3.1-pro",
        "qwen3:8b",
        "claude-opus@20250101",
        "claude-opus-4-6[1m]",
        "openai/gpt-5",
        "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude",
        "accounts/f/models/x#accounts/f/deployments/y",
        "scripted:solver",
    ],
)
def test_real_model_ids_are_taken_as_they_are(model: str) -> None:
    assert read({"MATRIX_MODELS": model}).models == (model,)


def test_vertex_drops_every_key_and_sets_the_cloud_variables() -> None:
    spec = read({"BENCH_VERTEX": "1", "PROJECT_ID": "proj"})
    assert spec.dropped == KEY_NAMES
    assert spec.options.vertex
    assert spec.options.env == {
        "GOOGLE_GENAI_USE_VERTEXAI": "true",
        "GOOGLE_CLOUD_PROJECT": "proj",
        "GCP_PROJECT_ID": "proj",
        "GOOGLE_CLOUD_LOCATION": "global",
        "GCP_VERTEX_LOCATION": "global",
        "GOOGLE_CLOUD_API_KEY": "gcp-vertex-credentials",
    }
    chosen = read({"BENCH_VERTEX": "1", "GCP_PROJECT_ID": "other", "GCP_VERTEX_LOCATION": "europe-west4"}).options.env
    assert (chosen["GOOGLE_CLOUD_PROJECT"], chosen["GOOGLE_CLOUD_LOCATION"]) == ("other", "europe-west4")


def test_an_alias_may_repeat_the_project_but_not_contradict_it() -> None:
    assert read({"PROJECT_ID": "a", "GCP_PROJECT_ID": "a"}).options.project == "a"
    with pytest.raises(
        ConfigError, match="PROJECT_ID='a' and its alias GCP_PROJECT_ID='b' differ; unset GCP_PROJECT_ID"
    ):
        read({"PROJECT_ID": "a", "GCP_PROJECT_ID": "b"})


@pytest.mark.parametrize("word", ["0", "false", "no", "off", "OFF"])
def test_the_sandbox_goes_off_only_loudly(word: str) -> None:
    spec = read({"BENCH_AGENT_SANDBOX": word})
    assert not spec.options.sandbox
    assert spec.notes == ("THE SANDBOX IS OFF: agents run with your rights and can read the answers",)
    assert all(read({"BENCH_AGENT_SANDBOX": on}).options.sandbox for on in ("1", "true", "bwrap"))


def test_what_a_flag_says_of_the_sandbox_holds_against_the_variable_and_is_handed_on() -> None:
    spec = read({"BENCH_AGENT_SANDBOX": "off"}, {"sandbox": "bwrap"})
    assert spec.options.sandbox
    assert launch_environment(spec.options, {"BENCH_AGENT_SANDBOX": "off"})["BENCH_AGENT_SANDBOX"] == "bwrap"
    assert "BENCH_AGENT_SANDBOX" not in launch_environment(read({}).options, {}), "unset: where it can be had"
    elsewhere = {"BENCH_AGENT_SANDBOX": "off"}
    assert sandbox_environment(spec.options, elsewhere) == {"BENCH_AGENT_SANDBOX": "bwrap"}
    assert sandbox_environment(read({}).options, elsewhere) == {"BENCH_AGENT_SANDBOX": ""}, "what resumes it elsewhere"
    assert sandbox_environment(read(elsewhere).options, {}) == elsewhere


def test_the_mcp_server_is_an_argv_or_one_path(tmp_path: Path) -> None:
    assert read({"MCP_SERVER_BIN": "npx 'a b' --x"}).options.mcp_server == ("npx", "a b", "--x")
    assert read({"AGENT_MCP_SERVER": "server"}).options.mcp_server == ("server",)
    (tmp_path / "my server").write_text("")
    spec = read_axes({**BASE, "MCP_SERVER_BIN": "my server"}, cwd=tmp_path)
    assert spec.options.mcp_server == (str(tmp_path / "my server"),)


def test_single_texts_of_a_matrix_file_read_as_the_variables_do(tmp_path: Path) -> None:
    path = matrix_file(
        tmp_path,
        """
        mcp_server: npx 'a b' --x
        agent_extra_flags: --one --two
        skills_paths: a, b
        """,
    )
    options = read(file=path).options
    assert options.mcp_server == ("npx", "a b", "--x")
    assert options.agent_extra_flags == ("--one", "--two")
    assert options.skills_paths == (str(tmp_path / "a"), str(tmp_path / "b"))


def test_no_path_depends_on_where_the_launch_was_typed(tmp_path: Path) -> None:
    env = {**BASE, "MCP_SERVER_BIN": "./server ./arg", "BENCH_RUN_STATE_ROOT": "state", "AGENT_TARGET": "bin/agent"}
    options = read_axes(env, cwd=tmp_path).options
    assert options.mcp_server == (str(tmp_path / "server"), "./arg")
    assert options.env == {"BENCH_RUN_STATE_ROOT": str(tmp_path / "state"), "AGENT_TARGET": str(tmp_path / "bin/agent")}
    assert read_axes({**BASE, "AGENT_TARGET": "gemini"}, cwd=tmp_path).options.env == {"AGENT_TARGET": "gemini"}
    launch = launch_environment(options, {"DEVOPS_BENCH_RUNS": "runs", "PATH": "bin", "AGENT_TARGET": "x"}, tmp_path)
    assert launch["DEVOPS_BENCH_RUNS"] == str(tmp_path / "runs")
    assert launch["PATH"] == "bin"


def test_a_stamp_to_attach_to_needs_no_axes() -> None:
    spec = read_axes({"RESUME_STAMP": "20300102_030405-abcdefgh"})
    assert spec.resume_stamp == "20300102_030405-abcdefgh"
    assert spec.tasks == () and spec.models == ()


def test_a_misspelt_variable_of_ours_is_said() -> None:
    notes = read({"MATRIX_AGENT_CONFIG": "noop", "MAX_PARALEL": "1", "MATRIX_MODEL": "x", "AGENT_NAME": "ci"}).notes
    assert notes == ("variable MATRIX_AGENT_CONFIG is not known and has no effect: did you mean MATRIX_AGENT_CONFIGS?",)


def test_settings_of_a_combo_are_passed_on_and_secrets_are_not() -> None:
    env = read(
        {"NAMESPACE": "shop", "BENCH_HOLD_INTERVAL_SEC": "2", "GEMINI_API_KEY": "AIza-secret", "HOME": "/x"}
    ).options.env
    assert env == {"NAMESPACE": "shop", "BENCH_HOLD_INTERVAL_SEC": "2"}


def test_an_unknown_flag_is_a_fault_of_the_caller() -> None:
    with pytest.raises(TypeError, match="no such axis: modles"):
        read(flags={"modles": "x"})

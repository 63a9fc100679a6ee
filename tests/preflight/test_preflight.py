"""What is told before a launch: everything that would only cost time and money to find out later."""

from __future__ import annotations

import dataclasses
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from devops_bench import agents as agent_registry
from devops_bench.clusters.host import Host
from devops_bench.matrix.expand import plan_of
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan, PlanOptions
from devops_bench.preflight import agents, check, clusters, grants, host, models, shared
from tests.matrix.conftest import OPTIONS, selected, spec_of

NONE = {"infrastructure": {"provider": "none"}}
ROOMY = Host(memory_available=64 << 30, cores=8, disk_free=64 << 30, disk_path=Path("/"))


def plan(
    *configs: str, model: str = "m", provider: str = "none", folder: Path | None = None, **options: object
) -> Plan:
    task = selected("common/a", infrastructure={"provider": provider})
    if folder is not None:
        task = dataclasses.replace(task, file=folder / "task.yaml")
    merged = dataclasses.replace(OPTIONS, **{"sandbox": False, "mcp_server": ("sh",), **options})  # type: ignore[arg-type]
    return plan_of(spec_of(*configs, models=(model,), options=merged), [task])


def lines(findings: list[Finding]) -> list[str]:
    return [f"{finding.level.value}: {finding.line()}" for finding in findings]


# -- agents ------------------------------------------------------------------------------------------------------------


def test_a_missing_agent_is_an_error_with_the_install_command_and_a_warning_in_a_dry_run() -> None:
    def missing(key: str, _env: object) -> str | None:
        return None if key == "noop" else f"agent {key}: not installed; run: devops-bench agents install gemini"

    wanted = plan("gcli", "gcli+skills", "noop")
    text = "agent gemini: not installed; run: devops-bench agents install gemini"
    assert lines(agents.check(wanted, {}, missing=missing)) == [f"error: {text}"]
    assert lines(agents.check(wanted, {}, missing=missing, dry_run=True)) == [f"warning: {text}"]


def test_the_scripted_agent_needs_something_to_play(tmp_path: Path) -> None:
    wanted = plan("scripted", folder=tmp_path)
    (finding,) = agents.check(wanted, {}, missing=lambda _key, _env: None)
    assert finding.is_error and "has no solution/ for the scripted agent to play" in finding.line()
    (finding,) = agents.check(wanted, {"BENCH_AGENT_SCRIPT": "/gone.sh"}, missing=lambda _key, _env: None)
    assert finding.line() == "/gone.sh: is no file to play; change BENCH_AGENT_SCRIPT"
    (tmp_path / "solution").mkdir()
    (tmp_path / "solution/fix.sh").write_text("")
    assert agents.check(wanted, {}, missing=lambda _key, _env: None) == []


# -- models ------------------------------------------------------------------------------------------------------------


def test_a_missing_key_is_named_and_no_value_is_shown() -> None:
    env = {"OPENAI_API_KEY": "sk-hunter2hunter2", "GEMINI_API_KEY": " "}
    (finding,) = models.check(plan("api", model="gemini-3.1-pro"), env)
    assert finding.line() == (
        "no key for provider google (model gemini-3.1-pro); "
        "set AGENT_API_KEY or GEMINI_API_KEY or GOOGLE_API_KEY or GOOGLE_GENAI_API_KEY; "
        "keys may stand in ~/secrets.env (mode 600)"
    )
    assert finding.is_error
    assert models.check(plan("api", model="gemini-3.1-pro"), env, dry_run=True)[0].level is Level.WARNING


def test_models_that_lack_the_same_key_are_one_finding() -> None:
    wanted = plan_of(spec_of("api", models=("claude-a", "claude-b", "gpt-5")), [selected("common/a", **NONE)])
    assert [finding.what for finding in models.check(wanted, {})] == [
        "no key for provider anthropic (model claude-a) and 1 more",
        "no key for provider openai (model gpt-5)",
    ]


@pytest.mark.parametrize(
    ("config", "model", "env", "options"),
    [
        ("api", "gemini-3.1-pro", {"GOOGLE_API_KEY": "x"}, {}),
        ("api", "gemini-3.1-pro", {"AGENT_API_KEY": "x"}, {}),
        ("api", "gemini-3.1-pro", {}, {"vertex": True, "env": {"GOOGLE_GENAI_USE_VERTEXAI": "true"}}),
        ("api", "qwen3:8b", {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, {"agent_provider": "openai-compatible"}),
        ("noop", "gemini-3.1-pro", {}, {}),
    ],
)
def test_no_key_is_asked_for_where_none_is_needed(
    config: str, model: str, env: dict[str, str], options: dict[str, object]
) -> None:
    assert models.check(plan(config, model=model, **options), env) == []


def test_a_model_that_tells_no_provider_needs_the_default_ones_key() -> None:
    (finding,) = models.check(plan("api", model="qwen3:8b"), {})
    assert finding.line().startswith("no key for provider google (model qwen3:8b); set AGENT_API_KEY or GEMINI_API_KEY")


def test_a_judge_needs_a_key_and_should_not_judge_itself() -> None:
    wanted = plan("api", model="gemini-3.1-pro", judge_model="gemini-3.1-pro")
    found = models.check(wanted, {"AGENT_API_KEY": "x"})
    assert [finding.level for finding in found] == [Level.ERROR, Level.WARNING]
    assert found[0].fix.startswith("set JUDGE_API_KEY or GEMINI_API_KEY")
    assert found[1].what == "gemini-3.1-pro judges itself"


def test_a_scripted_model_needs_its_scenario(tmp_path: Path) -> None:
    def texts(**options: object) -> list[str]:
        return lines(models.check(plan("api", model="scripted:solver", **options), {}))

    assert texts() == [
        "error: scripted models need a folder of scenario files; set BENCH_SCENARIOS_DIR or --scenarios-dir"
    ]
    assert "cannot be read (No such file or directory)" in texts(scenarios_dir=str(tmp_path / "gone"))[0]
    (tmp_path / "solvr.yaml").write_text("turns: [hello]\n")
    assert texts(scenarios_dir=str(tmp_path)) == [f"error: {tmp_path}: no scenario 'solver'; did you mean solvr?"]
    (tmp_path / "solver.yaml").write_text("turns: [hello]\n")
    assert texts(scenarios_dir=str(tmp_path)) == []
    (tmp_path / "solver.yaml").write_text("turns:\n- {shel: id}\n")
    assert texts(scenarios_dir=str(tmp_path))[0].startswith(f"error: {tmp_path}/solver.yaml:2: ")


# -- grants ------------------------------------------------------------------------------------------------------------


def granted(wanted: Plan, *, dry_run: bool = False, installed: bool = False) -> list[str]:
    def find(_key: str, _env: object) -> object | None:
        return "there" if installed else None

    return lines(grants.check(wanted, {"PATH": os.environ["PATH"]}, dry_run=dry_run, find=find))


def test_mcp_without_a_server_is_never_a_label_alone() -> None:
    """`+mcp` with no server still said mcp."""
    bare = plan("api+mcp", provider="kwok", mcp_server=())
    (line,) = granted(bare)
    assert line == (
        "error: +mcp: the default MCP server kubernetes-mcp-server is not installed; run `devops-bench agents install "
        "kubernetes-mcp-server`, or set MCP_SERVER_BIN to another server's command"
    )
    assert granted(bare, dry_run=True) == [line.replace("error", "warning", 1)]
    assert granted(bare, installed=True) == []
    (line,) = granted(plan("api+mcp", mcp_server=("no-such-server", "--x")))
    assert "MCP server 'no-such-server' is not an executable" in line
    assert granted(plan("api+mcp")) == []
    assert granted(plan("api", mcp_server=())) == []


def test_skills_must_hold_a_skill(tmp_path: Path) -> None:
    assert granted(plan("api+skills")) == []  # the skills that ship with the program
    (line,) = granted(plan("api+skills", skills_paths=(str(tmp_path / "gone"),)))
    assert line == f"error: {tmp_path / 'gone'}: is not a folder; change SKILLS_PATHS"
    (line,) = granted(plan("api+skills", skills_paths=(str(tmp_path),)))
    assert "holds no */SKILL.md" in line
    skill = tmp_path / "skills/k8s/SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("no front matter")
    for wanted in (
        plan("api+skills", skills_paths=(str(tmp_path / "skills"),)),
        plan("api+skills", folder=tmp_path),  # the task brings its own
    ):
        (line,) = granted(wanted)
        assert line.startswith(f"error: {skill}:1: no front matter")
    skill.write_text("---\nname: k8s\ndescription: d\n---\n")
    assert granted(plan("api+skills", folder=tmp_path)) == []


def test_an_agent_and_a_model_must_share_a_wire_format() -> None:
    env = {"ANTHROPIC_API_KEY": "x" * 12, "GEMINI_API_KEY": "y" * 12}
    assert models.check(plan("api", model="claude-sonnet-4-5"), env) == []
    assert agent_registry.get("gemini").wires == ("google",)
    (finding,) = models.check(plan("gcli", model="claude-sonnet-4-5"), env)
    assert finding.line() == (
        "agent gemini cannot use model claude-sonnet-4-5: it speaks google, provider anthropic speaks anthropic; "
        "choose another agent or provider for this model (AGENT_PROVIDER)"
    )
    assert models.check(plan("gcli", model="gemini-2.5-pro"), env) == []


# -- clusters and host -------------------------------------------------------------------------------------------------


def test_an_existing_cluster_must_be_named_explicitly() -> None:
    (finding,) = clusters.check(plan(provider="existing"), {"KUBECONFIG": "/ambient"})
    assert finding.is_error
    assert "BENCH_EXISTING_KUBECONFIG" in finding.line()
    assert clusters.check(plan(), {}) == []


def test_checks_that_run_kubectl_without_a_cluster_need_one_all_the_same(tmp_path: Path) -> None:
    wanted, bare = plan(folder=tmp_path), dict.fromkeys(("XDG_CACHE_HOME", "HOME", "PATH"), str(tmp_path))
    check_of = "verification_spec:\n- {name: e, check: {type: command, command: [sh, -c, '%s x']}}\n"
    task = f"id: a\nprompt: here is no kubectl\n{check_of}"
    (tmp_path / "task.yaml").write_text(task % "mykubectl")
    assert clusters.check(wanted, bare) == []
    (tmp_path / "task.yaml").write_text(task % "kubectl kustomize")
    said = "checks of common/a run kubectl, and there is none on PATH; `devops-bench clusters install` builds one"
    assert lines(clusters.check(wanted, bare)) == [f"error: {said}"]
    assert lines(clusters.check(wanted, bare, dry_run=True)) == [f"warning: {said}"]
    (tmp_path / "kubectl").write_text("#!/bin/sh\n")
    (tmp_path / "kubectl").chmod(0o755)
    assert clusters.check(wanted, bare) == []


def test_an_unusable_control_plane_binary_is_an_error(tmp_path: Path) -> None:
    (finding,) = clusters.check(plan(provider="kwok"), {"DEVOPS_BENCH_KUBE": str(tmp_path / "gone")})
    assert finding.is_error and "is not an executable file" in finding.line()


def judged(wanted: Plan, env: dict[str, str] | None = None, **room: object) -> list[Finding]:
    there = dataclasses.replace(ROOMY, **room)  # type: ignore[arg-type]
    return host.judge(wanted, host.Room(there, there), env or {})


def test_a_roomy_host_has_nothing_to_say() -> None:
    assert judged(plan(provider="kwok")) == []


def many(options: PlanOptions = OPTIONS) -> Plan:
    tasks = [selected(f"common/t{number}", infrastructure={"provider": "kwok"}) for number in range(5)]
    return plan_of(spec_of("noop", models=("a", "b"), options=options), tasks)


def mib(*parts: int) -> int:
    return sum(parts) << 20


def test_memory_that_fits_fewer_combos_names_how_many() -> None:
    # A reserve of 1 GiB, two planes ahead of 480 MiB, then 480 + 120 MiB for each combo.
    assert judged(many(), memory_available=mib(1024, 960, 3 * 600)) == []
    (finding,) = judged(many(), memory_available=mib(1024, 960, 3 * 600 - 1))
    assert finding.line() == "3 combos at once may take 3784 MiB of memory, 3783 MiB are free; set MAX_PARALLEL=2"
    assert finding.level is Level.WARNING
    assert judged(many(), {"BENCH_POOL_SIZE": "0"}, memory_available=mib(1024, 3 * 600)) == []
    (finding,) = judged(many(), memory_available=mib(1024, 500))
    assert finding.is_error and "not even one fits" in finding.what


def test_a_heavy_agent_counts_with_its_own_memory() -> None:
    (finding,) = judged(plan("oc", provider="kwok"), memory_available=mib(1024, 1300))
    assert finding.is_error and f"{1024 + 1300 + 600} MiB" in finding.what


def test_an_agent_that_needs_whole_cores_says_how_many_fit() -> None:
    wanted = plan("oc", "oc+mcp", "oc+skills", "noop", provider="kwok")
    assert judged(wanted, cores=6) == []
    (finding,) = judged(wanted, cores=2)
    assert finding.line() == "3 combos of openclaw at once want 6 cores, this host has 2; set MAX_PARALLEL=1"
    assert judged(plan("oc"), cores=1) == []


def test_disk_is_an_error_when_nearly_full_and_a_warning_when_tight() -> None:
    assert judged(plan(), disk_free=mib(100))[0].is_error
    without_planes = dataclasses.replace(plan(), combos=many().combos)
    without_planes = dataclasses.replace(
        without_planes, combos=tuple(dataclasses.replace(one, provider="none") for one in without_planes.combos)
    )
    (finding,) = judged(without_planes, disk_free=mib(280))
    assert finding.level is Level.WARNING and "10 combos may take 40 MiB of disk" in finding.what


def test_what_planes_take_beside_memory_is_told_with_its_limit() -> None:
    (finding,) = judged(many(), inotify_instances=30)
    assert finding.level is Level.WARNING
    assert "30 allowed, 0 in use, but 5 clusters at once need 50" in finding.what
    assert "max_user_instances" in finding.fix
    assert judged(many(), inotify_instances=5)[0].is_error
    assert judged(plan(), inotify_instances=0) == []  # nothing of it without a plane


def test_a_root_that_cannot_be_written_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    env = {"DEVOPS_BENCH_RUNS": str(tmp_path / "file/runs"), "BENCH_RUN_STATE_ROOT": str(tmp_path / "new/state")}
    room = host.look(env)
    assert room.unwritable == (("DEVOPS_BENCH_RUNS", tmp_path / "file/runs"),)
    assert not (tmp_path / "new").exists()
    (finding,) = host.judge(plan(), host.Room(ROOMY, ROOMY, room.unwritable), {})
    assert finding.line() == f"{tmp_path / 'file/runs'}: cannot be written; set DEVOPS_BENCH_RUNS to a folder of yours"
    assert stat.S_ISREG((tmp_path / "file").stat().st_mode)


# -- shared paths ------------------------------------------------------------------------------------------------------


@pytest.fixture
def on_disk(tmp_path: Path) -> Callable[..., Plan]:
    def make(*, prompt: str = "x", setup: str = "", parallel: int = 3, sandbox: bool = True) -> Plan:
        (tmp_path / "setup").mkdir(exist_ok=True)
        (tmp_path / "setup/setup.sh").write_text(setup)
        (tmp_path / "task.yaml").write_text(f"prompt: {prompt}\n")
        base = plan("noop", "scripted", folder=tmp_path)
        return dataclasses.replace(
            base, options=dataclasses.replace(base.options, max_parallel=parallel, sandbox=sandbox)
        )

    return make


@pytest.mark.parametrize("path", ["/tmp/work/state", "$HOME/.cache/x", "~/work", "${HOME}/a", "/var/tmp/a.lock"])
def test_a_fixed_path_of_setup_is_shared_by_combos_at_once(on_disk: Callable[..., Plan], path: str) -> None:
    (finding,) = shared.check(on_disk(setup=f"echo x > {path}\n"))
    assert finding.what == f"2 combos of common/a share the host path {path}"
    assert finding.level is Level.WARNING
    assert shared.check(on_disk(setup=f"echo x > {path}\n", parallel=1)) == []


@pytest.mark.parametrize(
    "line", ["echo x > /tmp/$CLUSTER_NAME/a", "# see /tmp/notes", "curl https://x/tmp/a", "d=$(mktemp -d /tmp/x.XX)"]
)
def test_paths_of_their_own_are_no_finding(on_disk: Callable[..., Plan], line: str) -> None:
    assert shared.check(on_disk(setup=line + "\n")) == []


def test_a_path_in_a_prompt_matters_only_without_a_sandbox(on_disk: Callable[..., Plan]) -> None:
    assert shared.check(on_disk(prompt="write to /tmp/answer")) == []
    assert len(shared.check(on_disk(prompt="write to /tmp/answer", sandbox=False))) == 1


# -- all together ------------------------------------------------------------------------------------------------------


def test_all_checks_run_on_this_host_and_errors_come_first(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "DEVOPS_BENCH_KUBE": str(tmp_path / "gone")}
    found = check(plan("noop", "gcli+skills", provider="kwok", sandbox=False), env)
    assert [finding.is_error for finding in found] == sorted((finding.is_error for finding in found), reverse=True)
    text = "\n".join(finding.line() for finding in found)
    for part in ("agent gemini", "no key for provider google (model m)", "is not an executable file"):
        assert part in text
    assert text.count("\n") == len(found) - 1
    assert list(tmp_path.iterdir()) == []


def test_a_plan_without_needs_passes_on_this_host(tmp_path: Path) -> None:
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"]}
    assert [finding for finding in check(plan("noop", sandbox=False), env) if finding.is_error] == []

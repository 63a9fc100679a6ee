"""Expansion: every cell once, nothing lost in silence, same-named things kept apart."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devops_bench import clusters
from devops_bench.errors import ConfigError, TaskError
from devops_bench.matrix import ids, served
from devops_bench.matrix.expand import COMBOS_MAX, expand, plan_of, task_labels
from devops_bench.matrix.plan import Plan
from devops_bench.matrix.select import select_tasks
from devops_bench.tasks.spec import ClusterNeeds
from tests.matrix.conftest import OPTIONS, refs, selected, spec_of

KWOK = {"infrastructure": {"provider": "kwok"}}
NONE = {"infrastructure": {"provider": "none"}}


def check(**fields: object) -> dict[str, object]:
    return {**KWOK, "verification_spec": [{"name": "n", "check": fields}]}


def test_the_count_is_tasks_by_models_by_configs_by_repeats() -> None:
    tasks = [selected("common/a", **KWOK), selected("common/b", **KWOK)]
    plan = plan_of(spec_of("noop", "api+mcp", models=("m1", "m2", "m3"), repeats=2), tasks)
    assert len(plan.combos) == 2 * 3 * 2 * 2
    assert len({combo.rid for combo in plan.combos}) == len(plan.combos)
    assert plan.combos[0].rid == "a__m1__noop"
    assert plan.combos[12].rid == "a__m1__noop__r1"
    assert plan.stamp == ""
    assert plan.notes == ()


def test_a_task_with_nodes_of_its_own_is_left_out_where_the_cluster_is_somebody_s() -> None:
    tasks = [selected("common/good", **KWOK), selected("common/bad", **KWOK)]
    needy = dataclasses.replace(
        tasks[1],
        spec=tasks[1].spec.model_copy(
            update={"cluster": ClusterNeeds.model_validate({"nodes": [{"name": "worker", "count": 2}]})}
        ),
    )
    plan = plan_of(spec_of("noop", provider="existing"), [tasks[0], needy])
    assert {combo.task_key for combo in plan.combos} == {"common/good"}
    assert "nodes, stages or faults of its own, which provider existing cannot give" in plan.notes[0]


def test_a_combo_carries_its_whole_identity() -> None:
    plan = plan_of(
        spec_of("gemini-cli+mcp", models=("qwen3:8b",), cluster_base="lab"),
        [selected("common/opa-remediation", **KWOK)],
        now=datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC),
    )
    (combo,) = plan.combos
    assert combo.rid == "opa-remediation__qwen3~8b__gcli+mcp"
    assert combo.token == ids.token(combo.rid)
    assert combo.cluster_name == f"{combo.token}-lab"
    assert combo.task_key == "common/opa-remediation"
    assert (combo.config.agent, combo.config.augmentation) == ("gemini", ("mcp",))
    assert combo.provider == "kwok"
    assert plan.created == "2030-01-02T03:04:05Z"
    assert plan.task_hashes == {"common/opa-remediation": "sha256:common/opa-remediation"}


def test_a_plan_reads_back_as_it_was_written(tmp_path: Path) -> None:
    plan = plan_of(spec_of("noop", "api", models=("a", "b")), [selected("common/a", **KWOK)])
    dataclasses.replace(plan, stamp="20300102_030405-abc").write(tmp_path)
    assert Plan.read(tmp_path) == dataclasses.replace(plan, stamp="20300102_030405-abc")


def test_same_named_task_folders_have_ids_of_their_own() -> None:
    """Two task folders of one name shared one id, and one result overwrote the other."""
    plan = plan_of(spec_of(), [selected("common/x", **NONE), selected("gcp/x", **NONE), selected("common/y", **NONE)])
    assert [combo.rid for combo in plan.combos] == ["common,x__m__noop", "gcp,x__m__noop", "y__m__noop"]


@given(st.lists(st.from_regex(r"[abAB]{1,2}(/[abAB]{1,2}){0,3}", fullmatch=True), unique=True, min_size=1, max_size=30))
def test_task_labels_are_unique_tails_of_the_keys(keys: list[str]) -> None:
    labels = task_labels(keys)
    assert list(labels) == list(dict.fromkeys(labels)) and set(labels) == set(keys)
    assert len(set(labels.values())) == len(keys)
    assert all(f"/{key}".endswith(f"/{label}") for key, label in labels.items())
    assert len({ids.rid(label, "m", "noop").casefold() for label in labels.values()}) == len(keys)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"infrastructure": {"provider": "kind"}}, "clusters of real containers (kind) are not available yet"),
        ({"infrastructure": {"provider": "gke"}}, "cloud clusters (gke) are not available yet"),
        ({"infrastructure": {"provider": "vsphere"}}, "provider 'vsphere' is not known"),
        (check(type="http_probe", url="http://x"), "check http_probe cannot be served by provider kwok"),
        (check(type="pod_exec", selector="a=b", command=["id"]), "check pod_exec cannot be served by provider kwok"),
        (
            check(type="cloud_resource_property", args=["list"]),
            "check cloud_resource_property cannot be served",
        ),
        (
            {**check(type="all", checks=[{"type": "any", "checks": [{"type": "http_probe", "url": "u"}]}])},
            "check http_probe cannot be served by provider kwok",
        ),
        (
            {**check(type="pod_healthy", selector="a=b"), **NONE},
            "check pod_healthy cannot be served by provider none: it needs a cluster",
        ),
        ({**KWOK, "agent_quota_writes": False}, "agent_quota_writes: false cannot be enforced yet"),
        ({**KWOK, "requires_unsandboxed": True}, "requires_unsandboxed: true needs BENCH_AGENT_SANDBOX=0"),
        (
            {
                **KWOK,
                "chaos_spec": [
                    {
                        "name": "load",
                        "trigger": {"type": "time"},
                        "action": {"type": "generate_load", "target": {"service_url": "http://x"}},
                    }
                ],
            },
            "chaos_spec is not available yet",
        ),
    ],
)
def test_a_task_this_host_cannot_serve_is_left_out_by_one_line(fields: dict[str, object], reason: str) -> None:
    tasks = [selected("common/good", **NONE), selected("common/bad", **fields)]
    plan = plan_of(spec_of("noop", "api", models=("a", "b", "c")), tasks)
    assert {combo.task_key for combo in plan.combos} == {"common/good"}
    (note,) = plan.notes
    assert note.startswith("left out 6 combos (common/bad): ")
    assert reason in note
    assert "common/bad" not in plan.task_hashes
    with pytest.raises(ConfigError, match="nothing is left to run: left out 6 combos") as caught:
        plan_of(spec_of("noop", "api", models=("a", "b", "c")), tasks[1:])
    assert caught.value.exit_code == 2


def test_mcp_without_a_cluster_and_a_server_is_left_out_as_a_pair() -> None:
    tasks = [selected("common/no-cluster", **NONE), selected("common/cluster", **KWOK)]
    plan = plan_of(spec_of("api", "api+mcp"), tasks)
    assert [combo.rid for combo in plan.combos] == ["no-cluster__m__api", "cluster__m__api", "cluster__m__api+mcp"]
    assert plan.notes == (
        "left out 1 combo (common/no-cluster): +mcp without a cluster and without MCP_SERVER_BIN grants nothing",
    )
    with_server = dataclasses.replace(OPTIONS, mcp_server=("server",))
    assert len(plan_of(spec_of("api", "api+mcp", options=with_server), tasks).combos) == 4


def test_a_provider_override_never_gives_a_cluster_to_a_task_without_one() -> None:
    tasks = [selected("common/a", **NONE), selected("common/b", **KWOK)]
    plan = plan_of(spec_of(provider="existing"), tasks)
    assert [combo.provider for combo in plan.combos] == ["none", "existing"]


def test_unsandboxed_tasks_run_where_the_sandbox_is_off() -> None:
    spec = spec_of(options=dataclasses.replace(OPTIONS, sandbox=False))
    assert len(plan_of(spec, [selected("common/a", **KWOK, requires_unsandboxed=True)]).combos) == 1


def test_the_providers_told_apart_here_are_those_that_there_are() -> None:
    assert served.PROVIDERS == clusters.AVAILABLE
    assert tuple(served.NOT_YET) == clusters.PLANNED


def test_two_run_ids_with_one_token_are_said_and_never_salted() -> None:
    # 28-bit tokens: found by search, so that the test needs no luck.
    pair = _token_collision()
    plan = plan_of(spec_of(models=pair), [selected("common/t", **NONE)])
    assert plan.combos[0].token == plan.combos[1].token
    assert plan.combos[0].cluster_name == plan.combos[1].cluster_name
    assert plan.notes == (
        f"combos t__{pair[0]}__noop and t__{pair[1]}__noop share a cluster token: they run one after the other",
    )


def _token_collision() -> tuple[str, str]:
    seen: dict[str, str] = {}
    for number in range(200_000):
        model = f"m{number}"
        token = ids.token(ids.rid("t", model, "noop"))
        if token in seen:
            return seen[token], model
        seen[token] = model
    raise AssertionError("no collision")


def test_a_matrix_beyond_all_measure_is_refused_before_it_is_built() -> None:
    models = tuple(f"m{number}" for number in range(1000))
    with pytest.raises(ConfigError, match="the matrix has 1000000 combos; keep it at most 100000"):
        plan_of(spec_of(models=models, repeats=1000), [selected("common/a", **NONE)])
    assert COMBOS_MAX == 100_000


@given(
    st.lists(st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9.:/@-]{0,8}", fullmatch=True), min_size=1, max_size=5, unique=True),
    st.lists(st.sampled_from(["noop", "api", "api+mcp", "cc+skills"]), min_size=1, max_size=4, unique=True),
    st.integers(1, 3),
)
def test_no_two_combos_of_a_plan_share_an_id(models: list[str], configs: list[str], repeats: int) -> None:
    tasks = [selected(key, **KWOK) for key in ("common/a", "gcp/a", "common/A", "common/b-a")]
    plan = plan_of(spec_of(*configs, models=tuple(models), repeats=repeats), tasks)
    assert len(plan.combos) == len(tasks) * len(models) * len(configs) * repeats
    assert len({combo.rid.casefold() for combo in plan.combos}) == len(plan.combos)


# -- tasks on disk -----------------------------------------------------------------------------------------------------


def test_a_task_given_twice_runs_once_whatever_the_spelling(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    """A task listed twice ran twice in one directory."""
    write_task("tasks/common/a")
    (tmp_path / "link").symlink_to(tmp_path / "tasks/common/a")
    words = ["tasks/common/a/task.yaml", "tasks/common/a", "./tasks/../tasks/common/a/", "link", "ALL"]
    found, notes = select_tasks(refs(tmp_path, *words))
    assert [task.spec.key for task in found] == ["common/a"]
    folder = tmp_path / "tasks/common/a"
    assert notes == (
        f"task {folder} is given more than once: runs once",
        f"task {folder} (also as {tmp_path / 'link'}) is given more than once: runs once",
    )


def test_a_path_with_a_space_is_one_task(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    write_task("my tasks/a")
    found, notes = select_tasks(refs(tmp_path, "my tasks/a/task.yaml"))
    assert [task.file for task in found] == [tmp_path / "my tasks/a/task.yaml"]
    assert notes == ()


def test_an_unquoted_space_is_told_with_the_quoted_path(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    """A path with a space became two combos, and a missing path exited 0."""
    write_task("my tasks/a")
    with pytest.raises(ConfigError) as caught:
        select_tasks(refs(tmp_path, "my", "tasks/a/task.yaml"))
    assert "'my tasks/a/task.yaml'" in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_missing_task_is_refused(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    write_task("tasks/common/opa")
    with pytest.raises(ConfigError, match="no such task; did you mean common/opa") as caught:
        select_tasks(refs(tmp_path, "tasks/common/opaa/task.yaml"))
    assert caught.value.exit_code == 2


def test_a_pattern_is_expanded_as_a_shell_would(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    for name in ("b", "a", "c"):
        write_task(f"tasks/common/{name}")
    write_task("tasks/gcp/a")
    (tmp_path / "tasks/common/notes").mkdir()
    found, _ = select_tasks(refs(tmp_path, "tasks/common/*"))
    assert [task.spec.key for task in found] == ["common/a", "common/b", "common/c"]
    found, _ = select_tasks(refs(tmp_path, "tasks/*/a/task.yaml"))
    assert [task.spec.key for task in found] == ["common/a", "gcp/a"]
    with pytest.raises(ConfigError, match=r"no task fits the pattern 'tasks/z\*'"):
        select_tasks(refs(tmp_path, "tasks/z*"))


def test_a_folder_whose_name_looks_like_a_pattern_is_that_folder(
    tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    write_task("tasks/[a]")
    write_task("tasks/a")
    found, _ = select_tasks(refs(tmp_path, "tasks/[a]"))
    assert [task.spec.key for task in found] == ["[a]"]


def test_a_task_that_does_not_parse_is_refused_with_its_line(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    bad = "verification_spec:\n  - name: x\n    check: {type: pod_health, selector: a=b}\n"
    file = write_task("tasks/bad", body=bad)
    write_task("tasks/worse", body="promt: x\n")
    write_task("tasks/good")
    with pytest.raises(TaskError) as caught:
        select_tasks(refs(tmp_path, "ALL"))
    assert str(caught.value).startswith(f"{file}:6: ")
    assert "pod_healthy" in str(caught.value)
    assert "(and 1 more task cannot be read)" in str(caught.value)
    assert caught.value.exit_code == 2


def test_expansion_from_files_to_combos(tmp_path: Path, write_task: Callable[..., Path]) -> None:
    write_task("tasks/common/a")
    write_task("tasks/common/b", provider="kind")
    spec = dataclasses.replace(spec_of("noop"), tasks=refs(tmp_path, "ALL", "tasks/common/a"), notes=("from axes",))
    plan = expand(spec)
    assert [combo.rid for combo in plan.combos] == ["a__m__noop"]
    assert plan.combos[0].task_file == str(tmp_path / "tasks/common/a/task.yaml")
    assert plan.notes == (
        "from axes",
        f"task {tmp_path / 'tasks/common/a'} is given more than once: runs once",
        "left out 1 combo (common/b): clusters of real containers (kind) are not available yet",
    )

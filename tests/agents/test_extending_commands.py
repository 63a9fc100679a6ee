"""An agent of another package through the real command line: wherever ours can be named, it can."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import Plan
from devops_bench.matrix.presets import parse_config
from devops_bench.results.environment import NO_RULES, hash_text
from tests.agents import example
from tests.e2e.world import World

RID = "write-answer__scripted~s__tiny"


@pytest.fixture
def world(tmp_path: Path) -> World:
    """The package on the interpreter's path; nothing says yet where its program is."""
    return of(tmp_path)


@pytest.fixture
def ready(tmp_path: Path) -> World:
    """The program is there too, and a scripted model that solves the task."""
    made = of(tmp_path)
    scenarios = tmp_path / "scenarios"
    scenarios.mkdir()
    turns = [{"text": "I write.", "shell": "echo ready > answer.txt"}, {"text": "Written."}]
    (scenarios / "s.json").write_text(json.dumps({"turns": turns}))
    made.env |= {"AGENT_TARGET": str(example.program(tmp_path)), "BENCH_SCENARIOS_DIR": str(scenarios)}
    return made


def of(place: Path, more: str = "") -> World:
    paths = [str(example.site(place, more)), *filter(None, [os.environ.get("PYTHONPATH")])]
    (place / "tmp").mkdir()
    env = {"PYTHONPATH": os.pathsep.join(paths), "TMPDIR": str(place / "tmp"), "DEVOPS_BENCH_CACHE": str(place / "c")}
    return World(place, env)


def one_line(done: subprocess.CompletedProcess[str]) -> tuple[int, str]:
    (line,) = done.stderr.splitlines()
    return done.returncode, line


@pytest.mark.sandbox
def test_a_matrix_runs_it_behind_its_smoke_gate_and_reports_it(ready: World) -> None:
    done = ready.call("run", *ready.matrix(ready.task(), models="scripted:s", configs="tiny"), BENCH_SMOKE="scripted")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "smoke gate passed (scripted): tiny" in done.stderr
    (run_dir,) = ready.runs.iterdir()
    (combo,) = Plan.read(run_dir).combos
    assert (combo.rid, combo.config.preset, combo.config.agent) == (RID, "tiny", "tiny")
    (attempt,) = [path for path in (run_dir / RID).iterdir() if path.is_dir()]
    (row,) = json.loads((attempt / "rows.json").read_text())
    assert (row["setupId"], row["harness"], row["outcomeScore"]) == ("scripted-s-tiny", "tiny", 1.0)
    agent = json.loads((attempt / "environment.json").read_text())["agent"]
    assert (agent["name"], agent["version"], agent["source"]) == ("tiny", "0.3.1", "target")
    told = json.loads(ready.call("report", run_dir.name, "--json").stdout)
    assert [(one["preset"], one["harness"], one["verdict"]) for one in told["combos"]] == [("tiny", "tiny", "passed")]
    again = ready.call("retry", run_dir.name, RID, "--detach")
    assert again.returncode == 0, again.stderr
    stamp = again.stdout.strip().removeprefix("STAMP=")
    assert ready.call("attach", stamp).returncode == 0


@pytest.mark.sandbox
def test_the_combo_command_runs_it_by_its_type(ready: World) -> None:
    root = ready.root / "results"
    done = ready.call(
        "combo", "--results-root", str(root), str(ready.task()), BENCH_AGENT_TYPE="tiny", AGENT_MODEL="scripted:s"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (rows,) = root.glob("run_*/rows.json")
    assert json.loads(rows.read_text())[0]["harness"] == "tiny"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("agent", "rules", "digest"),
    [("tiny", " Be kind.\n", hash_text("Be kind.")), ("tiny", "", NO_RULES), ("noop", "Be kind.", None)],
)
def test_the_rules_that_an_agent_was_told_are_told_apart_in_its_record(
    ready: World, agent: str, rules: str, digest: str | None
) -> None:
    task, root = str(ready.task()), ready.root / "results"
    env = {"BENCH_AGENT_TYPE": agent, "AGENT_MODEL": "scripted:s", "AGENT_RULES_TEXT": rules}
    ready.call("combo", "--results-root", str(root), task, **env)
    (record,) = root.glob("run_*/environment.json")
    assert json.loads(record.read_text())["hashes"]["rules"] == digest
    asked = [path.read_text() for path in root.glob("run_*/model.jsonl")]
    assert ["Be kind." in text for text in asked] == ([] if agent == "noop" else [bool(rules)])


@pytest.mark.sandbox
def test_the_smoke_test_tries_it(ready: World) -> None:
    (tiny,) = json.loads(ready.call("smoke", "tiny", "--json").stdout)["rows"]
    assert (tiny["config"], tiny["verdict"], tiny["version"], tiny["calls"]) == ("tiny", "good", "0.3.1", 1)


@pytest.mark.sandbox
def test_the_smoke_test_of_all_installed_agents_has_it_with_what_it_can_serve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from devops_bench.cli.smoke import choose

    monkeypatch.syspath_prepend(str(example.site(tmp_path, "gone = tiny_gone:Tiny\n")))
    env = {**os.environ, "PATH": f"{example.program(tmp_path).parent}:/usr/bin:/bin"}
    chosen = [config.preset for config in choose((), env)]
    assert "tiny" in chosen and not {"gone", "tiny+mcp", "tiny+skills"} & set(chosen)


@pytest.mark.sandbox
def test_list_show_and_doctor_tell_its_program_and_its_package(ready: World) -> None:
    rows = {row["key"]: row for row in json.loads(ready.call("agents", "list", "--json").stdout)}
    tiny = rows["tiny"]
    assert (tiny["version"], tiny["source"], tiny["package"]) == ("0.3.1", "target", "tiny-adapter 1.0")
    assert (tiny["preset"], tiny["title"], tiny["wires"]) == ("tiny", "Tiny agent", ["openai"])
    table = ready.call("agents", "list").stdout.splitlines()
    (line,) = [line for line in table if line.startswith("tiny ")]
    assert line.split("  ") and "target, package tiny-adapter 1.0" in line and "built in" not in line
    assert "package  tiny-adapter 1.0" in ready.call("agents", "show", "tiny").stdout
    done = ready.call("agents", "doctor", "tiny")
    assert done.returncode == 0 and "ok      tiny 0.3.1 (target): starts in the sandbox" in done.stdout


def test_without_its_program_each_place_says_how_it_is_had(world: World) -> None:
    said = "agent tiny (Tiny agent) is not installed; put tiny-agent on PATH, or name it by AGENT_TARGET"
    flags = world.matrix(world.task(), models="scripted:s", configs="tiny", scenarios_dir=str(world.tasks))
    assert one_line(world.call("smoke", "tiny")) == (2, f"error: {said}")
    done = world.call("run", *flags, "--dry-run")
    assert done.returncode == 0 and f"warning: {said}" in done.stdout
    done = world.call("run", *flags)
    assert done.returncode == 2 and f"error: {said}" in done.stderr.splitlines()
    assert not world.runs.exists()
    rows = {row["key"]: row for row in json.loads(world.call("agents", "list", "--json").stdout)}
    assert (rows["tiny"]["version"], rows["tiny"]["source"], rows["tiny"]["problem"]) == ("", "", "")
    done = world.call("agents", "doctor", "tiny")
    assert done.returncode == 3 and "broken  tiny: not installed; put tiny-agent on PATH" in done.stdout


@pytest.mark.sandbox
@pytest.mark.parametrize(("grant", "fix"), [("+skills", "run tiny without them"), ("+mcp", "run tiny without it")])
def test_a_label_that_it_cannot_keep_is_told_before_anything_starts(ready: World, grant: str, fix: str) -> None:
    said = f"error: agent tiny cannot serve {grant}; {fix}"
    assert one_line(ready.call("smoke", f"tiny{grant}")) == (2, said)
    flags = ready.matrix(ready.task(), models="scripted:s", configs=f"tiny{grant}")
    assert one_line(ready.call("run", *flags, MCP_SERVER_BIN="/usr/bin/env")) == (2, said)
    assert not ready.runs.exists()


KEY = "a key has lower-case letters, digits and single inner dashes, at most 19 characters, and does not end in"
UNLOADABLE = "agent gone of package tiny-adapter cannot be loaded: ModuleNotFoundError: No module named 'tiny_gone'"
PARTS = "agent half of package tiny-adapter cannot be loaded: TypeError: it has no key, missing, wires, binds, run"


@pytest.mark.parametrize(
    ("entry", "name", "said"),
    [
        ("gone = tiny_gone:Tiny", "gone", f"{UNLOADABLE}; update or uninstall tiny-adapter"),
        ("half = pathlib:PurePath", "half", PARTS),
        ("My.Agent = tiny_adapter:Tiny", "My.Agent", f"tiny-adapter: {KEY} mcp, skills, unsandboxed"),
        ("kube-mcp = tiny_adapter:Tiny", "kube-mcp", "the name cannot be part of an id"),
        ("a-key-of-20-characters = tiny_adapter:Tiny", "a-key-of-20-characters", "the name cannot be part of an id"),
        ("tiny2 = tiny_adapter:Tiny", "tinny", "unknown agent 'tinny'; did you mean tiny?"),
    ],
)
def test_what_cannot_be_used_is_one_line_everywhere(tmp_path: Path, entry: str, name: str, said: str) -> None:
    world = of(tmp_path, f"{entry}\n")
    flags = world.matrix(world.task(), models="scripted:s", configs=name, scenarios_dir=str(world.tasks))
    calls = {
        "run": world.call("run", *flags),
        "combo": world.call(
            "combo", str(world.tasks / "write-answer"), BENCH_AGENT_TYPE=name, AGENT_MODEL="scripted:s"
        ),
        "smoke": world.call("smoke", name),
    }
    for command, done in calls.items():
        assert done.returncode == 2, command
        assert [line for line in done.stderr.splitlines() if line.startswith("error: ") and said in line], command
        assert "Traceback" not in done.stderr and "details in" not in done.stderr, command
    assert not world.runs.exists()
    shown = world.call("agents", "show", name)
    assert (shown.returncode == 2 and name in shown.stderr) or said in shown.stdout


def test_a_name_of_ours_stays_ours_and_the_list_says_so(tmp_path: Path) -> None:
    world = of(tmp_path, "noop = tiny_adapter:Tiny\ngcli = tiny_adapter:Tiny\n")
    done = world.call("run", "--dry-run", "--json", *world.matrix(world.task(), models="m", configs="noop gcli"))
    assert done.returncode == 0, done.stderr
    assert [combo["agent"] for combo in json.loads(done.stdout)["combos"]] == ["noop", "gemini"]
    listed = world.call("agents", "list", "--json")
    rows = {row["key"]: row for row in json.loads(listed.stdout)}
    assert rows["noop"]["source"] == "built in" and "gcli" not in rows
    assert [line for line in listed.stderr.splitlines() if line.startswith("agent 'gcli' of package tiny-adapter: ")]
    assert "rename its entry point in tiny-adapter" in listed.stderr


def test_two_packages_of_one_name_are_not_chosen_between(tmp_path: Path) -> None:
    world = of(tmp_path)
    world.env["PYTHONPATH"] += os.pathsep + str(example.site(tmp_path / "two", package="other-adapter"))
    code, line = one_line(world.call("smoke", "tiny"))
    assert code == 2 and "tiny-adapter" in line and "other-adapter" in line and "uninstall" in line


def test_entry_points_that_cannot_be_read_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(example.site(tmp_path, "not an entry point\n")))
    for key in ("gcli", "noop"):
        assert parse_config(key)[0].preset == key  # ours need nobody's entry points
    with pytest.raises(ConfigError, match=r"entry points of the installed packages cannot be read: .*; reinstall the"):
        parse_config("tiny")


def test_an_adapter_for_a_known_agent_makes_it_run(tmp_path: Path) -> None:
    world = of(tmp_path, "hermes = tiny_adapter:Hermes\n")
    module = tmp_path / "site" / "tiny_adapter.py"
    module.write_text(module.read_text() + '\n\nclass Hermes(Tiny):\n    key, binary = "hermes", "hermes"\n')
    rows = {row["key"]: row for row in json.loads(world.call("agents", "list", "--json").stdout)}
    assert (rows["hermes"]["adapter"], rows["hermes"]["package"]) == (True, "tiny-adapter 1.0")
    assert one_line(world.call("smoke", "hermes")) == (
        2, "error: agent hermes (Tiny agent) is not installed; put hermes on PATH, or name it by AGENT_TARGET",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "key", "title"), [("kubectl-ai", "kubectl-ai", "kubectl-ai"), ("agy", "antigravity", "Anti")]
)
def test_a_run_of_an_agent_without_an_adapter_says_what_to_do(world: World, name: str, key: str, title: str) -> None:
    flags = world.matrix(world.task(), models="scripted:s", configs=name, scenarios_dir=str(world.tasks))
    for done in (world.call("run", *flags), world.call("smoke", name)):
        (line,) = [line for line in done.stderr.splitlines() if key in line]
        assert done.returncode == 2 and line.startswith(f"error: agent {key} ({title}")
        assert "has no adapter" in line and "use api, openclaw, gemini, claude, codex, opencode" in line
        assert "docs/extending/agents.md" in line and "install" not in line


@pytest.mark.parametrize(("name", "looks"), [("gcli+mcp", False), ("noop", False), ("tiny", True)])
def test_packages_are_looked_at_only_for_names_that_are_not_ours(world: World, name: str, looks: bool) -> None:
    ask = (
        "import sys\nfrom devops_bench.matrix.presets import parse_config\nparse_config(sys.argv[1])\n"
        "print('devops_bench.agents.plugins' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask, name], env=world.environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(looks)

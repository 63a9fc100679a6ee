"""Unlimited mode end to end: a fault of the program is repaired by a scripted fixer while the run goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .world import World, assert_no_residue, of

pytestmark = pytest.mark.sandbox
PROJECT = Path(__file__).resolve().parents[2]
LINE = "        self.enter(Phase.SETUP)\n"
FAULT = "        assert self.raw is not None and self.raw.name != 'cursed', 'cursed'\n"


def checkout(world: World) -> Path:
    """A git checkout of the program with a fault of its own: it cannot set up the task `cursed`."""
    root = world.root / "checkout"
    shutil.copytree(PROJECT / "src", root / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(PROJECT / "docs" / "appendix", root / "docs" / "appendix")
    (root / ".gitignore").write_text("__pycache__/\n")
    file = root / "src" / "devops_bench" / "combo" / "attempt.py"
    text = file.read_text()
    assert text.count(LINE) == 1
    file.write_text(text.replace(LINE, LINE + FAULT))
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for command in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *who, "-C", str(root), *command], check=True)
    return root


def fixer(world: World, body: str) -> str:
    script = world.root / "fixer.py"
    script.write_text("import pathlib, sys\nsys.stdin.read()\n" + body)
    return f"{sys.executable} {script}"


MEND = (
    "path = pathlib.Path('src/devops_bench/combo/attempt.py')\n"
    "path.write_text(''.join(l for l in path.read_text().splitlines(True) if 'cursed' not in l))\n"
)
CHEAT = (
    "path = pathlib.Path('src/devops_bench/scoring/outcome.py')\npath.write_text(path.read_text() + '\\n# kinder\\n')\n"
)


def test_a_fault_is_repaired_and_only_the_affected_combos_run_again(world: World) -> None:
    root = checkout(world)
    checks = f"{sys.executable} -m compileall -q src/devops_bench/combo"
    env = {"PYTHONPATH": str(root / "src"), "BENCH_FIX_CHECKS": checks}
    matrix = world.matrix(world.task("cursed"), world.task("fine"), max_parallel="1")
    ended = world.call("run", "--unlimited", "--fixer", fixer(world, MEND), *matrix, timeout=300, **env)
    (run_dir,) = world.runs.iterdir()
    assert ended.returncode == 0, (ended.stderr, of(run_dir, "fix_ended", "fix_refused", "launching_stopped"))
    (tried,) = of(run_dir, "fix_ended")
    assert tried["accepted"] and tried["rids"] == ["cursed__none__scripted"]
    assert of(run_dir, "unlimited")[0]["stops"], "what ends it is said at the start"
    ends = [(e["rid"].split("__")[0], e["state"]) for e in of(run_dir, "combo_finished")]
    assert sorted(ends) == [("cursed", "invalid"), ("cursed", "scored"), ("fine", "scored")]
    assert tried["commit"][:12] in (run_dir / "fixes.md").read_text()
    attempts = sorted((run_dir / "cursed__none__scripted").glob("run_*"))
    codes = [json.loads((path / "environment.json").read_text())["hashes"]["code"] for path in attempts]
    assert len(set(codes)) == 2, "attempts before and after the fix name different code"
    assert "code changed" in " ".join(json.loads((run_dir / "plan.json").read_text())["notes"])
    clean = subprocess.run(["git", "-C", str(root), "status", "--porcelain"], capture_output=True, text=True)
    assert clean.stdout == "", "the user's tree is as it was"
    assert_no_residue(world)


def test_a_fix_that_moves_the_goalposts_is_refused_and_ends_the_repairing(world: World) -> None:
    root = checkout(world)
    env = {"PYTHONPATH": str(root / "src"), "BENCH_FIX_CHECKS": "true"}
    matrix = world.matrix(world.task("cursed"))
    ended = world.call("run", "--unlimited", "--fixer", fixer(world, CHEAT), *matrix, timeout=300, **env)
    (run_dir,) = world.runs.iterdir()
    assert ended.returncode == 3 and (run_dir / ".done").exists()
    (tried,) = of(run_dir, "fix_ended")
    assert not tried["accepted"] and "goalposts" in tried["why"]
    assert not of(run_dir, "code_changed") and len(of(run_dir, "combo_started")) == 1
    (run_dir / "cursed__none__scripted" / "status").read_text()


def test_unlimited_refuses_a_tree_with_changes(world: World) -> None:
    root = checkout(world)
    file = root / "src" / "devops_bench" / "demo" / "__init__.py"
    file.write_text(file.read_text() + "\n# edited\n")
    refused = world.call(
        "run", "--unlimited", "--fixer", "true", *world.matrix(world.task()), PYTHONPATH=str(root / "src")
    )
    assert refused.returncode == 2 and "uncommitted changes" in refused.stderr and refused.stderr.count("\n") == 1


SPENDS = "import json, os\npathlib.Path(os.environ['BENCH_FIX_SPEND']).write_text(json.dumps({'cost_usd': 3.0}))\n"


def test_a_fixers_spend_counts_and_a_higher_budget_goes_on(world: World) -> None:
    root = checkout(world)
    env = {"PYTHONPATH": str(root / "src"), "BENCH_FIX_CHECKS": "true"}
    matrix = world.matrix(world.task("cursed"), max_parallel="1")
    command = ["run", "--unlimited", "--fixer", fixer(world, SPENDS + MEND)]
    halted = world.call(*command, "--max-cost", "2", *matrix, timeout=300, **env)
    (run_dir,) = world.runs.iterdir()
    (tried,) = of(run_dir, "fix_ended")
    assert tried["accepted"] and tried["cost_usd"] == 3.0
    assert halted.returncode == 3 and "3.00 USD of 2.00 USD (--max-cost)" in halted.stderr, halted.stderr
    assert not (run_dir / ".done").exists() and len(of(run_dir, "combo_started")) == 1
    status = json.loads(world.call("status", "--json", PYTHONPATH=str(root / "src")).stdout)
    assert status["state"] == "halted" and status["spent_usd"] == 3.0 and status["counts"]["planned"] == 1
    resumed = world.call("resume", "--max-cost", "9", run_dir.name, timeout=300, **env)
    assert resumed.returncode == 0 and (run_dir / ".done").exists(), resumed.stderr
    assert [e["state"] for e in of(run_dir, "combo_finished")] == ["invalid", "scored"]
    assert_no_residue(world)


def test_an_unlimited_run_without_a_budget_says_which_one_it_has(world: World) -> None:
    root = checkout(world)
    env = {"PYTHONPATH": str(root / "src")}
    ended = world.call("run", "--unlimited", "--fixer", "true", *world.matrix(world.task()), timeout=300, **env)
    (run_dir,) = world.runs.iterdir()
    assert ended.returncode == 0 and "25 USD or 24 h" in ended.stderr, ended.stderr
    assert json.loads((run_dir / "orders.json").read_text())["budget"] == {
        "cost": 25.0, "tokens": None, "duration": 86400.0,
    }  # fmt: skip
    assert of(run_dir, "unlimited")[0]["budget"]["cost"] == 25.0

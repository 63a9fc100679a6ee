"""Unlimited mode: goalposts, caps, and one repair in a real git worktree with a scripted fixer."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from devops_bench.supervisor.healing.caps import Caps, Ledger
from devops_bench.supervisor.healing.goalposts import Change, moved
from devops_bench.supervisor.healing.repair import Order, repair


@pytest.mark.parametrize(
    "path",
    [
        "tasks/common/a/task.yaml",
        "tasks/common/a/solution/solve.sh",
        "tasks/common/a/wrong/idle.sh",
        "src/devops_bench/verification/ops.py",
        "src/devops_bench/scoring/outcome.py",
        "src/devops_bench/integrity/rules.py",
        "src/devops_bench/results/rows.py",
        "src/devops_bench/combo/judging.py",
        "src/devops_bench/supervisor/healing/goalposts.py",
        "docs/appendix/known_issues.md",
        "pyproject.toml",
        "Makefile",
        "tests/conftest.py",
        "sub/conftest.py",
        ".gitattributes",
    ],
)
def test_goalposts_may_not_be_moved(path: str) -> None:
    assert moved([Change("M", path)]) and moved([Change("A", path)]) and moved([Change("D", path)])


def test_what_a_fix_may_touch() -> None:
    fine = ["src/devops_bench/combo/workspace.py", "src/devops_bench/agents/api.py", "tasks/common/a/setup/10-app.yaml"]
    assert moved([Change("M", path) for path in fine]) == []
    assert moved([Change("A", "tests/combo/test_new.py")]) == []
    assert moved([Change("M", "tests/combo/test_old.py")]) and moved([Change("D", "tests/combo/test_old.py")])
    assert moved([Change("A", "src/x.py", link=True)])


def test_caps() -> None:
    ledger = Ledger(Caps(fixes=3, per_signature=1, all=100))
    assert ledger.refuses("a") == ""
    ledger.note("a", 10, accepted=True)
    assert "again after its fix" in ledger.refuses("a")
    ledger.note("b", 10, accepted=False)
    assert "tried already" in ledger.refuses("b")
    ledger.note("c", 10, accepted=False)
    assert "3 fixes" in ledger.refuses("d")
    slow = Ledger(Caps(all=100))
    slow.note("a", 101, accepted=False)
    assert "took" in slow.refuses("b")


def git(folder: Path, *args: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
    done = subprocess.run(["git", *identity, "-C", str(folder), *args], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def order(tmp_path: Path) -> Order:
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src" / "code.py").write_text("broken = True\n")
    (root / "tasks" / "a").mkdir(parents=True)
    (root / "tasks" / "a" / "task.yaml").write_text("check: strict\n")
    (root / ".gitignore").write_text("*.cache\n")
    git(root, "init", "-q")
    git(root, "add", "--all")
    git(root, "commit", "-q", "-m", "first")
    evidence = tmp_path / "evidence"
    evidence.mkdir()
    checks = (sys.executable, "-c", "import sys; sys.exit('broken = True' in open('src/code.py').read())")
    return Order(
        root=str(root), worktree=str(tmp_path / "fixes" / "s"), stamp="s", fixer=(), checks=checks, configs=(),
        seconds=60, klass="harness", phase="setup", signature="setup-KeyError", reason="KeyError: 'x'",
        evidence=str(evidence),
    )  # fmt: skip


def fixer(order: Order, script: str) -> Order:
    return replace(order, fixer=(sys.executable, "-c", script))


def test_a_fix_that_passes_becomes_one_commit_and_the_users_tree_is_untouched(order: Order) -> None:
    script = (
        "import os, sys, pathlib\n"
        "assert 'setup-KeyError' in sys.stdin.read() and os.path.isdir(os.environ['BENCH_FIX_EVIDENCE'])\n"
        "pathlib.Path('src/code.py').write_text('broken = False\\n')\n"
        "pathlib.Path('left.cache').write_text('ignored by git')\n"
    )
    found = repair(fixer(order, script))
    assert found.commit and found.changed == ("src/code.py",), found
    tree, root = Path(order.worktree), Path(order.root)
    assert git(tree, "rev-parse", "HEAD") == found.commit and git(tree, "status", "--porcelain", "--ignored") == ""
    assert "setup-KeyError" in git(tree, "log", "-1", "--format=%s")
    assert (root / "src" / "code.py").read_text() == "broken = True\n" and git(root, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("script", "why", "final"),
    [
        ("", "changed nothing", False),
        ("import sys; sys.exit(3)", "the fixer failed: exit 3", False),
        ("open('src/other.py', 'w').write('x = 1')", "checks fail", False),
        ("open('tasks/a/task.yaml', 'w').write('check: lenient')", "goalposts", True),
        (
            "import subprocess as s; open('tasks/a/task.yaml', 'w').write('x'); "
            "s.run(['git', '-c', 'user.name=f', '-c', 'user.email=f@f', 'commit', '-qam', 'hidden'], check=True)",
            "goalposts",
            True,
        ),
        ("import time; time.sleep(60)", "no end after", False),
    ],
)
def test_a_fix_that_is_refused_leaves_nothing(order: Order, script: str, why: str, final: bool) -> None:
    job = fixer(order, script)
    found = repair(replace(job, seconds=2 if "sleep" in script else 60))
    assert not found.commit and why in found.why and found.final is final, found
    tree = Path(order.worktree)
    assert git(tree, "rev-parse", "HEAD") == git(Path(order.root), "rev-parse", "HEAD")
    assert git(tree, "status", "--porcelain", "--ignored") == ""

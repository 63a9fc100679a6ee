"""Unlimited mode: goalposts, caps, and one repair in a real git worktree with a scripted fixer."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from devops_bench.matrix.plan import AgentConfig, Combo, Plan, PlanOptions
from devops_bench.process import boottime, identity, wait_ended
from devops_bench.redact import Redactor
from devops_bench.settings import FailureClass
from devops_bench.supervisor.healing.caps import Caps, Ledger
from devops_bench.supervisor.healing.code import with_code
from devops_bench.supervisor.healing.goalposts import Change, moved
from devops_bench.supervisor.healing.healer import CHECKS, Healer
from devops_bench.supervisor.healing.repair import Order, repair
from devops_bench.supervisor.healing.spend import Spend, spend_of
from devops_bench.supervisor.orders import Orders
from devops_bench.supervisor.schedule import Budget, Fault, Job, Rules, Scheduler
from devops_bench.supervisor.state import ComboStatus, RunState
from devops_bench.tasks.fingerprint import content_hash


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
        root=str(root), worktree=str(tmp_path / "fixes" / "s"), base=git(root, "rev-parse", "HEAD"), stamp="s",
        fixer=(), checks=checks, configs=(), seconds=60, klass="harness", phase="setup", signature="setup-KeyError",
        reason="KeyError: 'x'",
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


MEND = "open('src/code.py', 'w').write('broken = False\\n')"


def test_what_a_killed_repair_left_is_no_part_of_the_next_one(order: Order) -> None:
    first = repair(fixer(order, MEND))
    tree = Path(order.worktree)
    (tree / "src" / "half.py").write_text("unchecked\n")
    git(tree, "add", "--all")
    git(tree, "commit", "-q", "-m", "by a fixer that was killed afterwards")
    (tree / "left.cache").write_text("x")
    again = repair(replace(fixer(order, "open('src/more.py', 'w').write('x = 1')"), base=first.commit))
    assert again.changed == ("src/more.py",), again
    assert git(tree, "rev-parse", "HEAD^") == first.commit and not (tree / "src" / "half.py").exists()


TELL = "import os, sys; open(os.environ['BENCH_FIX_SPEND'], 'w').write({!r})"
ASK = """\
import os
assert os.environ['BENCH_FIX_LEFT_USD'] == '2' and os.environ['BENCH_FIX_LEFT_SEC'] == '60'
assert 'BENCH_FIX_LEFT_TOKENS' not in os.environ
print('{"type": "result", "total_cost_usd": 0.25}')
"""


@pytest.mark.parametrize(
    ("script", "spend"),
    [
        ("", Spend()),
        (TELL.format('{"cost_usd": 1.5, "tokens": 20}'), Spend(1.5, 20)),
        (TELL.format('{"cost_usd": 0}') + "; sys.exit(3)", Spend(0.0)),
        (ASK, Spend(0.25)),
    ],
)
def test_what_a_fixer_says_that_it_spent_counts_also_when_it_failed(order: Order, script: str, spend: Spend) -> None:
    found = repair(replace(fixer(order, script), left_usd=2.0))
    assert Spend(found.cost_usd, found.tokens) == spend, found


@pytest.mark.parametrize(
    ("said", "spend"),
    [
        (b"", Spend()),
        (b"done\n{}\n[]\nnot json {\"usage\"\n", Spend()),
        (b'{"type":"result","total_cost_usd":0.5,"usage":{"input_tokens":10,"cache_read_input_tokens":5,"output_tokens":3}}',
         Spend(0.5, 18)),
        (b'{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":8,"output_tokens":2}}\n'
         b'{"type":"turn.completed","usage":{"input_tokens":20,"output_tokens":1}}\n', Spend(None, 33)),
        (b'{"type":"result","total_cost_usd":-1,"usage":{"input_tokens":true}}', Spend()),
        (b'{"type":"result","total_cost_usd":1e999,"usage":7}', Spend()),
    ],
)  # fmt: skip
def test_spend_is_read_from_what_headless_agents_print(tmp_path: Path, said: bytes, spend: Spend) -> None:
    assert spend_of(tmp_path / "none.json", said) == spend
    (tmp_path / "damaged.json").write_text('{"cost_usd": "much"}')
    assert spend_of(tmp_path / "damaged.json", said) == spend


def test_a_repair_ends_with_its_lifeline_and_takes_what_it_started_along(order: Order, tmp_path: Path) -> None:
    started = tmp_path / "started"
    os.mkfifo(started)
    script = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(started)!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\n"
        "open('src/code.py', 'w').write('half')\n"
        "child.wait()\n"
    )
    command = [sys.executable, "-m", "devops_bench.supervisor.healing.repair"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(asdict(fixer(order, script))).encode() + b"\n")
        process.stdin.flush()
        pids = [int(word) for word in started.read_text().split()]
        living = [who for pid in pids if (who := identity(pid)) is not None]
        assert len(living) == 2
        process.stdin.close()
        found = json.loads(process.stdout.read())
    assert not found["commit"] and "given up" in found["why"]
    for who in living:
        fd = who.open_pidfd()
        if fd is not None:
            assert wait_ended(fd, 30)
            os.close(fd)
    assert (Path(order.worktree) / "src" / "code.py").read_text() == "broken = True\n"


def test_a_ledger_goes_on_where_earlier_supervisors_were() -> None:
    events = [
        {"event": "unlimited", "commit": "base"},
        {"event": "fix_started", "signature": "a"},
        {"event": "fix_ended", "signature": "a", "accepted": True, "commit": "c1", "seconds": 10.0},
        {"event": "fix_started", "signature": "b"},
        {"event": "resumed"},
        {"event": "unlimited", "commit": "c1"},
        {"event": "fix_started", "signature": "c"},
        {"event": "fix_ended", "signature": "c", "accepted": False, "postponed": True, "commit": None, "seconds": 5.0},
    ]
    ledger = Ledger(Caps())
    ledger.restore(events)
    assert (ledger.commit, ledger.seconds, ledger.tried.total()) == ("c1", 15.0, 2)
    assert "again after its fix" in ledger.refuses("a") and "tried already" in ledger.refuses("b")
    assert ledger.refuses("c") == "", "what the budget ended is tried again with a higher one"
    over = Ledger(Caps())
    over.restore([*events, {"event": "fix_ended", "signature": "d", "final": True, "why": "goalposts"}])
    assert over.refuses("e") == "goalposts"


@pytest.mark.parametrize(
    ("budget", "spend", "word"),
    [
        (Budget(cost=5.0), Spend(), "--max-cost"),
        (Budget(tokens=5), Spend(cost=1.0), "--max-tokens"),
        (Budget(cost=5.0), Spend(cost=0.0), ""),
        (Budget(cost=5.0, duration=60.0), Spend(), ""),
        (Budget(duration=60.0), Spend(), ""),
    ],
)
def test_a_budget_that_nobody_can_measure_ends_the_repairing(budget: Budget, spend: Spend, word: str) -> None:
    ledger = Ledger(Caps())
    ledger.hear_spend(spend, budget)
    assert (word in ledger.stopped) if word else not ledger.stopped


def test_after_a_fix_tasks_of_the_worktree_have_their_content_of_there(tmp_path: Path) -> None:
    root, folder = tmp_path / "checkout", tmp_path / "tree"
    for base, text in ((root, "old"), (folder, "new")):
        (base / "tasks" / "a").mkdir(parents=True)
        (base / "tasks" / "a" / "task.yaml").write_text(text)
    plan = Plan(
        "s", (combo("a"), combo("b")), PlanOptions(1, 60.0, 10), "now",
        task_hashes={"a": content_hash(root / "tasks" / "a"), "b": "sha256:b"},
    )  # fmt: skip
    inside = replace(plan.combos[0], task_file=str(root / "tasks" / "a" / "task.yaml"))
    after = with_code(replace(plan, combos=(inside, plan.combos[1])), root, folder, "fixed")
    assert after.combos[0].task_file == str(folder / "tasks" / "a" / "task.yaml")
    assert after.task_hashes == {"a": content_hash(folder / "tasks" / "a"), "b": "sha256:b"}
    assert after.notes == ("fixed",)


def combo(key: str) -> Combo:
    return Combo(
        rid=f"{key}__none__scripted", token="t", cluster_name="t", task_file=f"/elsewhere/{key}/task.yaml",
        task_key=key, task_name=key, provider="none", model="none",
        config=AgentConfig("scripted", "scripted", False, False),
    )  # fmt: skip


class Core:
    """What a healer needs of its supervisor."""

    def __init__(self, order: Order, script: str, folder: Path) -> None:
        task = combo("a")
        self.orders = Orders(budget=Budget(cost=5.0), unlimited=True, fixer=(sys.executable, "-c", script))
        self.run_dir = folder / "20260101_000000-abcd"
        self.run_dir.mkdir()
        self.combos = {task.rid: replace(task, task_file=f"{order.root}/tasks/a/task.yaml")}
        self.state = RunState(combos={task.rid: ComboStatus(attempt=1, reason="KeyError: 'x'")})
        self.schedule = Scheduler([Job(task.rid, 0)], Rules(1, budget=self.orders.budget), boottime())
        self.redactor = Redactor({})
        self.env: dict[str, str] = {CHECKS: "true"}
        self.events: list[dict[str, Any]] = []
        self.went: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def record(self, event: str, **fields: Any) -> None:
        self.events.append({"event": event, **fields})

    def go_on(self, rid: str, why: str) -> None:
        self.went.put_nowait((rid, why))

    def wake(self) -> None:
        """Nothing waits here."""


def test_a_fixer_that_works_beyond_the_budget_is_ended_and_its_combo_waits_for_a_higher_one(
    order: Order, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)
    write = (
        f"import os, time; open('src/code.py', 'w').write('half'); open({str(begun)!r}, 'w').write(str(os.getpid()))"
    )
    core = Core(order, f"{write}; time.sleep(600)", tmp_path)
    monkeypatch.setattr("devops_bench.supervisor.healing.healer.checkout", lambda: Path(order.root))
    fault = Fault(FailureClass.HARNESS, "setup", "setup-KeyError", 0)

    async def life() -> tuple[str, str]:
        healer = Healer(core, asyncio.get_running_loop())  # type: ignore[arg-type]
        healer.start()
        assert healer.takes(combo("a").rid, fault) and healer.busy
        pid = int(await asyncio.to_thread(begun.read_text))
        who = identity(pid)
        assert who is not None
        healer.within_budget(boottime())
        assert healer.busy and core.went.empty(), "there is something left"
        core.schedule.spent(7.0, None)
        healer.within_budget(boottime())
        went = await asyncio.wait_for(core.went.get(), 60)
        assert not who.alive() and not healer.busy
        assert healer.takes(combo("a").rid, fault), "it counts as not tried"
        assert await asyncio.wait_for(core.went.get(), 60) == (went[0], f"its fix waits: {core.schedule.used_up(0)}")
        healer.stop()
        return went

    rid, why = asyncio.run(life())
    assert rid == combo("a").rid and "7.00 USD of 5.00 USD (--max-cost)" in why
    (ended,) = [event for event in core.events if event["event"] == "fix_ended"]
    assert ended["postponed"] and not ended["accepted"] and "--max-cost" in ended["why"]
    assert [event["event"] for event in core.events].count("fix_started") == 1, "the second one never began"
    assert (core.run_dir / "fixes" / "tree" / "src" / "code.py").read_text() == "broken = True\n"

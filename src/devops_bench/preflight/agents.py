"""Is every agent of the plan installed, and can the sandbox that they are promised be had?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from devops_bench.errors import BenchError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Plan

Missing = Callable[[str, Mapping[str, str]], str | None]


def check(
    plan: Plan, env: Mapping[str, str], *, dry_run: bool = False, missing: Missing | None = None
) -> list[Finding]:
    """One finding per agent that cannot run here: an error, in a dry run a warning. `missing` is for tests."""
    ask = missing or _missing
    level = Level.WARNING if dry_run else Level.ERROR
    found = []
    for key in dict.fromkeys(combo.config.agent for combo in plan.combos):
        line = ask(key, env)
        if line is not None:
            found.append(Finding(level, line))
    return found + _scripts(plan, env) + _sandbox(plan, env)


def _missing(key: str, env: Mapping[str, str]) -> str | None:
    from devops_bench import agents

    try:
        return agents.get(key).missing(env)
    except BenchError as error:
        return error.message()


def _scripts(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    """The scripted agent plays BENCH_AGENT_SCRIPT, else the first file of `solution/`: without one it cannot act."""
    named = env.get("BENCH_AGENT_SCRIPT", "").strip()
    tasks = {combo.task_key: combo.task_file for combo in plan.combos if combo.config.agent == "scripted"}
    found = []
    if tasks and named:
        missing = not Path(named).is_file()
        return [Finding(Level.ERROR, "is no file to play", "change BENCH_AGENT_SCRIPT", named)] if missing else []
    for key, file in tasks.items():
        folder = Path(file).parent / "solution"
        if not folder.is_dir() or not any(path.is_file() for path in folder.iterdir()):
            what = f"task {key} has no solution/ for the scripted agent to play"
            found.append(Finding(Level.ERROR, what, "use another agent, or add one", str(folder)))
    return found


def _sandbox(plan: Plan, env: Mapping[str, str]) -> list[Finding]:
    from devops_bench.matrix.environment import sandbox_environment
    from devops_bench.sandbox.mode import detect

    if not plan.options.sandbox:
        return []  # said loudly among the plan's notes
    try:
        mode = detect(sandbox_environment(plan.options, env))
    except BenchError as error:
        return [Finding.of(error)]
    return [Finding(Level.WARNING, mode.warning)] if mode.warning else []

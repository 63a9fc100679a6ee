"""Is there something behind `+mcp` and `+skills`? A label without a grant would be a false label on every score."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from devops_bench import skills
from devops_bench.agents.skills import find_skills
from devops_bench.errors import BenchError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo, Plan

DEFAULT_SERVER = "kubernetes-mcp-server"


Find = Callable[[str, Mapping[str, str]], object | None]


def check(plan: Plan, env: Mapping[str, str], *, dry_run: bool = False, find: Find | None = None) -> list[Finding]:
    """Errors for grants that would be empty; in a dry run what can still be installed is a warning. `find` (what is
    installed) is for tests.
    """
    level = Level.WARNING if dry_run else Level.ERROR
    return _unservable(plan) + _mcp(plan, env, level, find or _installed) + _skills(plan)


def _unservable(plan: Plan) -> list[Finding]:
    """Labels that the agent's CLI has no means to keep: it would be refused in every combo."""
    from devops_bench import agents
    from devops_bench.agents.frame.run import unservable

    found = []
    for config in dict.fromkeys(combo.config for combo in plan.combos):
        if not config.augmentation:
            continue
        try:
            agent = agents.get(config.agent)
        except BenchError:
            continue  # told with the agents
        refused = unservable(agent, mcp=config.mcp, skills=config.skills)
        if refused is not None:
            found.append(Finding.of(refused))
    return list(dict.fromkeys(found))


def _installed(key: str, env: Mapping[str, str]) -> object | None:
    from devops_bench.agents import install

    return install.find(key, env)


def _mcp(plan: Plan, env: Mapping[str, str], level: Level, find: Find) -> list[Finding]:
    if not any(combo.config.mcp for combo in plan.combos):
        return []
    if not plan.options.mcp_server:
        return _default_server(env, level, find)
    program = plan.options.mcp_server[0]
    if shutil.which(program, path=env.get("PATH")) is None:
        return [
            Finding(Level.ERROR, f"MCP server {program!r} is not an executable", "install it, or change MCP_SERVER_BIN")
        ]
    return []


def _default_server(env: Mapping[str, str], level: Level, find: Find) -> list[Finding]:
    """Without MCP_SERVER_BIN the pinned server is granted; it may have to be installed first."""
    try:
        if find(DEFAULT_SERVER, env) is not None:
            return []
    except BenchError as error:
        return [Finding.of(error)]
    fix = f"run `devops-bench agents install {DEFAULT_SERVER}`, or set MCP_SERVER_BIN to another server's command"
    return [Finding(level, f"+mcp: the default MCP server {DEFAULT_SERVER} is not installed", fix)]


def _skills(plan: Plan) -> list[Finding]:
    wanting = [combo for combo in plan.combos if combo.config.skills]
    if not wanting:
        return []
    found = []
    for text in plan.options.skills_paths:
        if not _has_skill(Path(text)):
            what = "holds no */SKILL.md" if Path(text).is_dir() else "is not a folder"
            found.append(Finding(Level.ERROR, what, "change SKILLS_PATHS", text))
    return found + _unreadable(wanting, plan)


def _unreadable(wanting: Sequence[Combo], plan: Plan) -> list[Finding]:
    """Every SKILL.md must have a front matter that names it: what has none, no agent would show to its model."""
    given = plan.options.skills_paths
    sets = dict.fromkeys(skills.granted(given, Path(combo.task_file).parent) for combo in wanting)
    found = []
    for folders in sets:
        try:
            find_skills([folder for folder in folders if _has_skill(folder)])
        except BenchError as error:
            found.append(Finding.of(error))
    return list(dict.fromkeys(found))


def _has_skill(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*/SKILL.md"))

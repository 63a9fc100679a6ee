"""Is there something behind `+mcp` and `+skills`? A label without a grant would be a false label on every score."""

from __future__ import annotations

import shutil
from pathlib import Path

from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo, Plan


def check(plan: Plan) -> list[Finding]:
    """Errors for grants that would be empty."""
    return _mcp(plan) + _skills(plan)


def _mcp(plan: Plan) -> list[Finding]:
    if not any(combo.config.mcp for combo in plan.combos):
        return []
    if not plan.options.mcp_server:
        return [Finding(Level.ERROR, "+mcp has no server to grant", "set MCP_SERVER_BIN to its command, or drop +mcp")]
    program = plan.options.mcp_server[0]
    if shutil.which(program) is None:
        return [
            Finding(Level.ERROR, f"MCP server {program!r} is not an executable", "install it, or change MCP_SERVER_BIN")
        ]
    return []


def _skills(plan: Plan) -> list[Finding]:
    wanting = [combo for combo in plan.combos if combo.config.skills]
    if not wanting:
        return []
    found = []
    for text in plan.options.skills_paths:
        if not _has_skill(Path(text)):
            what = "holds no */SKILL.md" if Path(text).is_dir() else "is not a folder"
            found.append(Finding(Level.ERROR, what, "change SKILLS_PATHS", text))
    if not plan.options.skills_paths:
        bare = list(dict.fromkeys(combo.task_key for combo in wanting if not _has_skill(_own_skills(combo))))
        if bare:
            what = f"+skills has nothing to grant for {', '.join(bare[:3])}{' ...' if len(bare) > 3 else ''}"
            found.append(
                Finding(Level.ERROR, what, "set SKILLS_PATHS to folders that hold */SKILL.md, or drop +skills")
            )
    return found


def _own_skills(combo: Combo) -> Path:
    """A task may bring skills of its own."""
    return Path(combo.task_file).parent / "skills"


def _has_skill(folder: Path) -> bool:
    return folder.is_dir() and any(folder.glob("*/SKILL.md"))

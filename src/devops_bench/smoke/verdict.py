"""What a smoke combo must show, judged from the files that it left. Pure but for reading them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from devops_bench.combo import outcome
from devops_bench.combo.outcome import Outcome
from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import AgentConfig
from devops_bench.results.read import read_object, read_records
from devops_bench.settings import ComboState
from devops_bench.smoke.scenarios import SKILL


class Verdict(StrEnum):
    """`good`: the configuration is what its label says. `bad`: it ran, and is not. `invalid`: it could not be run."""

    GOOD = "good"
    BAD = "bad"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Seen:
    """What one combo left. `end` is the agent's, `agreement` of transcript and evidence, `skills` those it used."""

    outcome: Outcome | None
    end: str = ""
    calls: int = 0
    tools: tuple[str, ...] = ()
    mcp_calls: int = 0
    mcp_tools: int = 0
    granted_skills: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    agreement: str = ""
    differences: tuple[str, ...] = ()
    version: str = ""
    agent_sec: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration's result. `line` is the decisive one; `seconds` of the whole combo."""

    config: str
    agent: str
    verdict: Verdict
    line: str
    seconds: float
    seen: Seen
    directory: str = ""

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        found = asdict(self.seen)
        found.pop("outcome")
        return {
            "config": self.config,
            "agent": self.agent,
            "verdict": self.verdict.value,
            "line": self.line,
            "seconds": round(self.seconds, 2),
            "directory": self.directory,
            **found,
        }


def look(directory: Path) -> Seen:
    """Read what a combo left in its attempt folder; what is missing stays empty."""
    told = _object(directory / "attempt.json")
    environment = _object(directory / "environment.json")
    records = read_records(directory / "results.json") if (directory / "results.json").is_file() else []
    record: Mapping[str, Any] = records[0] if records else {}
    ended = outcome.read(directory)
    agreement = told.get("agreement") or {}
    return Seen(
        outcome=ended,
        end=str(told.get("end") or ""),
        calls=len(record.get("trajectory") or ()),
        tools=tuple(record.get("tools") or ()),
        mcp_calls=int(told.get("mcp_calls") or 0),
        mcp_tools=int((environment.get("mcp_server") or {}).get("tools") or 0),
        granted_skills=tuple(environment.get("skills") or ()),
        skills=tuple(told.get("skills_used") or ()),
        agreement=str(agreement.get("status") or ""),
        differences=tuple(agreement.get("differences") or ()),
        version=str((environment.get("agent") or {}).get("version") or ""),
        agent_sec=record.get("latency"),
        tokens=ended.tokens if ended is not None else None,
        cost_usd=ended.cost_usd if ended is not None else None,
    )


def judge(config: AgentConfig, seen: Seen) -> tuple[Verdict, str]:
    """The verdict and its decisive line."""
    end = seen.outcome
    if end is None:
        return Verdict.INVALID, "the combo died without an outcome"
    if end.state is ComboState.STOPPED:
        return Verdict.INVALID, "stopped"
    if end.state is ComboState.INVALID:
        return Verdict.INVALID, f"{end.klass} in {end.phase}: {end.reason}"
    lacks = next(_lacking(config, seen), None)
    if lacks is not None:
        return Verdict.BAD, lacks
    if end.state is not ComboState.SCORED:
        return Verdict.BAD, f"the task was not done: {end.reason or seen.end}"
    return Verdict.GOOD, _praise(config, seen)


def _lacking(config: AgentConfig, seen: Seen) -> Any:
    if not seen.calls:
        yield f"the transcript is empty (the run ended: {seen.end or 'not told'})"
    if not seen.tools:
        yield "no tool was used"
    if config.mcp and not seen.mcp_calls:
        yield "+mcp: no call reached the MCP server"
    if not config.mcp and seen.mcp_calls:
        yield "an MCP call without +mcp"
    if config.skills and SKILL not in seen.granted_skills:
        yield "+skills: the skill was not granted"
    if config.skills and SKILL not in seen.skills:
        yield f"+skills: the skill {SKILL} was not used"
    if not config.skills and seen.granted_skills:
        yield "skills without +skills"
    if seen.agreement != "agrees":
        what = ", ".join(seen.differences) or seen.agreement or "not told"
        yield f"transcript and evidence do not agree: {what}"


def _praise(config: AgentConfig, seen: Seen) -> str:
    parts = [f"{seen.calls} calls"]
    if config.mcp:
        parts.append(f"{seen.mcp_calls} of them reached the MCP server ({seen.mcp_tools} tools)")
    if config.skills:
        parts.append(f"skill {SKILL} used")
    return f"{', '.join(parts)}; transcript and evidence agree"


def _object(path: Path) -> Mapping[str, Any]:
    try:
        return read_object(path) if path.is_file() else {}
    except ConfigError:
        return {}

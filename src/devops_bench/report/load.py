"""From a run's folder to a `Run`: the plan says what should be there, the attempts say what is.

Reads a handful of small files per combo (never results.json or transcripts), so that 1,000 combos load in a fraction of
a second. A file that is missing, torn or damaged costs what it would have told, and one line in `problems`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from devops_bench.errors import ConfigError
from devops_bench.matrix.plan import AgentConfig, Plan
from devops_bench.matrix.plan import Combo as Planned
from devops_bench.report import costs, journal, mixed
from devops_bench.report.model import Check, Combo, Made, Run, Tokens, Verdict
from devops_bench.results.read import read_object, read_rows
from devops_bench.results.scorekeys import number
from devops_bench.results.setup import RUN_ID
from devops_bench.results.tokens import read_tokens
from devops_bench.settings import JUDGED, ComboState


def load_run(run_dir: Path, also: tuple[str, ...] = ()) -> Run:
    """The run in `run_dir`. Raises ConfigError when that is no run folder or its plan is damaged.

    Without a plan.json (results pulled from elsewhere) the combos are those whose folders are there. `also` are lines
    for `problems`.
    """
    if not run_dir.is_dir():
        raise ConfigError("no such folder", where=run_dir, fix="give a stamp or a run folder")
    problems = list(also)
    plan = Plan.read(run_dir) if (run_dir / "plan.json").exists() else None
    planned = plan.combos if plan is not None else _discover(run_dir)
    if not planned:
        raise ConfigError("no plan.json and no attempts: this is no run folder", where=run_dir, fix="check the stamp")
    if plan is None:
        problems.append(f"{run_dir}: no plan.json; combos that never started are not counted")
    facts = journal.read(run_dir, problems)
    done = (run_dir / ".done").exists()
    combos = tuple(_combo(run_dir, item, facts, done, problems) for item in planned)
    options = plan.options if plan is not None else None
    return Run(
        stamp=plan.stamp if plan is not None else run_dir.resolve().name,
        directory=run_dir,
        combos=combos,
        planned=len(planned),
        complete=plan is not None,
        done=done or (plan is not None and all(combo.verdict is not Verdict.UNFINISHED for combo in combos)),
        created=plan.created if plan is not None else "",
        started=facts.started,
        ended=facts.ended,
        notes=plan.notes if plan is not None else (),
        problems=tuple(problems),
        residue=tuple(dict.fromkeys([*facts.residue, *(f"{c.rid}: {line}" for c in combos for line in c.residue)])),
        warnings=(*mixed.warnings(combos), *costs.warnings(combos)),
        agent_timeout_sec=options.agent_timeout_sec if options else None,
        max_parallel=options.max_parallel if options else None,
        sandbox=options.sandbox if options else None,
        judge_model=options.judge_model if options else None,
        retry_of=plan.retry_of if plan is not None else None,
    )


def _discover(run_dir: Path) -> tuple[Planned, ...]:
    """Combos by their folders: a rid's parts are what its name says."""
    found = []
    for folder in sorted(run_dir.iterdir()):
        if not folder.is_dir() or folder.name.startswith(".") or not _attempts(folder):
            continue
        task, model, preset = [*folder.name.split("__"), "", ""][:3]
        config = AgentConfig(preset=preset, agent="", mcp="+mcp" in preset, skills="+skills" in preset)
        found.append(
            Planned(
                rid=folder.name,
                token="",
                cluster_name="",
                task_file="",
                task_key=task,
                task_name=task,
                provider="",
                model=model,
                config=config,
            )
        )
    return tuple(found)


def _attempts(folder: Path) -> list[Path]:
    """Attempt folders, oldest first."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(item.name for item in entries if RUN_ID.fullmatch(item.name) and item.is_dir())
    except OSError:
        return []
    return [folder / name for name in names]


def _object(folder: Path, name: str, problems: list[str]) -> dict[str, Any]:
    """The JSON object in a file, empty when it is absent or damaged (which is told)."""
    if not os.path.exists(path := f"{folder}/{name}"):
        return {}
    try:
        return read_object(Path(path))
    except ConfigError as error:
        problems.append(error.message())
        return {}


def _row(folder: Path, problems: list[str]) -> dict[str, Any]:
    if not os.path.exists(path := f"{folder}/rows.json"):
        return {}
    try:
        rows = read_rows(Path(path))
    except ConfigError as error:
        problems.append(error.message())
        return {}
    return rows[0] if rows else {}


def _end_of(rid: str, attempt: Path, index: int, facts: journal.Facts, problems: list[str]) -> dict[str, Any]:
    """How an attempt ended: by outcome.json if it was judged; why it was not, the journal knows best: a combo that the
    supervisor ended for its time or its silence only knows that it was told to stop.
    """
    outcome = _object(attempt, "outcome.json", problems)
    if _state(outcome) in JUDGED:
        return outcome
    return {**outcome, **facts.finished.get((rid, facts.number.get(attempt.name, index)), {})}


def _state(data: Mapping[str, Any]) -> ComboState | None:
    try:
        return ComboState(str(data["state"]))
    except (KeyError, ValueError):
        return None


def _combo(run_dir: Path, planned: Planned, facts: journal.Facts, done: bool, problems: list[str]) -> Combo:
    folder = run_dir / planned.rid
    attempts = [path for path in _attempts(folder) if facts.number.get(path.name) != 0]
    ends = [_end_of(planned.rid, path, index, facts, problems) for index, path in enumerate(attempts, start=1)]
    chosen = max(range(len(attempts)), key=lambda i: (_state(ends[i]) in JUDGED, i), default=None)
    here = attempts[chosen] if chosen is not None else None
    end: Mapping[str, Any] = ends[chosen] if chosen is not None else {}
    told = _object(here, "attempt.json", problems) if here else {}
    row = _row(here, problems) if here else {}
    environment = _object(here, "environment.json", problems) if here else {}
    status = _exit_of(folder / "status", problems)
    state, verdict, why = _verdict(end, status, here is not None, done)
    checks = tuple(_check(item) for item in row.get("checks") or ())
    ran = bool(row.get("terminalReason")) or row.get("toolCalls") is not None
    counts = read_tokens(
        {"input": row.get("inputTokens"), "output": row.get("outputTokens"), "cached": row.get("cachedTokens"),
         "reasoning": row.get("reasoningTokens"), "total": row.get("totalTokens") or end.get("tokens")}
    )  # fmt: skip
    judged = verdict in {Verdict.PASSED, Verdict.FAILED}
    score = number(end.get("score")) if end.get("score") is not None else number(row.get("outcomeScore"))
    return Combo(
        rid=planned.rid,
        task=planned.task_key,
        title=_text(row.get("taskTitle")) or planned.task_name,
        category=_text(row.get("taskCategory")),
        model=planned.model,
        preset=planned.config.preset,
        harness=planned.config.agent or _text(row.get("harness")),
        provider=planned.provider,
        repeat=planned.repeat,
        verdict=verdict,
        state=state,
        exit=status if status is not None else _int(end.get("exit")),
        attempts=len(attempts),
        directory=here,
        score=score if judged else None,
        auth_mode=_text(environment.get("auth_mode")) or None,
        mcp_calls=_int(told.get("mcp_calls")) if planned.config.mcp else None,
        tool_calls=_int(row.get("toolCalls")),
        tool_errors=_int(row.get("toolErrors")),
        model_turns=_int(row.get("modelTurns")),
        served_model=_text(row.get("servedModel")),
        sandboxed=row.get("sandboxed"),
        checks=checks,
        latency_sec=number(row.get("latencySec")) if ran else None,
        wall_sec=_span(told.get("started"), told.get("ended")),
        cost_usd=number(end.get("cost_usd")),
        tokens=Tokens(counts.input, counts.output, counts.cached, counts.reasoning, counts.total),
        klass=_text(end.get("class")) or ("infra" if verdict is Verdict.INVALID else None),
        phase=_text(end.get("phase")) or None,
        signature=_text(end.get("signature")) or None,
        reason=_text(end.get("reason")) or why,
        end=_text(told.get("end")) or _text(row.get("terminalReason")) or None,
        raw_end=_text(told.get("raw_end")) or None,
        catastrophic=tuple(row.get("catastrophicKinds") or ()),
        unresolved=bool(row.get("catastrophicUnresolved")),
        residue=_lines(end.get("residue")) or _lines(told.get("residue")),
        made=_made(environment),
        guard=tuple(_refused(item) for item in _list(told.get("guard")) if isinstance(item, dict)),
    )


def _made(environment: Mapping[str, Any]) -> Made:
    hashes, versions, agent = (_mapping(environment.get(name)) for name in ("hashes", "versions", "agent"))
    return Made(
        version=_text(versions.get("devops_bench")),
        code=_text(hashes.get("code")),
        task=_text(hashes.get("task")),
        agent=_text(agent.get("version")),
        rules=_text(hashes.get("rules")),
    )


def _refused(item: Mapping[str, Any]) -> str:
    """One finding of the guard."""
    how = "stopped" if item.get("blocked") else "not stopped before it ran"
    return f"{_text(item.get('command'))} ({_text(item.get('reason'))}; {how}, seen by {_text(item.get('source'))})"


def _verdict(end: Mapping[str, Any], status: int | None, started: bool, done: bool) -> tuple[str, Verdict, str]:
    """State word, verdict and, where the files themselves give no reason, a reason."""
    state = _state(end)
    if state in JUDGED:
        passed = end.get("passed")
        held = passed if isinstance(passed, bool) else state is ComboState.SCORED and end.get("exit", 0) == 0
        return str(state), Verdict.PASSED if held else Verdict.FAILED, ""
    if state is ComboState.INVALID:
        return str(state), Verdict.INVALID, ""
    if state is ComboState.STOPPED:
        return str(state), Verdict.UNFINISHED, "stopped"
    if status is not None or (started and done):
        return str(ComboState.INVALID), Verdict.INVALID, "the attempt left no readable outcome"
    if started:
        return str(ComboState.RUNNING), Verdict.UNFINISHED, "still running, or its supervisor died"
    return str(ComboState.PLANNED), Verdict.UNFINISHED, "never started"


def _exit_of(path: Path, problems: list[str]) -> int | None:
    """The code of a `status` file (`exit=<rc>`)."""
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{path}: cannot be read: {type(error).__name__}")
        return None
    if text.startswith("exit=") and text[5:].lstrip("-").isascii() and text[5:].lstrip("-").isdigit():
        return int(text[5:])
    problems.append(f"{path}: not `exit=<code>`")
    return None


def _check(item: Mapping[str, Any]) -> Check:
    weight = number(item.get("weight"))
    return Check(
        name=_text(item.get("name")),
        title=_text(item.get("title")),
        role=_text(item.get("role")),
        severity=_text(item.get("severity")) or None,
        mode=_text(item.get("mode")) or None,
        status=_text(item.get("status")),
        reason=_text(item.get("reason")),
        hint=_text(item.get("failureHint")),
        group=_text(item.get("group")),
        weight=1.0 if weight is None else weight,
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _lines(value: Any) -> tuple[str, ...]:
    """A list of texts, whatever stands there instead."""
    return tuple(_text(item) for item in _list(value))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _span(start: Any, end: Any) -> float | None:
    """Seconds between two ISO times; None when one is missing or malformed."""
    try:
        return max((datetime.fromisoformat(str(end)) - datetime.fromisoformat(str(start))).total_seconds(), 0.0)
    except (ValueError, TypeError):
        return None

"""What the journal adds to the files of the attempts: how an attempt ended whose process left no outcome, and residue.

Read as lines of JSON; a damaged line costs that line, not the report.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_WANTED = (
    b'"combo_intent"',
    b'"combo_started"',
    b'"combo_finished"',
    b'"combo_residue"',
    b'"launched"',
    b'"done"',
    b'"summarised"',
)


@dataclass(slots=True)
class Facts:
    """By rid and attempt (from 1): the `combo_finished` event and the name of the attempt's folder; by that name: the
    attempt's number, 0 for a folder in which nothing began because the supervisor died first.
    """

    finished: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    folders: dict[tuple[str, int], str] = field(default_factory=dict)
    number: dict[str, int] = field(default_factory=dict)
    residue: list[str] = field(default_factory=list)
    started: str = ""
    ended: str = ""


def read(run_dir: Path, problems: list[str]) -> Facts:
    """The facts of `journal.jsonl`; empty when there is none. A torn last line is no problem, any other one is told."""
    facts = Facts()
    path = run_dir / "journal.jsonl"
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return facts
    except OSError as error:
        problems.append(f"{path}: cannot be read: {error.strerror}")
        return facts
    lines = raw[: raw.rfind(b"\n") + 1].splitlines()
    for number, line in enumerate(lines, start=1):
        if not any(name in line for name in _WANTED):
            continue
        try:
            _fold(facts, json.loads(line))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            problems.append(f"{path}:{number}: damaged journal line ({type(error).__name__}); it is left out")
    return facts


def _fold(facts: Facts, event: dict[str, Any]) -> None:
    name = event["event"]
    if name == "launched":
        facts.started = facts.started or str(event.get("time", ""))
    elif name in {"combo_intent", "combo_started"}:
        key, folder = (str(event["rid"]), int(event["attempt"])), Path(str(event.get("directory", ""))).name
        if facts.folders.get(key, folder) != folder:
            facts.number[facts.folders[key]] = 0
        facts.folders[key] = folder
        facts.number[folder] = key[1]
    elif name == "combo_finished":
        facts.finished[str(event["rid"]), int(event.get("attempt") or 1)] = event
        facts.ended = str(event.get("time", ""))
    elif name == "combo_residue":
        facts.residue += [f"{event['rid']}: {item}" for item in event["residue"]]

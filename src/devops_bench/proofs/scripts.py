"""Scripts in `solution/` and `wrong/`: their steps, and what a wrong answer says that it breaks. Pure but for reading.

A line `# fix: text` starts a step, which ends at the next such line or at `# end`. A wrong answer says in one line
`# breaks: a, b` which entries fail because of it, and that no other does; with `...` among them, others may.
`# rung: NAME` makes it a rung of the ladder that `tasks calibrate` climbs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from devops_bench.errors import TaskError

_FIX = re.compile(r"#\s*fix:\s*(.*\S)\s*$")
_END = re.compile(r"#\s*end\s*$")
_RUNG = re.compile(r"#\s*rung:\s*([a-z-]+)\s*$")
_BREAKS = re.compile(r"#\s*breaks:\s*(.*\S)\s*$")
OTHERS = "..."


@dataclass(frozen=True, slots=True)
class Step:
    """One `# fix:` block: lines [first, last) of the script, counted from 0."""

    title: str
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Script:
    """A solution or wrong answer. `breaks` are the entries that must fail; with `others` further ones may."""

    path: Path
    text: str
    steps: tuple[Step, ...]
    breaks: frozenset[str] = frozenset()
    others: bool = False
    rung: str = ""

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    def without(self, step: Step) -> str:
        """The text with one step left out; line numbers of the rest stay."""
        lines = self.text.split("\n")
        return "\n".join([*lines[: step.first], *([""] * (step.last - step.first)), *lines[step.last :]])


def read_scripts(folder: Path) -> list[Script]:
    """All `*.sh` of a folder, by name. Raises TaskError (file:line) for a malformed one."""
    return [_read(path) for path in sorted(folder.glob("*.sh"))] if folder.is_dir() else []


def _read(path: Path) -> Script:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TaskError(f"cannot be read ({error})", where=path) from None
    lines = text.split("\n")
    starts = [(number, match[1]) for number, line in enumerate(lines) if (match := _FIX.match(line.strip()))]
    ends = [number for number, line in enumerate(lines) if _END.match(line.strip())]
    steps = []
    for place, (number, title) in enumerate(starts):
        after = [starts[place + 1][0]] if place + 1 < len(starts) else []
        after += [end for end in ends if end > number]
        steps.append(Step(title, number, min(after, default=len(lines))))
    names, others = _breaks(path, lines)
    rung = next((match[1] for line in lines if (match := _RUNG.match(line.strip()))), "")
    return Script(path, text, tuple(steps), names, others, rung)


def _breaks(path: Path, lines: list[str]) -> tuple[frozenset[str], bool]:
    found = [(number, match[1]) for number, line in enumerate(lines, 1) if (match := _BREAKS.match(line.strip()))]
    if len(found) > 1:
        raise TaskError("has two `# breaks:` lines", where=path, line=found[1][0], fix="name all entries in one")
    if not found:
        return frozenset(), False
    names = [name.strip() for name in found[0][1].split(",") if name.strip()]
    return frozenset(name for name in names if name != OTHERS), OTHERS in names

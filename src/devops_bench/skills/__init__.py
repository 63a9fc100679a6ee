"""Skills that ship with the program, and which skills `+skills` grants.

Plain folders of SKILL.md beside this file, written for on-call work on Kubernetes; they know nothing of any task.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def granted(given: Iterable[str | Path], task_folder: Path) -> tuple[Path, ...]:
    """The folders that `+skills` grants: those of SKILLS_PATHS and the task's own `skills/`; where there are neither,
    the ones that ship with the program.
    """
    own = task_folder / "skills"
    named = (*(Path(item) for item in given), *((own,) if own.is_dir() else ()))
    return named or (FOLDER,)

"""What a fix may never touch: whoever may move the goalposts needs not play. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_PACKAGE = "src/devops_bench"
# What decides about an attempt, and what guards the deciding.
_JUDGING = (
    "verification",
    "scoring",
    "integrity",
    "results",
    "metrics",
    "proofs",
    "report",
    "guard",
    "redact",
    "smoke",
    "router",
    "supervisor/healing",
    "combo/judging.py",
    "combo/recording.py",
    "combo/failure.py",
    "combo/check_commands.py",
    "settings.py",
    "errors.py",
)
_FORBIDDEN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?:^|/)task\.ya?ml$"), "the definition of a task, with its checks and expected answer"),
    (re.compile(r"(?:^|/)(?:solution|wrong|verify|expected|answers?)(?:/|$)"), "a task's answers"),
    (re.compile(r"(?:^|/)proofs?(?:\.\w+)?(?:/|$)"), "a task's proofs"),
    (
        re.compile(rf"^{_PACKAGE}/(?:{'|'.join(re.escape(one) for one in _JUDGING)})(?:/|$)"),
        "what verifies, scores or classifies attempts",
    ),
    (re.compile(r"^(?:pyproject\.toml|uv\.lock|Makefile|setup\.\w+|tox\.ini|\.github/|\.git)"), "the project's checks"),
    (re.compile(r"(?:^|/)(?:conftest\.py|pytest\.ini|sitecustomize\.py|usercustomize\.py)$"), "the project's checks"),
    (re.compile(r"^docs/appendix/known_issues\.md$"), "what counts as a flake"),
)


@dataclass(frozen=True, slots=True)
class Change:
    """One changed path, relative to the checkout, `/` between parts. `kind` is git's letter: A, M, D, T."""

    kind: str
    path: str
    link: bool = False


def moved(changes: Iterable[Change]) -> list[str]:
    """Why these changes may not be made, one line each; empty when they may."""
    found = []
    for change in changes:
        if change.link:
            found.append(f"{change.path}: a symbolic link")
        if change.path.startswith("tests/") and change.kind != "A":
            found.append(f"{change.path}: an existing test")
        found += [f"{change.path}: {what}" for pattern, what in _FORBIDDEN if pattern.search(change.path)][:1]
    return found

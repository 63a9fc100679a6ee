"""`{{NAME}}` placeholders: which there are, where a text uses them, and filling them with a cluster's facts.

A placeholder is a bare word in double braces. `${{ x }}` (CI expressions) and `{{ $x }}`, `{{ .x }}` (templates) are
none, so that prompts and manifests may hold them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devops_bench.errors import TaskError
from devops_bench.tasks.spec import TaskSpec
from devops_bench.tasks.suggest import did_you_mean

NAMES = ("PROJECT_ID", "CLUSTER_NAME", "NAMESPACE", "TARGET_DEPLOYMENT_NAME", "APP_LOCATION")
ALIASES = {"GCP_PROJECT_ID": "PROJECT_ID", "GKE_CLUSTER_NAME": "CLUSTER_NAME"}
FIELDS = (
    "prompt",
    "expected_output",
    "verification_spec",
    "chaos_spec",
    "documentation",
    "retrieval_context",
    "recoverable_safety",
)

_PLACEHOLDER = re.compile(r"(?<!\$)\{\{\s*([A-Za-z][A-Za-z0-9_]*)\s*\}\}")


def used(text: str) -> Iterator[str]:
    """Names of the placeholders in `text`, in order, with repeats."""
    return (match[1] for match in _PLACEHOLDER.finditer(text))


def unknown(text: str) -> Iterator[tuple[str, int, str]]:
    """(name, 1-based line, suggestion) of every placeholder in `text` that nothing can fill.

    A lower-case word is only taken for one when it is a known name in disguise: `{{ end }}` belongs to a template.
    """
    known = {*NAMES, *ALIASES}
    for match in _PLACEHOLDER.finditer(text):
        name = match[1]
        if name in known or (not name.isupper() and name.upper() not in known):
            continue
        yield name, text.count("\n", 0, match.start()) + 1, did_you_mean(name, known)


def substitute(text: str, facts: Mapping[str, str]) -> str:
    """`text` with every placeholder that `facts` knows (by its name or an alias) replaced."""

    def one(match: re.Match[str]) -> str:
        name = ALIASES.get(match[1], match[1])
        return facts.get(name, match[0])

    return _PLACEHOLDER.sub(one, text)


def substitute_all(value: Any, facts: Mapping[str, str]) -> Any:
    """As `substitute` for every string inside lists and mappings."""
    if isinstance(value, str):
        return substitute(value, facts)
    if isinstance(value, list):
        return [substitute_all(item, facts) for item in value]
    if isinstance(value, dict):
        return {key: substitute_all(item, facts) for key, item in value.items()}
    return value


def required(task: TaskSpec) -> frozenset[str]:
    """Canonical names of the facts that the task needs."""
    names = used(json.dumps(task.model_dump(mode="json", include=set(FIELDS))))
    return frozenset(ALIASES.get(name, name) for name in names if name in NAMES or name in ALIASES)


def fill(task: TaskSpec, facts: Mapping[str, str]) -> TaskSpec:
    """The task with its placeholders replaced. TaskError with the line of the first that `facts` leaves unfilled."""
    needed = required(task)
    if not needed:
        return task
    canonical = {ALIASES.get(name, name): value for name, value in facts.items() if value}
    missing = sorted(needed - set(canonical))
    if missing:
        raise _unfilled(task, missing[0])
    data = task.model_dump(mode="json")
    for field in FIELDS:
        data[field] = substitute_all(data[field], canonical)
    return TaskSpec.model_validate_json(json.dumps(data))


def _unfilled(task: TaskSpec, name: str) -> TaskError:
    file = Path(task.folder) / "task.yaml"
    spellings = {name, *(alias for alias, target in ALIASES.items() if target == name)}
    line = None
    if file.is_file():
        for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if spellings & set(used(text)):
                line = number
                break
    return TaskError(f"placeholder {{{{{name}}}}} is not filled", where=file, line=line, fix=f"set {_source(name)}")


def _source(name: str) -> str:
    """The environment variable that gives the fact."""
    return {"CLUSTER_NAME": "--cluster or CLUSTER_NAME", "PROJECT_ID": "--project or PROJECT_ID"}.get(name, name)

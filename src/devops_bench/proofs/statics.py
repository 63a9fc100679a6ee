"""Proof 6, without a cluster: the prompt gives nothing away, and everything that is checked can be found out.

Heuristics over texts: they name a suspicious word and where it comes from; a false alarm is reworded away.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from devops_bench.tasks import placeholders
from devops_bench.tasks.checks import (
    CheckBase,
    DryRun,
    FileCheck,
    GitRepoSync,
    Group,
    IdentityPreserved,
    PodHealthy,
    Reachable,
    ResourceProperty,
    ScalingComplete,
)
from devops_bench.tasks.spec import TaskSpec

_COMMAND = re.compile(r"^\s*(kubectl|git|sed|helm|kustomize|python3?)\s")
_WORD = re.compile(r"[a-z0-9][a-z0-9'-]*")
_RUN = 8  # words in a row that no two texts share by chance
_LEAST_COMMAND = 20  # characters; shorter ones are ordinary phrases ("git commit")
_READABLE = 256 << 10  # bytes of a workspace file that are searched
_CHECK_WORDS = ("verification_spec", "resource_property", "across_matches", "identity_preserved", "git_repo_sync")
# Names that every cluster has.
_ALWAYS_THERE = {"default", "kube-system", "kubernetes", "HEAD", "main"}


def static_problems(task: TaskSpec) -> list[str]:
    """One line per finding."""
    found = [f"the prompt has a placeholder nothing fills: {name}" for name, _, _ in placeholders.unknown(task.prompt)]
    found += [f"the prompt speaks of the check: {word}" for word in _CHECK_WORDS if word in task.prompt]
    found += [f"the prompt holds a command of the solution: {command}" for command in _commands_in_prompt(task)]
    world = _world(task)
    found += [f"the agent can read a sentence of {where}: {words!r}" for where, words in sorted(_leaks(task, world))]
    for entry in task.verification_spec:
        for name in sorted(set(_names(entry.check))):
            if name not in _ALWAYS_THERE and name not in task.prompt and name not in world:
                found.append(f"{entry.name} reads {name!r}, which is neither in the prompt nor in what setup makes")
    return found


def _leaks(task: TaskSpec, world: str) -> Iterator[tuple[str, str]]:
    """Runs of words that stand in what an agent must not see and in what it can see: (file, the first such run).

    Hidden are the README and what scripts say about themselves. Names and short phrases are bound to be in both worlds;
    a run of `_RUN` words is a sentence that was copied.
    """
    seen = set(runs(f"{task.prompt}\n{world}"))
    for where, text in hidden_texts(task).items():
        yield from ((where, " ".join(run)) for run in [run for run in runs(text) if run in seen][:1])


def hidden_texts(task: TaskSpec) -> dict[str, str]:
    """File -> its sentences that no agent may see: the README, and what scripts say about themselves."""
    hidden = {path.name: _text(path) for path in task.folder.glob("README.md")}
    for folder in ("solution", "wrong"):
        for path in (task.folder / folder).glob("*.sh"):
            hidden[f"{folder}/{path.name}"] = "\n".join(_own_words(_text(path).splitlines()))
    return hidden


def _own_words(lines: list[str]) -> Iterator[str]:
    """A script's comment at its head and the titles of its steps; files that it writes may have comments, too."""
    head = True
    for line in lines:
        head = head and line.startswith("#")
        if (head and not line.startswith("#!")) or line.lstrip().startswith("# fix:"):
            yield line


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """All runs of `_RUN` words."""
    words = _WORD.findall(text.lower())
    return (tuple(words[place : place + _RUN]) for place in range(len(words) - _RUN + 1))


def _commands_in_prompt(task: TaskSpec) -> Iterator[str]:
    prompt = " ".join(task.prompt.split())
    for script in sorted((task.folder / "solution").glob("*.sh")):
        for line in script.read_text(encoding="utf-8", errors="replace").splitlines():
            command = " ".join(line.split())
            if len(command) >= _LEAST_COMMAND and _COMMAND.match(line) and command in prompt:
                yield command


def _world(task: TaskSpec) -> str:
    """All that an agent can come to see: manifests, nodes, workspace names and texts."""
    parts = [group.name if group.count == 1 else f"{group.name}-{number}"
             for group in task.cluster.nodes for number in range(group.count)]  # fmt: skip
    for folder in ("setup", "workspace"):
        for path in sorted((task.folder / folder).rglob("*")):
            parts.append(path.relative_to(task.folder / folder).as_posix().replace(".repo", ""))
            if path.is_file() and not path.is_symlink():
                parts.append(_text(path))
    return "\n".join(parts)


def _text(path: Path) -> str:
    with path.open("rb") as handle:
        return handle.read(_READABLE).decode(errors="replace")


def _names(check: CheckBase) -> Iterator[str]:
    """Names of objects, namespaces, files and repositories that a check reads."""
    if isinstance(check, Group):
        for child in check.checks:
            yield from _names(child)
        return
    if isinstance(check, (ResourceProperty, IdentityPreserved, PodHealthy, ScalingComplete)) and check.namespace:
        yield check.namespace
    if isinstance(check, (ResourceProperty, IdentityPreserved)) and check.resource_name:
        yield check.resource_name
    if isinstance(check, ScalingComplete):
        yield check.deployment
    if isinstance(check, DryRun) and check.template_of is not None:
        yield check.template_of.resource_name
    if isinstance(check, Reachable):
        for place in (check.source, check.target):
            yield from (name for name in (place.namespace, place.service) if name)
    if isinstance(check, FileCheck):
        yield check.file
    if isinstance(check, GitRepoSync):
        yield from (name for name in (check.repo_path, check.file) if name)

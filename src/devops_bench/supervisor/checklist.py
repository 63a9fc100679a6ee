"""The `Before any retry` list of the known-issues table, worked through: one answer for each of its items."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from devops_bench import paths
from devops_bench.combo.token import is_free
from devops_bench.errors import BenchError, HarnessError
from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.router import table
from devops_bench.supervisor import before_retry, collect, locks
from devops_bench.supervisor.state import RunState

SKEW = 5.0  # seconds that a file may come from the future


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the list; fine when there are no findings."""

    key: str
    text: str
    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """Whether it holds."""
        return not any(finding.is_error for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is looked at: a run with its state, or (without) this host alone."""

    env: Mapping[str, str]
    run_dir: Path | None = None
    plan: Plan | None = None
    state: RunState | None = None

    @property
    def unfinished(self) -> tuple[Combo, ...]:
        """Combos of the run that would be tried again."""
        if self.plan is None or self.state is None:
            return ()
        running = collect.living(self.state)
        over = {"scored", "failed"}
        return tuple(
            combo
            for combo in self.plan.combos
            if combo.rid not in running and (s := self.state.combos.get(combo.rid)) is not None and s.state not in over
        )


def examine(subject: Subject, besides: Collection[str] = ()) -> list[Item]:
    """Every item `besides` those, in the list's order. Removes nothing; a probe that fails is a finding."""
    found = []
    for item in table.read(table.shipped()).before_retry:
        if item.key in besides:
            continue
        probe = _PROBES.get(item.key)
        if probe is None:
            raise HarnessError(f"nothing checks {item.key!r}", where=table.shipped(), fix="report it")
        try:
            findings = tuple(probe(subject))
        except BenchError as error:
            findings = (Finding.of(error),)
        except OSError as error:
            findings = (Finding(Level.ERROR, f"cannot be looked at: {error}"),)
        found.append(Item(item.key, item.text, findings))
    return found


def _residue(subject: Subject) -> list[Finding]:
    from devops_bench.clusters.sweep import sweep

    root = paths.state_root(subject.env)
    fix = "devops-bench clean"
    found = [Finding(Level.ERROR, f"control plane left: {gone}", fix) for gone in sweep(root, dry=True)]
    for combo in subject.unfinished:
        if (root / combo.rid).exists() and is_free(combo.token, root):
            found.append(Finding(Level.ERROR, "state of an earlier attempt is left", fix, str(root / combo.rid)))
    return found


def _lock(subject: Subject) -> list[Finding]:
    root = paths.state_root(subject.env)
    if subject.run_dir is not None and locks.held(subject.run_dir):
        what = f"run {subject.run_dir.name} is active: its supervisor tries again by itself"
        return [Finding(Level.WARNING, what, f"follow it with `devops-bench attach {subject.run_dir.name}`")]
    return [
        Finding(Level.ERROR, "another run on this host holds it", "wait for that run", combo.rid)
        for combo in subject.unfinished
        if not is_free(combo.token, root)
    ]


def _disk(subject: Subject) -> list[Finding]:
    import tempfile

    places = (paths.runs_root(subject.env), paths.state_root(subject.env), Path(tempfile.gettempdir()))
    return [finding for place in dict.fromkeys(places) for finding in before_retry.disk(place)]


def _inotify(subject: Subject) -> list[Finding]:
    return before_retry.watches(paths.state_root(subject.env))


def _memory(subject: Subject) -> list[Finding]:
    from devops_bench import settings
    from devops_bench.clusters.host import look

    need = int(settings.TABLE["plane_memory"].value + settings.TABLE["memory_reserve"].value)
    have = look(paths.state_root(subject.env)).memory_available
    if have >= need:
        return []
    what = f"{have >> 20} MiB are free, {need >> 20} MiB are needed for one more combo"
    return [Finding(Level.ERROR, what, "free some, or lower MAX_PARALLEL")]


def _credentials(subject: Subject) -> list[Finding]:
    from devops_bench.preflight import models

    return models.check(subject.plan, subject.env) if subject.plan is not None else []


def _agents(subject: Subject) -> list[Finding]:
    from devops_bench.preflight import agents

    return agents.check(subject.plan, subject.env) if subject.plan is not None else []


def _cluster(subject: Subject) -> list[Finding]:
    from devops_bench.preflight import clusters

    if subject.plan is not None:
        return clusters.check(subject.plan, subject.env)
    from devops_bench.clusters import binary

    if binary.find(subject.env) is not None:
        return []
    return [Finding(Level.WARNING, "the control plane is not built", "devops-bench clusters install")]


def _clock(subject: Subject) -> list[Finding]:
    newest = 0.0
    for path in (subject.run_dir, paths.runs_root(subject.env), paths.state_root(subject.env)):
        if path is not None and path.exists():
            newest = max(newest, path.stat().st_mtime)
    ahead = newest - time.time()
    if ahead <= SKEW:
        return []
    return [Finding(Level.ERROR, f"files come from {ahead:.0f} s in the future: the clock jumped back", "set it (NTP)")]


_PROBES: Mapping[str, Callable[[Subject], list[Finding]]] = {
    "residue": _residue,
    "lock": _lock,
    "disk": _disk,
    "inotify": _inotify,
    "memory": _memory,
    "credentials": _credentials,
    "agents": _agents,
    "cluster": _cluster,
    "clock": _clock,
}

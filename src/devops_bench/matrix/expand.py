"""From a MatrixSpec to a Plan: tasks x models x configurations x repeats, each combo once, with its identity.

Nothing is written and nothing starts here. What is left out, merged or shared is said in the plan's notes, one line
each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from devops_bench.errors import ConfigError
from devops_bench.matrix import ids
from devops_bench.matrix.plan import AgentConfig, Combo, Plan
from devops_bench.matrix.select import Selected, select_tasks
from devops_bench.matrix.served import Unserved, effective_provider, why_senseless, why_unserved
from devops_bench.matrix.spec import MatrixSpec

COMBOS_MAX = 100_000


def expand(spec: MatrixSpec, *, unserved: Unserved = why_unserved, now: datetime | None = None) -> Plan:
    """The plan of `spec`, without a stamp yet (`Plan.stamp` is empty until a run folder is reserved).

    Raises ConfigError or TaskError with one line: a missing task, a task that does not parse, nothing left to run.
    """
    tasks, notes = select_tasks(spec.tasks)
    return plan_of(spec, tasks, notes, unserved=unserved, now=now)


def plan_of(
    spec: MatrixSpec,
    tasks: Sequence[Selected],
    notes: Sequence[str] = (),
    *,
    unserved: Unserved = why_unserved,
    now: datetime | None = None,
) -> Plan:
    """As `expand`, for tasks that are already loaded. Pure but for the default of `now`."""
    count = len(tasks) * len(spec.models) * len(spec.configs) * spec.repeats
    if count > COMBOS_MAX:
        raise ConfigError(f"the matrix has {count} combos", fix=f"keep it at most {COMBOS_MAX}, in several runs")
    out = _LeftOut()
    cells = _cells(spec, tasks, unserved, out)
    labels = task_labels([cell.task.spec.key for cell in cells])
    # Repeats outermost: a run that is cut short has looked at every cell before it looked twice.
    combos = [
        _combo(spec, cell, labels[cell.task.spec.key], model, config, repeat)
        for repeat in range(spec.repeats)
        for cell in cells
        for model in spec.models
        for config in cell.configs
    ]
    left_out = out.notes(len(spec.models) * spec.repeats)
    if not combos:
        raise ConfigError(f"nothing is left to run: {'; '.join(left_out)}", fix="choose other tasks or configurations")
    moment = (now or datetime.now(UTC)).astimezone(UTC)
    return Plan(
        stamp="",
        combos=tuple(combos),
        options=spec.options,
        created=f"{moment:%Y-%m-%dT%H:%M:%S}Z",
        task_hashes={cell.task.spec.key: cell.task.hash for cell in cells},
        notes=(*spec.notes, *notes, *left_out, *_shared_names(combos)),
    )


def task_labels(keys: Sequence[str]) -> dict[str, str]:
    """Key -> the task's part of the run id: its folder's name, with as many parents as tell same-named ones apart."""
    labels: dict[str, str] = {}
    groups: dict[str, list[str]] = {}
    for key in dict.fromkeys(keys):
        groups.setdefault(key.rpartition("/")[2], []).append(key)
    for group in groups.values():
        depth = 1
        while len({_tail(key, depth) for key in group}) < len(group):
            depth += 1
        labels |= {key: _tail(key, depth) for key in group}
    return labels


def _tail(key: str, depth: int) -> str:
    return "/".join(key.split("/")[-depth:])


@dataclass(frozen=True, slots=True)
class _Cell:
    """A task with the configurations that make sense for it."""

    task: Selected
    provider: str
    configs: tuple[AgentConfig, ...]


class _LeftOut:
    """Why what was left out: one note per reason, with how many combos and which tasks."""

    def __init__(self) -> None:
        self.reasons: dict[str, list[tuple[str, int]]] = {}

    def add(self, reason: str, task: str, configs: int) -> None:
        self.reasons.setdefault(reason, []).append((task, configs))

    def notes(self, combos_per_config: int) -> list[str]:
        lines = []
        for reason, hits in self.reasons.items():
            count = sum(configs for _, configs in hits) * combos_per_config
            names = list(dict.fromkeys(task for task, _ in hits))
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            lines.append(f"left out {count} combo{'' if count == 1 else 's'} ({shown}): {reason}")
        return lines


def _cells(spec: MatrixSpec, tasks: Sequence[Selected], unserved: Unserved, out: _LeftOut) -> list[_Cell]:
    cells = []
    for task in tasks:
        provider = effective_provider(task.spec, spec.provider)
        reason = unserved(task.spec, provider, spec.options)
        if reason is not None:
            out.add(reason, task.spec.key, len(spec.configs))
            continue
        kept = []
        for config in spec.configs:
            reason = why_senseless(config, provider, spec.options)
            if reason is None:
                kept.append(config)
            else:
                out.add(reason, task.spec.key, 1)
        if kept:
            cells.append(_Cell(task, provider, tuple(kept)))
    return cells


def _combo(spec: MatrixSpec, cell: _Cell, label: str, model: str, config: AgentConfig, repeat: int) -> Combo:
    run_id = ids.rid(label, model, config.preset, repeat)
    token = ids.token(run_id)
    return Combo(
        rid=run_id,
        token=token,
        cluster_name=ids.cluster_name(token, spec.cluster_base),
        task_file=str(cell.task.file),
        task_key=cell.task.spec.key,
        task_name=cell.task.spec.name,
        provider=cell.provider,
        model=model,
        config=config,
        repeat=repeat,
    )


def _shared_names(combos: Sequence[Combo]) -> list[str]:
    """Tokens that several run ids share: their lock lets one run at a time. A shared run id would be our fault."""
    by_token: dict[str, list[str]] = {}
    for combo in combos:
        by_token.setdefault(combo.token, []).append(combo.rid)
    shared = [rids for rids in by_token.values() if len(rids) > 1]
    for rids in shared:
        if len(set(rids)) < len(rids):
            raise ConfigError(f"two combos have one run id: {rids[0]}", fix="rename one of the tasks")
    return [f"combos {' and '.join(rids)} share a cluster token: they run one after the other" for rids in shared]

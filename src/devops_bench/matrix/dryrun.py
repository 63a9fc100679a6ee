"""What `DRY_RUN=1` prints: the matrix as it would run, its estimate, and each combo's environment. Creates nothing.

`combo_environment` gives secrets by name only; what a user wrote into flags and paths passes the redactor as well.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from devops_bench.matrix.environment import combo_environment
from devops_bench.matrix.estimate import Estimate, estimate, read_history
from devops_bench.matrix.findings import Finding
from devops_bench.matrix.plan import Combo, Plan
from devops_bench.paths import runs_root
from devops_bench.plaintext import counted
from devops_bench.redact import Redactor


def render(plan: Plan, env: Mapping[str, str], findings: Sequence[Finding] = ()) -> str:
    """The dry run as text. Reads earlier runs below the runs root of `env` for the estimate."""
    figures = estimate(plan, read_history(runs_root(env), plan.combos))
    common, own = _environments(plan, env)
    lines = [f"{counted(len(plan.combos), 'combo')}: {_axes(plan)}"]
    lines += [f"note: {note}" for note in plan.notes]
    lines += [f"{finding.level.value}: {finding.line()}" for finding in findings]
    lines += ["estimate: " + _estimate_text(plan, figures), "", "environment of every combo:"]
    lines += [f"  {item}" for item in _assignments(common)]
    secrets = combo_environment(plan.options, plan.combos[0], env).secrets
    lines += [f"  secrets, by name: {', '.join(secrets) if secrets else 'none'}", ""]
    for combo in plan.combos:
        one = figures.combos[combo.rid]
        basis = f"{one.samples} earlier" if one.samples else "default"
        cost = "" if one.cost_usd is None else f", ${one.cost_usd:.4f}"
        lines.append(f"{combo.rid}  [{combo.provider}, about {duration(one.seconds)}{cost}, {basis}]")
        lines += [f"  {item}" for item in _assignments(own[combo.rid])]
    lines += ["", "dry run: nothing was started and nothing was written"]
    return Redactor.from_env(env).text("\n".join(lines) + "\n")


def to_json(plan: Plan, env: Mapping[str, str], findings: Sequence[Finding] = ()) -> str:
    """The dry run as one JSON object; the keys are stable."""
    figures = estimate(plan, read_history(runs_root(env), plan.combos))
    data: dict[str, Any] = {
        "dry_run": True,
        "combo_count": len(plan.combos),
        "max_parallel": plan.options.max_parallel,
        "combos": [_combo_data(plan, combo, figures, env) for combo in plan.combos],
        "notes": list(plan.notes),
        "findings": [
            {"level": finding.level.value, "where": finding.where, "what": finding.what, "fix": finding.fix}
            for finding in findings
        ],
        "estimate": {
            "wall_seconds": round(figures.wall_seconds, 1),
            "longest_seconds": round(figures.longest_seconds, 1),
            "cost_usd": figures.cost_usd,
            "combos_with_cost": figures.costed,
            "combos_measured": figures.measured,
            "earlier_runs": figures.runs,
        },
    }
    return json.dumps(Redactor.from_env(env).obj(data), indent=1) + "\n"


def duration(seconds: float) -> str:
    """`8s`, `12m`, `3h05m`: as exact as an estimate can be."""
    if seconds < 90:
        return f"{seconds:.0f}s"
    minutes = round(seconds / 60)
    return f"{minutes}m" if minutes < 90 else f"{minutes // 60}h{minutes % 60:02d}m"


def _combo_data(plan: Plan, combo: Combo, figures: Estimate, env: Mapping[str, str]) -> dict[str, Any]:
    environment = combo_environment(plan.options, combo, env)
    one = figures.combos[combo.rid]
    return {
        "rid": combo.rid,
        "token": combo.token,
        "cluster_name": combo.cluster_name,
        "task": combo.task_key,
        "task_file": combo.task_file,
        "model": combo.model,
        "config": combo.config.preset,
        "agent": combo.config.agent,
        "augmentation": list(combo.config.augmentation),
        "repeat": combo.repeat,
        "provider": combo.provider,
        "environment": dict(environment.values),
        "secrets": list(environment.secrets),
        "estimate": {"seconds": round(one.seconds, 1), "cost_usd": one.cost_usd, "samples": one.samples},
    }


def _environments(plan: Plan, env: Mapping[str, str]) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """What all combos share, and what each has beside it."""
    each = {combo.rid: dict(combo_environment(plan.options, combo, env).values) for combo in plan.combos}
    first, *others = each.values()
    common = {name: text for name, text in first.items() if all(other.get(name) == text for other in others)}
    # What makes a combo this combo is shown with it even when there is only one.
    for name in ("RUN_ID", "BENCH_AGENT_TYPE", "AGENT_MODEL", "CLUSTER_NAME", "BENCH_USE_MCP"):
        common.pop(name, None)
    return common, {rid: {name: text for name, text in one.items() if name not in common} for rid, one in each.items()}


def _assignments(values: Mapping[str, str]) -> list[str]:
    return [f"{name}={shlex.quote(text)}" for name, text in sorted(values.items())]


def _axes(plan: Plan) -> str:
    tasks = len({combo.task_key for combo in plan.combos})
    models = len({combo.model for combo in plan.combos})
    configs = len({combo.config.preset for combo in plan.combos})
    repeats = len({combo.repeat for combo in plan.combos})
    return (
        f"{counted(tasks, 'task')} x {counted(models, 'model')} x {counted(configs, 'configuration')}"
        f" x {counted(repeats, 'repeat')}, {plan.options.max_parallel} at once"
    )


def _estimate_text(plan: Plan, figures: Estimate) -> str:
    total = len(plan.combos)
    text = f"about {duration(figures.wall_seconds)}, at most {duration(figures.longest_seconds)}"
    if figures.measured:
        text += f" ({figures.measured} of {total} combos measured in {counted(figures.runs, 'earlier run')})"
    else:
        text += " (no earlier runs: defaults)"
    if figures.cost_usd is None:
        return text + ", cost unknown"
    rest = "" if figures.costed == total else f" for {figures.costed} of {total} combos"
    return text + f", about ${figures.cost_usd:.2f}{rest}"

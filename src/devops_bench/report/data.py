"""The report for machines: `report --json` and summary.json. Keys are stable; new ones may be added."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from devops_bench.report import ranking, verdicts
from devops_bench.report.model import Check, Combo, Run, Verdict, exit_code
from devops_bench.results.jsontext import dumps

SCHEMA_VERSION = 1
_COMBO_FIELDS = tuple(item.name for item in fields(Combo))
_CHECK_FIELDS = tuple(item.name for item in fields(Check))


def to_json(run: Run) -> str:
    """JSON text of the whole report."""
    return dumps(to_dict(run))


def to_dict(run: Run) -> dict[str, Any]:
    """Counts, leaderboard and one object per combo; null is unknown."""
    ranked = ranking.standings(run)
    found = ranking.best(run, ranked)
    cost, known = run.cost
    return {
        "schema_version": SCHEMA_VERSION,
        "stamp": run.stamp,
        "done": run.done,
        "complete": run.complete,
        "exit": int(exit_code(run)),
        "created": run.created or None,
        "started": run.started or None,
        "ended": run.ended or None,
        "retry_of": run.retry_of,
        "counts": {
            "planned": run.planned,
            "scored": run.scored,
            **{verdict.value: run.count(verdict) for verdict in Verdict},
        },
        "cost_usd": cost,
        "cost_known_for": known,
        "best": {"setup": found.leader.setup, "tied_with": [other.setup for other in found.tied]} if found else None,
        "setups": [{**asdict(standing), "rate": standing.rate} for standing in ranked],
        "combos": [_combo(combo, run) for combo in run.combos],
        "residue": list(run.residue),
        "problems": list(run.problems),
        "warnings": list(run.warnings),
        "notes": list(run.notes),
    }


def _combo(combo: Combo, run: Run) -> dict[str, Any]:
    data = {name: getattr(combo, name) for name in _COMBO_FIELDS}
    data["checks"] = [{name: getattr(check, name) for name in _CHECK_FIELDS} for check in combo.checks]
    data["tokens"] = asdict(combo.tokens)
    data["made"] = {name: value or None for name, value in asdict(combo.made).items()}
    data["class"] = data.pop("klass")
    data["directory"] = _relative(combo, run)
    data["setup"] = combo.setup
    data["checks_passed"] = combo.checks_passed
    data["checks_total"] = len(combo.checks) or None
    data["why"] = None if combo.verdict is Verdict.PASSED else verdicts.why(combo, run.stamp).line
    return data


def _relative(combo: Combo, run: Run) -> str | None:
    """Below the run's folder, so that a copied run says the same."""
    return combo.directory.relative_to(run.directory).as_posix() if combo.directory else None

"""`devops-bench status STAMP`: where a run stands, from its files alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devops_bench import paths

if TYPE_CHECKING:
    from devops_bench.supervisor.state import RunState


@click.command()
@click.argument("stamp", default="latest")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object (a stable format).")
@click.option("--all", "show_all", is_flag=True, help="List finished combos too.")
def command(stamp: str, as_json: bool, show_all: bool) -> int:
    """Show run STAMP: counts, running combos, what failed. Changes nothing; the exit code is 0 if it could be read."""
    from devops_bench.supervisor import runs, snapshot
    from devops_bench.supervisor.locks import alive

    run_dir = runs.find(stamp, paths.runs_root())
    state, _offset = snapshot.load(run_dir)
    who, living = alive(run_dir)
    data = as_data(run_dir, state, who.pid if who is not None else None, living)
    if as_json:
        click.echo(json.dumps(data, indent=1))
    else:
        click.echo(as_text(data, state, show_all))
    return 0


def as_data(run_dir: Path, state: RunState, pid: int | None, living: bool) -> dict[str, Any]:
    """The stable JSON form, as docs/reference/supervision.md has it: {stamp, state, supervisor, counts, combos ...}.

    Keys may be added, none is ever removed or changes its meaning.
    """
    from devops_bench.combo.events import now
    from devops_bench.supervisor import forecast

    combos = [{"rid": rid, **combo.to_data()} for rid, combo in state.combos.items()]
    return {
        "stamp": run_dir.name,
        "state": forecast.overall(state, living),
        "supervisor": {"pid": pid, "alive": living},
        "counts": state.counts(),
        "started": state.started,
        "updated": state.updated,
        "halted": state.halted or None,
        "retries": state.retries,
        "spent_usd": round(state.spent_usd, 6),
        "spent_tokens": state.spent_tokens,
        "worked_sec": round(state.worked, 1),
        "left_sec": forecast.left(state, max(1, state.counts()["running"]), now()) if living else None,
        "limits": state.limits,
        "combos": combos,
    }


def as_text(data: dict[str, Any], state: RunState, show_all: bool) -> str:
    """A few lines for a person."""
    from devops_bench.plaintext import one_line
    from devops_bench.supervisor.view import age, progress, time_left

    left = time_left(state, max(1, state.counts()["running"])) if data["supervisor"]["alive"] else ""
    lines = [f"{data['stamp']}  {data['state']}", progress(state) + left]
    if state.building is not None:
        lines.append(f"building the control plane: {state.building[0]} of {state.building[1]} packages")
    for rid, combo in state.combos.items():
        if combo.state.value == "running":
            lines.append(f"  running  {rid}  {combo.phase or 'start'}  {age(combo.started)}")
        elif combo.state.value in {"failed", "invalid", "waiting", "stopped"} or show_all:
            klass = f" [{combo.klass}]" if combo.klass else ""
            lines.append(
                f"  {combo.state.value:<8} {rid}{klass}{': ' + one_line(combo.reason) if combo.reason else ''}"
            )
    for provider, cap in state.limits.items():
        lines.append(f"  limit    {provider}: at most {cap} at once")
    if state.halted and data["state"] != "done":
        lines.append(f"nothing more was started: {one_line(state.halted)}")
    if data["state"] in {"stopped", "interrupted", "halted"}:
        lines.append(f"go on with `devops-bench resume {data['stamp']}`")
    return "\n".join(lines)

"""`devops-bench retry STAMP RID...`: run combos of an earlier run again, as a new run that names the old one."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devops_bench import paths
from devops_bench.cli.launching import launch
from devops_bench.errors import ConfigError
from devops_bench.plaintext import counted

if TYPE_CHECKING:
    from devops_bench.matrix.plan import Plan


@click.command()
@click.argument("stamp")
@click.argument("rids", nargs=-1)
@click.option("--invalid", is_flag=True, help="All combos that could not be judged or never ran.")
@click.option("--failed", is_flag=True, help="All combos that failed their task.")
@click.option("--detach", is_flag=True, help="Return as soon as the run is launched.")
@click.option("--no-smoke", is_flag=True, help="Skip the smoke gate.")
@click.option("--no-wait", is_flag=True, help="Refuse (exit 4) when a combo is active in another run on this host.")
@click.option("--yes", is_flag=True, help="Do not ask before clusters that cost money are made.")
@click.option("--json", "as_json", is_flag=True, help="Print every event as a JSON line.")
def command(
    stamp: str,
    rids: tuple[str, ...],
    invalid: bool,
    failed: bool,
    detach: bool,
    no_smoke: bool,
    no_wait: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Run RIDs (or parts that name one) of run STAMP again: a new stamp with `retry_of`. The old run stays as it is.

    Never an attach: RESUME_STAMP does not count here.
    """
    from devops_bench.cli.keys import with_secrets
    from devops_bench.supervisor import runs, snapshot
    from devops_bench.supervisor.orders import Orders

    run_dir = runs.find(stamp, paths.runs_root())
    plan = again(run_dir, chosen(run_dir, rids, snapshot.load(run_dir)[0], invalid, failed))
    orders = replace(Orders.read(run_dir), unlimited=False, fixer=(), hands_off=False)
    if no_smoke:
        orders = replace(orders, smoke="off")
    env = with_secrets(os.environ)
    return launch(plan, env, orders, detach=detach, no_wait=no_wait, yes=yes, as_json=as_json)


def chosen(run_dir: Path, rids: tuple[str, ...], state: Any, invalid: bool, failed: bool) -> set[str]:
    """The rids to run again. Raises ConfigError when nothing is named, or nothing fits."""
    from devops_bench.cli.logs import choose
    from devops_bench.settings import JUDGED, ComboState

    found = {choose(run_dir, rid) for rid in rids}
    wanted = {ComboState.FAILED} if failed else set()
    if invalid:
        wanted |= set(ComboState) - JUDGED
    found |= {rid for rid, combo in state.combos.items() if combo.state in wanted}
    if not found:
        what = "no combo is named" if not (rids or invalid or failed) else "no combo is like that"
        raise ConfigError(what, where=run_dir, fix="name rids, or say --invalid or --failed")
    return found


def again(run_dir: Path, rids: set[str]) -> Plan:
    """A plan of these combos with the tasks as they are now. Raises ConfigError when a task is gone."""
    from devops_bench.combo.events import now
    from devops_bench.matrix.plan import Plan
    from devops_bench.tasks.fingerprint import content_hash

    old = Plan.read(run_dir)
    combos = tuple(combo for combo in old.combos if combo.rid in rids)
    hashes, changed = {}, []
    for combo in combos:
        folder = Path(combo.task_file).parent
        if not Path(combo.task_file).is_file():
            raise ConfigError("the task is gone", where=combo.task_file, fix="restore it, or leave its combos out")
        if combo.task_key not in hashes:
            hashes[combo.task_key] = content_hash(folder)
            if old.task_hashes.get(combo.task_key) not in {None, hashes[combo.task_key]}:
                changed.append(combo.task_key)
    notes = [f"retry of {run_dir.name}: {len(combos)} of {counted(len(old.combos), 'combo')}"]
    if changed:
        notes.append(f"changed since then, so not comparable: {', '.join(changed)}")
    return replace(
        old, stamp="", combos=combos, created=now(), task_hashes=hashes, notes=tuple(notes), retry_of=run_dir.name
    )

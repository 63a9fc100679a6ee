"""Launching a plan: smoke gate, confirmation, run folder, supervisor, keepalive. Shared by `run` and `retry`."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from devops_bench import paths
from devops_bench.cli import asking
from devops_bench.errors import ConfigError, RefusedError
from devops_bench.plaintext import counted

if TYPE_CHECKING:
    from devops_bench.supervisor.orders import Orders

DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|d)?", re.I)
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class Duration(click.ParamType[float]):
    """Seconds, or a number with s, m, h or d."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        match = DURATION.fullmatch(str(value).strip())
        if match is None or float(match[1]) <= 0:
            self.fail(f"{value!r} is not a duration; write 3600, 90m or 2h", param, ctx)
        return float(match[1]) * UNITS[(match[2] or "s").lower()]


MAX_COST = click.option(
    "--max-cost",
    type=click.FloatRange(min=0, min_open=True),
    metavar="USD",
    help="Start nothing more after so much; unknown prices count as 0 (a warning names the models).",
)
MAX_TOKENS = click.option(
    "--max-tokens", type=click.IntRange(min=1), metavar="N", help="Start nothing more after so many, over all attempts."
)
MAX_DURATION = click.option(
    "--max-duration", type=Duration(), metavar="TIME", help="Start nothing more after so long (3600, 90m, 2h, 1d)."
)


def launch(
    plan: Any, env: dict[str, str], orders: Orders, *, detach: bool, no_wait: bool, yes: bool, as_json: bool
) -> int:
    """Check, write the plan, start the supervisor, follow. Exit 2 leaves nothing behind."""
    from devops_bench.cli.attach import attach
    from devops_bench.cli.keys import supervisor_environment
    from devops_bench.matrix import ids
    from devops_bench.preflight import prices
    from devops_bench.supervisor import keepalive
    from devops_bench.supervisor import launch as launcher
    from devops_bench.supervisor.orders import matrix_id

    orders = replace(orders, matrix=matrix_id(plan))
    preflight(plan, env)
    confirm(plan, yes)
    if no_wait:
        refuse_active(plan, env)
    elif (active := same_matrix(orders.matrix)) is not None:
        return join(active, detach, as_json)
    doubt = prices.warning(plan, env, orders.budget.cost, orders.budget.tokens)
    if doubt:
        click.echo(f"warning: {doubt}", err=True)
    plan = smoke_gate(plan, env, orders)
    if not as_json:
        for note in plan.notes:
            click.echo(f"note: {note}", err=True)
    if doubt:
        plan = replace(plan, notes=(*plan.notes, doubt))
    run_dir = ids.reserve_run_dir(paths.runs_root())
    full = supervisor_environment(plan.options, env)
    try:
        replace(plan, stamp=run_dir.name).write(run_dir)
        orders.write(run_dir)
        launcher.start(run_dir, full)
    except BaseException as error:
        if not (run_dir / "journal.jsonl").exists() or (run_dir / "journal.jsonl").stat().st_size == 0:
            shutil.rmtree(run_dir, ignore_errors=True)
        # The other one of two launches at the same moment was faster.
        if isinstance(error, RefusedError) and not no_wait and (active := same_matrix(orders.matrix)) is not None:
            return join(active, detach, as_json)
        raise
    if orders.hands_off:
        keepalive.start(run_dir, full)
    announce(run_dir, as_json, detach)
    if orders.hands_off and not as_json:
        click.echo(keepalive.advice(run_dir, env), err=True)
    return 0 if detach else attach(run_dir, as_json)


def announce(run_dir: Path, as_json: bool, detach: bool) -> None:
    """`STAMP=<stamp>` alone on its line, before following starts."""
    if not as_json:
        click.echo(f"STAMP={run_dir.name}")
    elif detach:
        click.echo(f'{{"stamp": "{run_dir.name}"}}')


def same_matrix(matrix: str) -> Path | None:
    """The active run of the same matrix, if there is one."""
    from devops_bench.errors import BenchError
    from devops_bench.supervisor import locks, runs
    from devops_bench.supervisor.orders import Orders

    root = paths.runs_root()
    for stamp in reversed(runs.stamps(root)):
        run_dir = root / stamp
        try:
            if not (run_dir / ".done").exists() and locks.held(run_dir) and Orders.read(run_dir).matrix == matrix:
                return run_dir
        except (OSError, BenchError):
            continue
    return None


def join(run_dir: Path, detach: bool, as_json: bool) -> int:
    """Attach to the run of the same matrix instead of doubling it."""
    from devops_bench.cli.attach import attach

    click.echo(f"note: the same matrix is running as {run_dir.name}: attached to it, nothing was started", err=True)
    announce(run_dir, as_json, detach)
    return 0 if detach else attach(run_dir, as_json)


def preflight(plan: Any, env: dict[str, str]) -> None:
    """Print warnings; raise ConfigError for the first error, saying how many more there are."""
    from devops_bench.preflight import check

    findings = check(plan, env, dry_run=False)
    errors = [finding for finding in findings if finding.is_error]
    for finding in findings:
        if finding not in errors[:1]:
            click.echo(f"{'error' if finding.is_error else 'warning'}: {finding.line()}", err=True)
    if errors:
        first = errors[0]
        raise ConfigError(first.what, where=first.where, fix=first.fix)


def confirm(plan: Any, yes: bool) -> None:
    """Ask before clusters that cost time or money are made."""
    paid = [combo for combo in plan.combos if combo.provider in {"kind", "gke"}]
    if paid:
        how = "makes a cluster" if len(paid) == 1 else "make clusters"
        asking.confirm(f"{counted(len(paid), 'combo')} {how} on kind or gke", yes)


def refuse_active(plan: Any, env: dict[str, str]) -> None:
    """With --no-wait: RefusedError when another run on this host holds one of the combos."""
    from devops_bench.combo.token import is_free

    root = paths.state_root(env)
    for combo in plan.combos:
        if not is_free(combo.token, root):
            raise RefusedError(f"combo {combo.rid} is active in another run", fix="wait for it, or leave --no-wait out")


def smoke_gate(plan: Any, env: dict[str, str], orders: Orders) -> Any:
    """One cheap combo for each configuration that asks a model, before the matrix. Returns the plan with what to note.

    Raises ConfigError when one is not what its label says: nothing else starts then.
    """
    from devops_bench import smoke
    from devops_bench.matrix.plan import NO_MODEL
    from devops_bench.smoke.verdict import Verdict

    configs = {combo.config.preset: combo.config for combo in plan.combos if combo.config.agent not in NO_MODEL}
    if not configs or not orders.smoke:
        return plan
    if orders.smoke == "off":
        which = counted(len(configs), "configuration")
        note = f"smoke gate skipped (--no-smoke): {which} not tried before the run"
        return replace(plan, notes=(*plan.notes, note))
    for model in first_models(plan, orders.smoke == "real"):
        chosen = [config for config in configs.values() if model is None or _asks(plan, config, model)]
        click.echo(
            f"smoke: {', '.join(config.preset for config in chosen)}{f' with {model}' if model else ''}", err=True
        )
        report = smoke.check(chosen, plan.options, env, smoke.SmokeOptions(model=model))
        bad = [row for row in report.rows if row.verdict is not Verdict.GOOD]
        for row in bad[1:]:
            click.echo(f"error: smoke: {row.config}: {row.line}", err=True)
        if bad:
            where = f" (records in {report.work})" if report.work is not None else ""
            raise ConfigError(
                f"smoke: {bad[0].config} is not what its label says: {bad[0].line}{where}",
                fix=f"see `devops-bench smoke {bad[0].config}`; --no-smoke skips this",
            )
    return replace(plan, notes=(*plan.notes, f"smoke gate passed ({orders.smoke}): {', '.join(configs)}"))


def first_models(plan: Any, real: bool) -> list[str | None]:
    """The models to ask: none but the script, or every real model under test."""
    if not real:
        return [None]
    found = dict.fromkeys(combo.model for combo in plan.combos if not combo.model.startswith("scripted:"))
    return list(found) or [None]


def _asks(plan: Any, config: Any, model: str) -> bool:
    return any(combo.model == model and combo.config == config for combo in plan.combos)

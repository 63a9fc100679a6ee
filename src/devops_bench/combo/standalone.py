"""One agent over one task or a folder of tasks, without a supervisor: the combo command.

Each task runs in a forked process of its own, exactly as in a matrix; the attempts are then merged into one run folder
`<results root>/run_<ts>[_<run id>]/` with one results.json.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from devops_bench import settings
from devops_bench.combo import entry, outcome
from devops_bench.combo.cleanup import sweep_combo
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog, capture
from devops_bench.combo.token import take_token
from devops_bench.errors import ConfigError
from devops_bench.matrix import ids, presets
from devops_bench.matrix.axes import read_axes
from devops_bench.matrix.environment import launch_environment
from devops_bench.matrix.expand import expand
from devops_bench.matrix.plan import NO_MODEL, Combo, Plan
from devops_bench.paths import DIR_MODE, atomic_write, private_dir
from devops_bench.paths import state_root as state_root_of
from devops_bench.plaintext import one_line
from devops_bench.redact import Redactor

DEFAULT_ROOT = "results"
MERGED = ("results.json", "rows.json")
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@~,-]{0,199}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Standalone:
    """A checked request: the plan, where its run folder goes and what it is called, whether tasks run at once."""

    plan: Plan
    root: Path
    run_id: str | None
    parallel: bool
    env: Mapping[str, str] = field(repr=False)


def read(source: Path, flags: Mapping[str, Any], env: Mapping[str, str]) -> Standalone:
    """Check everything before anything is made. Raises ConfigError or TaskError."""

    def get(flag: str, name: str) -> str | None:
        given = flags.get(flag) or env.get(name, "").strip()
        return str(given) if given else None

    agent = get("agent_type", "BENCH_AGENT_TYPE")
    if agent is None:
        raise ConfigError("no agent given", fix="set BENCH_AGENT_TYPE or --agent-type")
    features = "+mcp" if settings.flag("BENCH_USE_MCP", env) else ""
    features += "+skills" if env.get("AGENT_SKILLS_PATHS", "").strip() else ""
    config, _notes = presets.parse_config(agent + features, presets.Place("BENCH_AGENT_TYPE"))
    model = env.get("AGENT_MODEL", "").strip() or ("none" if config.agent in NO_MODEL else None)
    if model is None:
        raise ConfigError("no model given", fix="set AGENT_MODEL")
    limit = _limit(get("limit", "EVAL_LIMIT"))
    infra = flags.get("infra") if flags.get("infra") is not None else not settings.flag("BENCH_NO_INFRA", env)
    axes: dict[str, object] = {
        "tasks": (str(source),),
        "models": (model,),
        "configs": (config.preset,),
        "project": flags.get("project"),
        "cluster_name": flags.get("cluster"),
        "judge_model": flags.get("judge_model"),
        "judge_provider": flags.get("judge_provider"),
        "no_teardown": None if flags.get("teardown") is None else not flags["teardown"],
        "provider": None if infra else "none",
        "agent_timeout_sec": None if env.get("AGENT_TIMEOUT_SEC") else settings.TABLE["agent_timeout_bare"].value,
    }
    spec = read_axes({name: text for name, text in env.items() if name != "RESUME_STAMP"}, axes)
    # Without a cluster every task may run; nothing of it is verified (`skipped_no_infra`).
    plan = expand(spec) if infra else expand(spec, unserved=lambda *_: None)
    plan = replace(plan, combos=plan.combos[:limit])
    root = Path(get("results_root", "RESULTS_ROOT") or DEFAULT_ROOT)
    parallel = flags.get("parallel") if flags.get("parallel") is not None else settings.flag("BENCH_PARALLEL", env)
    run_id = get("run_id", "RUN_ID")
    if run_id is not None and not RUN_ID.fullmatch(run_id):
        raise ConfigError(f"run id {run_id!r} is not safe as a file name", fix="use letters, digits, . _ -")
    if run_id is not None and len(plan.combos) == 1:
        # The run's id is the combo's: state folder, token and cluster name follow from it.
        token = ids.token(run_id)
        name = ids.cluster_name(token, spec.cluster_base)
        plan = replace(plan, combos=(replace(plan.combos[0], rid=run_id, token=token, cluster_name=name),))
    return Standalone(plan, root, run_id, bool(parallel), env)


def _limit(raw: str | None) -> int | None:
    if raw is None:
        return None
    if not raw.isascii() or not raw.isdigit() or int(raw) < 1:
        raise ConfigError(f"EVAL_LIMIT={raw!r} is not a whole number >= 1", fix="set it to how many tasks may run")
    return int(raw)


def run(job: Standalone) -> int:
    """Run all tasks of a job that passed the preflight; 0 when none failed, else 1.

    Raises ConfigError when one of them is active elsewhere on this host.
    """
    state_root = state_root_of(job.env)
    tokens = _take_tokens(job, state_root)
    run_dir = _reserve(job)
    redactor = Redactor.of_run(job.env)
    running: dict[int, tuple[Combo, Path]] = {}
    failed = False
    at_once = job.plan.options.max_parallel if job.parallel else 1
    attempts: list[Path] = []
    for combo in job.plan.combos:
        while len(running) >= at_once:
            failed |= _reap(running, state_root)
        directory = run_dir if len(job.plan.combos) == 1 else private_dir(run_dir / combo.rid / run_dir.name)
        attempts.append(directory)
        print(f"{combo.task_key}: {combo.model} with {combo.config.preset}", flush=True)
        running[_fork(job, combo, directory, redactor)] = (combo, directory)
    while running:
        failed |= _reap(running, state_root)
    for fd in tokens:
        os.close(fd)
    merge(run_dir, attempts)
    print(f"results in {run_dir}")
    return 1 if failed else 0


def _take_tokens(job: Standalone, state_root: Path) -> list[int]:
    """The locks of all combos, held by this process and inherited by its children."""
    held: list[int] = []
    for combo in job.plan.combos:
        fd = take_token(combo.token, state_root)
        if fd is None:
            raise ConfigError(f"combo {combo.rid} is active already on this host", fix="wait for it to end")
        held.append(fd)
    return held


def _reserve(job: Standalone) -> Path:
    """Make the run folder; the next second is taken when the name exists already."""
    root = private_dir(job.root)
    moment = datetime.now(UTC)
    for step in range(3600):
        name = f"run_{moment + timedelta(seconds=step):%Y%m%d_%H%M%S}"
        run_dir = (root / (f"{name}_{job.run_id}" if job.run_id else name)).absolute()
        with contextlib.suppress(FileExistsError):
            run_dir.mkdir(mode=DIR_MODE)
            return run_dir
    raise ConfigError("no free run folder", where=root, fix="give another --run-id")


def _fork(job: Standalone, combo: Combo, directory: Path, redactor: Redactor) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        log = RunLog(directory / "run.log", redactor.stream())
        capture(log)
        env = launch_environment(job.plan.options, job.env)
        request = Request(plan=job.plan, combo=combo, attempt=1, directory=directory, env=env)
        code = entry.run_guarded(request, log, redactor).exit
        log.close()
    finally:
        os._exit(code)


def _reap(running: dict[int, tuple[Combo, Path]], state_root: Path) -> bool:
    """Wait for one task; True when it did not pass."""
    pid, _status = os.wait()
    if pid not in running:
        return False
    combo, directory = running.pop(pid)
    found = outcome.read(directory)
    if found is None:
        sweep_combo(state_root, combo.rid, combo.cluster_name)
        print(f"{combo.task_key}: died without an outcome; see {directory / 'run.log'}", flush=True)
        return True
    score = f" score {found.score:.2f}" if found.score is not None else ""
    print(f"{combo.task_key}: {found.state}{score}{': ' + one_line(found.reason) if found.reason else ''}", flush=True)
    return found.exit != 0


def merge(run_dir: Path, attempts: list[Path]) -> None:
    """One results.json and rows.json over all tasks; the single attempts keep only what is theirs alone."""
    if attempts == [run_dir]:
        return
    for name in MERGED:
        merged: list[Any] = []
        for directory in attempts:
            path = directory / name
            if path.is_file():
                merged += json.loads(path.read_bytes())
        atomic_write(run_dir / name, json.dumps(merged, indent=1, ensure_ascii=False) + "\n")
    for directory in attempts:
        manifest = directory / "manifest.json"
        if manifest.is_file() and not (run_dir / manifest.name).exists():
            shutil.copy2(manifest, run_dir / manifest.name)
        for name in (*MERGED, "manifest.json"):
            (directory / name).unlink(missing_ok=True)

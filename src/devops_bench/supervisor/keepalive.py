"""`python -m devops_bench.supervisor.keepalive RUN_DIR`: restarts the supervisor of a run when it dies.

A detached process that sleeps on the supervisor's pidfd. It ends with the run: when it is done, stopped, or halted for
a person to look at. One per run; it starts nothing but supervisors, and only a few in an hour.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from devops_bench import paths, settings
from devops_bench.combo.token import take_token
from devops_bench.errors import BenchError, ExitCode, RefusedError
from devops_bench.plaintext import counted
from devops_bench.process import boottime, wait_ended
from devops_bench.supervisor import collect, launch, locks, snapshot, summary
from devops_bench.supervisor.notify import Kind, Target, message, send

LOG = "keepalive.log"
HOUR = 3600.0
LOOK = 30.0  # seconds between looks whether the supervisor is stopped; its death is heard at once
WAIT = 5.0  # seconds between looks when the lock is held by somebody who is no supervisor (a collector)
PAUSE = 1.0  # seconds before the first restart, doubled with each further one


def start(run_dir: Path, env: Mapping[str, str]) -> int:
    """Start the watchdog of `run_dir` detached; returns its pid."""
    return launch.detached("devops_bench.supervisor.keepalive", run_dir, LOG, env).pid


def advice(run_dir: Path, env: Mapping[str, str]) -> str:
    """How to keep the run alive across a reboot too: lines to paste, which need nothing of this shell."""
    command = shlex.join(revival(run_dir, env))
    cron = command.replace("%", r"\%")  # an end of line to cron
    unit = shlex.join(["systemd-run", "--user", "--on-active=60", "--on-unit-active=60"])
    return (
        "a watchdog restarts a dead supervisor until this host goes down; for after a reboot, add this line to\n"
        f"  cron:     * * * * * {cron}\n"
        "or, without cron and until the next reboot or logout, start\n"
        f"  systemd:  {unit} {shlex.quote(f'--unit=devops-bench-{run_dir.name}')} {command}\n"
        "keys and other variables of this shell are not known there: keep them in ~/secrets.env"
    )


def revival(run_dir: Path, env: Mapping[str, str]) -> list[str]:
    """The argv that resumes the run when its supervisor is dead, from an environment that holds nothing but HOME.

    Places that are not the defaults there are named in it, and PATH.
    """
    bare = {"HOME": pwd.getpwuid(os.getuid()).pw_dir}
    roots = {
        "DEVOPS_BENCH_RUNS": paths.runs_root,
        "BENCH_RUN_STATE_ROOT": paths.state_root,
        "DEVOPS_BENCH_CACHE": paths.cache_root,
    }
    places = [f"{name}={root(env).absolute()}" for name, root in roots.items() if root(env) != root(bare)]
    if plane := env.get("DEVOPS_BENCH_KUBE", "").strip():
        places.append(f"DEVOPS_BENCH_KUBE={Path(plane).expanduser().absolute()}")
    if path := env.get("PATH"):
        places.append(f"PATH={path}")  # cron's own knows neither agents nor tools that are installed elsewhere
    below = run_dir.absolute().parent == paths.runs_root(env).absolute()
    stamp = run_dir.name if below else str(run_dir.absolute())
    return [*(["/usr/bin/env", *places] if places else []), program(), "resume", "--keepalive", stamp]


def program() -> str:
    """`devops-bench` by its full path: that of this environment, which need not be on anybody's PATH."""
    own = Path(sys.executable).absolute().parent / "devops-bench"
    found = str(own) if own.is_file() else shutil.which("devops-bench") or sys.argv[0]
    return str(Path(found).absolute())


def over(run_dir: Path) -> str:
    """Why the run needs no supervisor any more; empty when it does."""
    if (run_dir / summary.DONE).exists():
        return "done"
    state, _offset = snapshot.load(run_dir)
    if state.stop_requested:
        return "stopped"
    return f"halted: {state.halted}" if state.halted else ""


def watch(run_dir: Path, env: Mapping[str, str]) -> str:
    """Keep the run's supervisor alive; returns why that is over."""
    most = int(settings.TABLE["restarts_most"].value)
    restarts: list[float] = []
    while True:
        _wait_for_supervisor(run_dir)
        why = over(run_dir)
        if why:
            return why
        now = boottime()
        restarts = [moment for moment in restarts if now - moment < HOUR]
        if len(restarts) >= most:
            return f"given up after {counted(len(restarts), 'restart')} in an hour"
        time.sleep(PAUSE * 2 ** len(restarts))
        restarts.append(now)
        try:
            pid = launch.start(run_dir, env)
            print(f"restarted: supervisor {pid}", flush=True)
        except RefusedError:
            continue  # somebody resumed it
        except BenchError as error:
            print(f"restart failed: {error.message()}", flush=True)


def _wait_for_supervisor(run_dir: Path) -> None:
    """Return when nobody works on the run."""
    while locks.held(run_dir):
        who = locks.owner(run_dir)
        fd = who.open_pidfd() if who is not None else None
        if fd is None:
            time.sleep(WAIT)
            continue
        try:
            if not wait_ended(fd, LOOK) and who is not None and who.state() == "T":
                collect.wake(who, signal.SIGCONT)  # stopped is as good as dead, and nobody watches
        finally:
            os.close(fd)


def main() -> int:
    """Entry; 0 when the run ended by itself."""
    if len(sys.argv) != 2:
        print("error: this is started by `devops-bench run` and `resume`, not by hand", file=sys.stderr)
        return int(ExitCode.USAGE)
    run_dir, env = Path(sys.argv[1]), dict(os.environ)
    held = take_token(f"keepalive {run_dir}", paths.state_root(env))
    if held is None:
        return 0
    try:
        why = watch(run_dir, env)
    except BenchError as error:
        why = f"given up: {error.message()}"
    print(why, flush=True)
    if why.startswith("given up"):
        process = send(Target.of(env), message(Kind.NEEDS_YOU, run_dir.name, why, {"reason": why}))
        if process is not None:
            process.wait()
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

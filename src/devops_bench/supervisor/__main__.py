"""`python -m devops_bench.supervisor RUN_DIR READY_FD`: the detached process of a run.

Writes one line to READY_FD: `ok` once the launch (or the take-over) is durably journalled, else `error: ...`.
Everything else goes to `supervisor.log` in the run folder, where standard output already points.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from devops_bench import paths, settings
from devops_bench.combo.token import take_token
from devops_bench.errors import BenchError, ExitCode, RefusedError
from devops_bench.matrix.plan import Plan
from devops_bench.supervisor import snapshot, sweep
from devops_bench.supervisor.core import Supervisor
from devops_bench.supervisor.journal import Journal
from devops_bench.supervisor.locks import RunLock
from devops_bench.supervisor.notify import WEBHOOK, Target
from devops_bench.supervisor.orders import Orders

_answered = False


def main() -> int:
    """Run the supervisor; returns its exit code."""
    if len(sys.argv) != 3:
        print("error: this is started by `devops-bench run` and `resume`, not by hand", file=sys.stderr)
        return int(ExitCode.USAGE)
    run_dir, ready_fd = Path(sys.argv[1]), int(sys.argv[2])
    os.set_inheritable(ready_fd, False)
    try:
        return asyncio.run(supervise(run_dir, ready_fd))
    except BenchError as error:
        tell(ready_fd, f"error: {error.message()}")
        say(error.message())
        return int(error.exit_code)
    except OSError as error:
        tell(ready_fd, f"error: {error}")
        say(f"stopped: {error}")
        return int(ExitCode.INVALID)


async def supervise(run_dir: Path, ready_fd: int) -> int:
    """Take the run's lock, fold its journal, and work until it is done or stopped."""
    env = dict(os.environ)
    target = Target.of(env)
    os.environ.pop(WEBHOOK, None)  # nobody else's business: not the fork server's, not a combo's
    plan = Plan.read(run_dir)
    orders = Orders.read(run_dir)
    with RunLock(run_dir) as lock:
        lock.acquire("supervisor")
        matrix = hold_matrix(orders, env)
        journal = Journal(run_dir, ballast=settings.integer("status_ballast", env))
        try:
            state, _offset = snapshot.load(run_dir)
            supervisor = Supervisor(plan, run_dir, journal, state, env, orders, target)
            supervisor.listen()
            if not state.launched:
                supervisor.record("launched", rids=[combo.rid for combo in plan.combos], notes=list(plan.notes))
            elif not state.done:
                supervisor.resume()
            tell(ready_fd, "ok")
            sweep.dead_planes(supervisor)
            done = await work(supervisor)
        finally:
            journal.close()
            if matrix is not None:
                os.close(matrix)
    return int(ExitCode.OK if done else ExitCode.INVALID)


async def work(supervisor: Supervisor) -> bool:
    """Run to the end; people are told of it, whatever it is."""
    error = ""
    try:
        return await supervisor.run()
    except BaseException as caught:
        error = caught.message() if isinstance(caught, BenchError) else f"{type(caught).__name__}: {caught}"
        raise
    finally:
        supervisor.telling.end(supervisor.beat.end(), error)


def hold_matrix(orders: Orders, env: Mapping[str, str]) -> int | None:
    """Take the lock of the whole matrix, so that it never runs twice at once on this host. Raises RefusedError."""
    if not orders.matrix:
        return None
    held = take_token(orders.matrix, paths.state_root(env))
    if held is None:
        raise RefusedError("the same matrix is already active in another run", fix="attach to it, or wait for it")
    return held


def say(line: str) -> None:
    """One line into the supervisor's log, if its disk has room."""
    with contextlib.suppress(OSError):
        os.write(1, line.encode() + b"\n")


def tell(fd: int, line: str) -> None:
    """Answer the launcher once; it may have gone away."""
    global _answered
    if _answered:
        return
    _answered = True
    try:
        os.write(fd, line.encode() + b"\n")
        os.close(fd)
    except OSError:
        pass


if __name__ == "__main__":
    sys.exit(main())

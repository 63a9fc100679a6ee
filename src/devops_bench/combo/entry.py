"""How a combo process begins: from the fork server (`run_forked`) or in the foreground (`run_here`).

Sets up redaction before anything is printed, the signals that end an attempt, and the watch on the control plane.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import traceback
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from devops_bench import agents
from devops_bench.combo.events import EventLog
from devops_bench.combo.failure import PlaneLost, Stopped
from devops_bench.combo.outcome import CRASHED, Outcome
from devops_bench.combo.request import Request
from devops_bench.combo.runlog import RunLog, capture
from devops_bench.combo.world import World
from devops_bench.errors import BenchError
from devops_bench.matrix.plan import Plan
from devops_bench.paths import cache_root
from devops_bench.process import ProcessIdentity, wait_ended
from devops_bench.redact import Redactor
from devops_bench.settings import ComboState, FailureClass

_plan: list[Plan] = []
_redactor: list[Redactor] = []


def preload(run_dir: Path) -> None:
    """Import what the plan's combos need and read the plan, once, in the fork server.

    Starts no thread and keeps nothing open. What cannot be imported is the combo's to report.
    """
    from devops_bench.combo import attempt
    from devops_bench.results.environment import code_hash
    from devops_bench.sandbox import detect

    assert attempt
    code_hash()  # remembered
    _redactor[:] = [Redactor.of_run(os.environ)]
    warm = _redactor[0].stream()
    warm.feed(b"patterns are compiled on first use")
    warm.flush()
    plan = Plan.read(run_dir)
    _plan[:] = [plan]
    if _uses_checks(plan):
        import_module("jsonpath")
    if any(combo.provider == "kwok" for combo in plan.combos):
        _ask_control_plane()
    used = {combo.config.agent for combo in plan.combos}
    for key in used:
        with contextlib.suppress(BenchError, ImportError):
            agents.get(key)  # imports its adapter
    if "api" in used:
        _preload_clients(plan)
    with contextlib.suppress(BenchError):
        detect(os.environ)  # tries the sandbox once and remembers


def _ask_control_plane() -> None:
    """What every record says of the control plane, asked once. Not built yet: each combo asks for itself."""
    from devops_bench.clusters import binary
    from devops_bench.results.environment import hash_binary

    with contextlib.suppress(BenchError):
        path = binary.find(os.environ)
        if path is not None:
            binary.versions(path)
            hash_binary(path, cache_root(os.environ) / "hashes")


def _uses_checks(plan: Plan) -> bool:
    """Whether some task verifies anything, told from the text alone; unreadable ones are the combos' to report."""
    for name in {combo.task_file for combo in plan.combos}:
        with contextlib.suppress(OSError):
            if b"verification_spec" in Path(name).read_bytes():
                return True
    return False


def _preload_clients(plan: Plan) -> None:
    """The agent `api` brings a client for each wire format: seconds of imports."""
    from devops_bench.agents import model_client
    from devops_bench.gateway.model import wire_for
    from devops_bench.models import providers

    told, wires = plan.options.agent_provider, agents.get("api").wires
    for model in {combo.model for combo in plan.combos if combo.config.agent == "api"}:
        with contextlib.suppress(BenchError):
            provider = providers.provider_of(model, told)
            resolved = providers.Resolved(provider, providers.bare(model, provider))
            model_client.preload(wire_for("api", wires, resolved, told))


def run_forked(request: Mapping[str, Any], fds: Mapping[str, int]) -> int:
    """The life of a forked combo; the exit code is a hint, `outcome.json` is the outcome."""
    run_dir, rid = Path(request["run_dir"]), str(request["rid"])
    env = dict(os.environ)
    redactor = _redactor[0]
    directory = Path(request["directory"])
    log = RunLog(run_dir / rid / "run.log", redactor.stream())
    capture(log)
    try:
        plan = _plan[0]
        combo = next(item for item in plan.combos if item.rid == rid)
        full = Request(
            plan=plan,
            combo=combo,
            attempt=int(request["attempt"]),
            directory=directory,
            env=env,
            plane_folder=Path(request["plane"]) if request.get("plane") else None,
            plane_fd=fds.get("plane"),
            token_fd=fds.get("token"),
        )
        return run_guarded(full, log, redactor).exit
    finally:
        log.close()


def run_guarded(request: Request, log: RunLog, redactor: Redactor) -> Outcome:
    """As `run_here`, in a process of its own; whatever escapes it is our fault and still leaves an outcome."""
    from devops_bench.sandbox import disk

    disk.separate()  # before anything starts a thread
    try:
        return run_here(request, log, redactor)
    except BaseException as error:
        log.write("".join(traceback.format_exception(error)))
        outcome = Outcome(
            ComboState.INVALID,
            1,
            klass=FailureClass.HARNESS.value,
            signature=CRASHED,
            reason=redactor.text(f"{type(error).__name__}: {error}"),
        )
        outcome.write(request.directory, rid=request.combo.rid, attempt=request.attempt)
        return outcome


def run_here(request: Request, log: RunLog, redactor: Redactor) -> Outcome:
    """Run one attempt in this process (main thread) and leave its outcome."""
    from devops_bench.combo.attempt import Attempt
    from devops_bench.gateway.model import new_token

    _signals(Stopped)
    token = new_token()
    redactor = redactor.also({"GATEWAY_TOKEN": token})
    events = EventLog(request.directory, redactor)
    attempt = Attempt(
        request=request,
        log=log,
        events=events,
        redactor=redactor,
        token=token,
        shield=_shield,
        watch_plane=watch_plane,
    )
    try:
        outcome = attempt.execute()
    finally:
        events.close()
    log.line(f"outcome {outcome.state}")
    outcome.write(request.directory, rid=request.combo.rid, attempt=request.attempt)
    return outcome


def _signals(error: type[BaseException]) -> None:
    def stop(_signal: int, _frame: object) -> None:
        # Once: a second signal must not interrupt what the first one set going.
        _shield()
        raise error

    def lost(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        raise PlaneLost

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGUSR2, lost)


def _shield() -> None:
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR2):
        signal.signal(sig, signal.SIG_IGN)


def watch_plane(world: World) -> Callable[[], None]:
    """Interrupt the main thread when the combo's control plane ends; call the result to stop watching."""
    process: ProcessIdentity | None = None
    plane = getattr(world.provider, "planes", {}).get(world.cluster.name)
    if plane is not None:
        process = plane.process
    fd = process.open_pidfd() if process is not None else None
    if plane is not None and fd is None:
        raise PlaneLost
    if fd is None:
        return lambda: None
    quiet = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def watch() -> None:
        while not quiet.is_set():
            if wait_ended(fd, 0.5):
                if not quiet.is_set():
                    signal.pthread_kill(main, signal.SIGUSR2)
                break
        os.close(fd)

    threading.Thread(target=watch, name="plane-watch", daemon=True).start()
    return quiet.set

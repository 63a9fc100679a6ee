"""Start a supervisor as a detached process and wait until it has durably taken the run over."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from devops_bench.errors import BenchError, ConfigError, RefusedError
from devops_bench.paths import FILE_MODE

LOG = "supervisor.log"


def start(run_dir: Path, env: Mapping[str, str]) -> int:
    """Start the supervisor of `run_dir` in a session of its own; returns its pid once `launched` (or `resumed`) is
    durable.

    `env` is its whole environment, keys included. Raises RefusedError when the run is active, else ConfigError with the
    supervisor's own line.
    """
    ready_read, ready_write = os.pipe2(os.O_CLOEXEC)
    try:
        process = detached("devops_bench.supervisor", run_dir, LOG, env, ready_write)
    finally:
        os.close(ready_write)
    try:
        with os.fdopen(ready_read, "rb") as ready:
            answer = ready.readline().decode(errors="replace").strip()
    except KeyboardInterrupt:
        # Nobody knows its stamp yet: it must not go on alone.
        process.kill()
        process.wait()
        raise
    if answer == "ok":
        return process.pid
    process.wait()
    raise failure(answer, run_dir)


def detached(module: str, run_dir: Path, log: str, env: Mapping[str, str], *fds: int) -> subprocess.Popen[bytes]:
    """Start `python -m MODULE RUN_DIR FD...` in a session of its own; what it says is added to the run's file `log`.

    It inherits `fds` and nothing else.
    """
    said = os.open(run_dir / log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
    try:
        return subprocess.Popen(
            [sys.executable, "-m", module, str(run_dir), *map(str, fds)],
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            pass_fds=fds,
            start_new_session=True,
            cwd="/",
        )
    finally:
        os.close(said)


def failure(answer: str, run_dir: Path) -> BenchError:
    """The error for what the supervisor said (or did not say)."""
    text = answer.removeprefix("error: ")
    if "already active" in text:
        return RefusedError(text)
    if text:
        return ConfigError(text)
    try:
        lines = (run_dir / LOG).read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return ConfigError(
        f"the supervisor did not start: {lines[-1] if lines else 'no message'}",
        where=run_dir / LOG,
        fix="see that file",
    )

"""What isolation costs: a command in the sandbox, with and without its closed network, beside the bare command.

All variants run in turn in one process, so that a busy machine hits them alike.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.measure import row
from devops_bench.sandbox import Endpoint, Sandbox, SandboxSpec, Shell, detect

ROUNDS = 25


def main() -> None:
    """Print medians in milliseconds."""
    mode = detect({"PATH": os.environ.get("PATH", "")})
    if not mode.sandboxed:
        print(mode.warning)
        return
    off = detect({"BENCH_AGENT_SANDBOX": "off"})
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def spec(name: str, **fields: tuple[Endpoint, ...]) -> SandboxSpec:
            return SandboxSpec(home=root / name / "home", workspace=root / name / "workspace", **fields)

        with (
            Sandbox(mode, spec("closed")) as closed,
            Sandbox(mode, spec("reach", reach=(Endpoint("127.0.0.1", 1),))) as reach,
            Sandbox(off, spec("bare")) as bare,
            closed.shell() as shell,
        ):
            variants: dict[str, Callable[[], object]] = {
                "bare command": lambda: subprocess.run(["true"], check=True),
                "no sandbox (limits, gate, watchdog)": lambda: bare.run(["true"], timeout=60),
                "sandbox, no network": lambda: closed.run(["true"], timeout=60),
                "sandbox, API server reachable": lambda: reach.run(["true"], timeout=60),
                "one command in an open shell": lambda: shell.run(["true"], timeout=60),
                "open and close a shell": lambda: _open(closed),
            }
            figures = _in_turn(variants)
    base = figures["bare command"]
    targets = {"sandbox, API server reachable": "<= 50 ms", "one command in an open shell": "<= 10 ms"}
    print(f"medians of {ROUNDS}, load {os.getloadavg()[0]:.1f}")
    for name, figure in figures.items():
        row(name, f"{figure:.1f} ms", f"{figure / base:.1f} x bare", targets.get(name, ""))


def _open(box: Sandbox) -> None:
    shell = Shell(box)
    shell.close()


def _in_turn(variants: dict[str, Callable[[], object]]) -> dict[str, float]:
    taken: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(ROUNDS):
        for name, work in variants.items():
            started = time.perf_counter()
            work()
            taken[name].append((time.perf_counter() - started) * 1000)
    return {name: statistics.median(values) for name, values in taken.items()}

"""What isolation costs: a command in the sandbox, with and without its closed network, beside the bare command.

All variants run in turn in one process, so that a busy machine hits them alike.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.measure import medians_in_turn, row
from devops_bench.guard import Gate, GuardContext
from devops_bench.sandbox import Endpoint, Sandbox, SandboxSpec, Shell, detect

ROUNDS = 25
KUBECONFIG = """\
current-context: a
contexts: [{name: a, context: {cluster: c}}]
clusters: [{name: c, cluster: {server: "https://127.0.0.1:6443"}}]
"""


def main() -> None:
    """Print medians in milliseconds."""
    mode = detect({"PATH": os.environ.get("PATH", "")})
    if not mode.sandboxed:
        print(mode.warning)
        return
    off = detect({"BENCH_AGENT_SANDBOX": "off"})
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        tool = root / "tool"
        tool.write_text("#!/bin/true\n")
        tool.chmod(0o755)
        config = root / "config"
        config.write_text(KUBECONFIG)

        def spec(name: str, **fields: Any) -> SandboxSpec:
            return SandboxSpec(home=root / name / "home", workspace=root / name / "workspace", **fields)

        with (
            Sandbox(mode, spec("closed")) as closed,
            Sandbox(mode, spec("reach", reach=(Endpoint("127.0.0.1", 1),))) as reach,
            Sandbox(off, spec("bare")) as bare,
            closed.shell() as shell,
            Gate(GuardContext(server="https://127.0.0.1:6443")) as gate,
            Sandbox(
                mode, spec("guarded", kubectl=(str(tool),), kubeconfig=config, guard=Endpoint(*gate.address))
            ) as guarded,
            guarded.shell() as guarded_shell,
        ):
            real = "/opt/tools/libexec/kubectl"
            variants: dict[str, Callable[[], object]] = {
                "bare command": lambda: subprocess.run(["true"], check=True),
                "no sandbox (limits, gate, watchdog)": lambda: bare.run(["true"], timeout=60),
                "sandbox, no network": lambda: closed.run(["true"], timeout=60),
                "sandbox, API server reachable": lambda: reach.run(["true"], timeout=60),
                "one command in an open shell": lambda: shell.run(["true"], timeout=60),
                "open and close a shell": lambda: _open(closed),
                "50 tool starts, no guard": lambda: _fifty(guarded_shell, f"{real} get pods"),
                "50 tool starts through the guard, reading": lambda: _fifty(guarded_shell, "kubectl get pods"),
                "50 tool starts through the guard, changing": lambda: _fifty(guarded_shell, "kubectl apply -f x"),
            }
            figures = medians_in_turn(variants, ROUNDS)
    base = figures["bare command"]
    targets = {"sandbox, API server reachable": "<= 50 ms", "one command in an open shell": "<= 10 ms"}
    print(f"medians of {ROUNDS}, load {os.getloadavg()[0]:.1f}")
    plain = figures["50 tool starts, no guard"]
    for kind in ("reading", "changing"):
        added = (figures[f"50 tool starts through the guard, {kind}"] - plain) / 50
        row(f"added by the guard to one command, {kind}", f"{added:.1f} ms", "", "<= 10 ms")
    for name, figure in figures.items():
        row(name, f"{figure:.1f} ms", f"{figure / base:.1f} x bare", targets.get(name, ""))


def _fifty(shell: Shell, command: str) -> None:
    text = f"for ((i = 0; i < 50; i++)); do {command}; done"
    assert shell.run(["/bin/bash", "-c", text], timeout=120).exit == 0


def _open(box: Sandbox) -> None:
    shell = Shell(box)
    shell.close()

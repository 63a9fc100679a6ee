"""What the orchestrator costs per trivial combo beside a bare bash loop; status and resume of big runs."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

from bench.measure import in_turn, row, run

PROGRAM = str(Path(sys.executable).parent / "devops-bench")
TASK = "task_id: {0}\nname: {0}\ninfrastructure: {{deployer: noop, provider: none}}\nprompt: Do nothing.\n"
BASH = 'for i in $(seq "$1"); do mkdir -p "$2/$i"; bash -c "echo exit=0" > "$2/$i/status"; done'


def main() -> None:
    """200 and 1,000 combos."""
    memory = {}
    for count in (200, 1000):
        with tempfile.TemporaryDirectory() as tmp:
            memory[count] = _matrix(Path(tmp), count)
    growth = (memory[1000] - memory[200]) / 800
    row("memory growth per combo", f"{growth:.4f} MB", "", "<= 0.05 MB")


def _matrix(root: Path, count: int) -> float:
    tasks = []
    for number in range(20):
        folder = root / "tasks" / f"t{number}"
        folder.mkdir(parents=True)
        (folder / "task.yaml").write_text(TASK.format(f"t{number}"))
        tasks.append(str(folder))
    env = {
        **os.environ,
        "HOME": str(root),
        "DEVOPS_BENCH_RUNS": str(root / "runs"),
        "BENCH_RUN_STATE_ROOT": str(root / "state"),
        "MATRIX_TASKS": " ".join(tasks),
        "MATRIX_MODELS": "none",
        "MATRIX_AGENT_CONFIGS": "noop",
        "MATRIX_REPEATS": str(count // 20),
        "MAX_PARALLEL": "2",
    }
    whole = run([PROGRAM, "run"], env)
    bash = run(["bash", "-c", BASH, "bash", str(count), str(root / "loop")])
    (run_dir,) = (root / "runs").iterdir()
    last = json.loads((run_dir / "journal.jsonl").read_bytes().splitlines()[-1])
    cost = last["cost"]
    orchestrator = (cost["supervisor_cpu"] + cost["zygote_cpu"]) / count * 1000
    harness = cost["zygote_combos_cpu"] / count * 1000
    each = f"bash loop {bash.wall / count * 1000:.1f} ms wall, {bash.cpu / count * 1000:.1f} ms CPU"
    row(f"{count} combos: orchestrator CPU per combo", f"{orchestrator:.1f} ms", each, "<= 10 ms")
    row(f"{count} combos: harness CPU per combo", f"{harness:.1f} ms", "", "<= 50 ms")
    row(f"{count} combos: wall per combo (2 at once)", f"{whole.wall / count * 1000:.1f} ms", each)
    for command, target in (("status", "<= 0.2 s"), ("resume", "<= 1 s")):
        subject, bare = in_turn([PROGRAM, command, str(run_dir)], [sys.executable, "-c", "pass"], 7)
        row(f"{command} of {count} combos", f"{subject.wall:.3f} s", f"bare python {bare.wall:.3f} s", target)
    return float(cost["supervisor_rss_mb"])

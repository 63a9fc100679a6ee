"""One combo on the embedded control plane, and twenty of them, beside the bare cost of booting the planes."""

from __future__ import annotations

import json
import os
import resource
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path

from bench.measure import row, run
from devops_bench.clusters import binary, kwok
from devops_bench.tasks.spec import ClusterNeeds

PROGRAM = str(Path(sys.executable).parent / "devops-bench")
BOOTS = 5
TASK = """\
task_id: scale-{0}
name: scale-{0}
infrastructure: {{deployer: noop, provider: kwok}}
prompt: Give the deployment web in namespace shop three replicas.
verification_spec:
  - name: scaled
    check: {{type: scaling_complete, deployment: web, min_replicas: 3, namespace: shop}}
"""
SETUP = """\
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "nginx:1.27"}]}
"""
SOLUTION = "#!/usr/bin/env bash\nset -eu\n# fix: scale\nkubectl -n shop scale deployment web --replicas 3\n# end\n"


def main() -> None:
    """Boot cost, single combos with a warm pool, twenty combos three at a time."""
    path = binary.ensure()
    with tempfile.TemporaryDirectory() as tmp:
        root = Path(tmp)
        cpu, wall, memory = _boots(path, root)
        cores = len(os.sched_getaffinity(0))
        row("boot of a control plane", f"{wall:.2f} s, {memory:.0f} MB", f"{cpu:.2f} CPU-s", "<= 2.5 s, <= 320 MB")
        tasks = [_task(root, number) for number in range(20)]
        single = _matrix(root / "single", tasks[:7], parallel=1)
        # The first combos of a run meet a pool that is not full yet.
        warm = statistics.median(_spans(single)[2:])
        row("one combo, warm pool: started to finished", f"{warm:.2f} s", f"boot alone {wall:.2f} s", "<= 3 s")
        whole = _matrix(root / "twenty", tasks, parallel=3)
        took = _first_to_last(whole)
        bound = 20 * cpu / cores
        row(
            "20 combos, 3 at a time",
            f"{took:.1f} s",
            f"booting 20 planes on {cores} cores {bound:.1f} s, {took / bound:.2f} x",
            "<= 1.3 x",
        )


def _boots(path: Path, root: Path) -> tuple[float, float, float]:
    """Medians of CPU seconds, wall seconds to ready, peak MB."""
    cpu, wall, memory = [], [], []
    for _ in range(BOOTS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        plane = kwok.boot(path, root / "state", ClusterNeeds())
        assert plane.ready is not None
        wall.append(plane.ready.seconds)
        memory.append(_rss(plane.pid))
        plane.end(grace=0)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(cpu), statistics.median(wall), statistics.median(memory)


def _rss(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def _task(root: Path, number: int) -> str:
    folder = root / "tasks" / f"scale-{number}"
    for part in ("setup", "solution"):
        (folder / part).mkdir(parents=True)
    (folder / "task.yaml").write_text(TASK.format(number))
    (folder / "setup" / "10.yaml").write_text(SETUP)
    (folder / "solution" / "solve.sh").write_text(SOLUTION)
    (folder / "solution" / "solve.sh").chmod(0o755)
    return str(folder)


def _matrix(root: Path, tasks: list[str], parallel: int) -> Path:
    env = {
        **os.environ,
        "DEVOPS_BENCH_RUNS": str(root / "runs"),
        "BENCH_RUN_STATE_ROOT": str(root / "state"),
        "MATRIX_TASKS": " ".join(tasks),
        "MATRIX_MODELS": "none",
        "MATRIX_AGENT_CONFIGS": "scripted",
        "MAX_PARALLEL": str(parallel),
    }
    run([PROGRAM, "run"], env)
    (run_dir,) = (root / "runs").iterdir()
    return run_dir


def _events(run_dir: Path, name: str) -> dict[str, datetime]:
    events = (json.loads(line) for line in (run_dir / "journal.jsonl").read_bytes().splitlines())
    return {e["rid"]: datetime.fromisoformat(e["time"]) for e in events if e["event"] == name}


def _spans(run_dir: Path) -> list[float]:
    started, ended = _events(run_dir, "combo_started"), _events(run_dir, "combo_finished")
    return [(ended[rid] - started[rid]).total_seconds() for rid in started]


def _first_to_last(run_dir: Path) -> float:
    first = json.loads((run_dir / "journal.jsonl").read_bytes().splitlines()[0])["time"]
    return (max(_events(run_dir, "combo_finished").values()) - datetime.fromisoformat(first)).total_seconds()

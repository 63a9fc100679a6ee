"""Would two combos that run at once write to the same place on this host? Looks at the tasks' own texts.

Agents have a HOME and a /tmp of their own in the sandbox, so a fixed path in a prompt matters only without one; what a
task's setup does on the host matters always.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from devops_bench.matrix.findings import Finding, Level
from devops_bench.matrix.plan import Combo, Plan

BYTES_MAX = 256 << 10
# A path below a place that all combos share, up to the first character that no plain path has.
_FIXED = re.compile(r"(?:\$\{?HOME\}?|(?<![\w.~])~|(?<![\w./])/(?:var/)?tmp)/[\w.@+-]+(?:/[\w.@+-]+)*")
# A path on a line that names the cluster, the run or a fresh temporary folder differs from combo to combo.
_OWN = re.compile(r"CLUSTER_NAME|RUN_ID|NAMESPACE|mktemp|\$\$")


def check(plan: Plan) -> list[Finding]:
    """A finding for each fixed host path that more than one combo at a time would use."""
    if plan.options.max_parallel < 2:
        return []
    tasks: dict[str, list[Combo]] = {}
    for combo in plan.combos:
        tasks.setdefault(combo.task_file, []).append(combo)
    users: dict[str, list[tuple[str, bool]]] = {}
    for file, combos in tasks.items():
        for path, on_host in dict.fromkeys(_fixed_paths(Path(file).parent)):
            users.setdefault(path, []).extend((combo.task_key, on_host) for combo in combos)
    found = []
    for path, uses in sorted(users.items()):
        on_host = any(host for _, host in uses) or not plan.options.sandbox
        if len(uses) > 1 and on_host:
            keys = ", ".join(dict.fromkeys(key for key, _ in uses))
            what = f"{len(uses)} combos of {keys} share the host path {path}"
            found.append(Finding(Level.WARNING, what, "put {{CLUSTER_NAME}} into the path, or set MAX_PARALLEL=1"))
    return found


def _fixed_paths(folder: Path) -> Iterator[tuple[str, bool]]:
    """Fixed paths in a task's texts, and whether it is the host (setup) that uses them."""
    yield from ((path, False) for path in _in_file(folder / "task.yaml"))
    setup = folder / "setup"
    if setup.is_dir():
        for file in sorted(setup.rglob("*")):
            if file.is_file():
                yield from ((path, True) for path in _in_file(file))


def _in_file(file: Path) -> Iterator[str]:
    try:
        with file.open("rb") as handle:
            text = handle.read(BYTES_MAX).decode(errors="replace")
    except OSError:
        return
    for line in text.splitlines():
        if not _OWN.search(line) and not line.lstrip().startswith("#"):
            yield from (match.group() for match in _FIXED.finditer(line))

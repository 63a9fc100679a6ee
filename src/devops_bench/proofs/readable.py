"""Proof 6, in the live world: everything that an agent can read holds no word about the answer, and none about us.

`statics` searches the files of a task; this searches what they have become: all objects with their events, managers and
defaults, and the agent's own files, environment and mounts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from devops_bench.kube import KubeClient
from devops_bench.proofs.objects import every_kind
from devops_bench.proofs.statics import hidden_texts, runs
from devops_bench.sandbox import Sandbox
from devops_bench.tasks.spec import TaskSpec

# What no production cluster or workstation speaks of. `kwok` plays the kubelet.
OURS = ("devops-bench", "devops_bench", "kwok", "benchmark")
_LOOK = r"""
env
cat /proc/self/mountinfo /proc/self/cgroup /proc/1/cmdline 2>/dev/null
find "$HOME" . /tmp /run /etc /var -xdev -type f -size -256k -print -exec cat {} + 2>/dev/null
ls -aR "$HOME" . /tmp
"""
_PATIENCE = 60.0
_CAP = 32 << 20


def leaks(task: TaskSpec, kube: KubeClient | None, sandbox: Sandbox) -> list[str]:
    """One line per finding. Raises KubeError when the cluster cannot be read."""
    parts = {kind: _text(kind, items) for kind, items in every_kind(kube)} if kube is not None else {}
    # Bare on the host an agent sees the host: there is nothing to prove.
    if sandbox.sandboxed:
        seen = sandbox.run(["bash", "-c", _LOOK], timeout=_PATIENCE, cap=_CAP)
        parts["the sandbox"] = seen.text()
    return sorted(set(_found(task, parts)))


def _found(task: TaskSpec, parts: Mapping[str, str]) -> Iterator[str]:
    # Prompt and setup are the incident itself; whatever of ours stands in them is a finding of `statics`.
    told = set(runs(task.prompt))
    hidden = {run: where for where, text in hidden_texts(task).items() for run in runs(text) if run not in told}
    for place, text in parts.items():
        low = text.lower()
        yield from (f"the agent can read {word!r} in {place}" for word in OURS if word in low)
        shown = next((run for run in runs(text) if run in hidden), None)
        if shown is not None:
            yield f"the agent can read a sentence of {hidden[shown]} in {place}: {' '.join(shown)!r}"


def _text(kind: str, items: Sequence[Mapping[str, Any]]) -> str:
    kept = [value for item in items for value in (item.get("data") or {}).values()] if kind == "secrets" else []
    plain = [base64.b64decode(value).decode(errors="replace") for value in kept]
    return json.dumps([items, plain], ensure_ascii=False)

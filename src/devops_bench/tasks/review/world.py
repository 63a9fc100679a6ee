"""Rules about the files beside task.yaml."""

from __future__ import annotations

import os
from collections.abc import Iterator

from devops_bench.tasks.proved import ProofState, proof_state
from devops_bench.tasks.review.subject import Hit, Subject


def documents(subject: Subject) -> Iterator[Hit]:
    """What a validated task has to come with."""
    if subject.spec is None or not subject.spec.validated:
        return
    line = subject.line("validated")
    if not (subject.folder / "README.md").is_file():
        yield Hit(line, "README.md is missing", "say why it is realistic, what a good engineer does, what is hard")
    for name in ("solution", "wrong"):
        if not list((subject.folder / name).glob("*.sh")):
            yield Hit(line, f"{name}/ holds no script", f"add {name}/NAME.sh")


def setup_file(subject: Subject) -> Iterator[Hit]:
    """Every file in setup/ is applied (*.yaml), waited for (*wait.yaml) or run (*.sh)."""
    folder = subject.folder / "setup"
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        if path.is_dir() or path.suffix not in {".yaml", ".yml", ".sh"}:
            yield Hit(1, "is not used: setup/ knows *.yaml, *wait.yaml and *.sh", "move or rename it", path)
        elif path.suffix == ".sh" and not os.access(path, os.X_OK):
            yield Hit(1, "is not executable", f"chmod +x {path.name}", path)


def proof(subject: Subject) -> Iterator[Hit]:
    """`validated: true` is a claim; the record beside the task is what it rests on."""
    if subject.spec is None or not subject.spec.validated:
        return
    state = proof_state(subject.folder)
    if state is not ProofState.CURRENT:
        words = {ProofState.STALE: "is of other files", ProofState.FAILED: "failed", ProofState.NONE: "is missing"}
        hint = f"run `devops-bench tasks validate {subject.found.key}`"
        yield Hit(subject.line("validated"), f"validated: true, but the stored proof {words[state]}", hint)

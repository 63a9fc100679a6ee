"""Start-up of the command line, beside a bare Python interpreter in the same run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from bench.measure import in_turn, row


def main() -> None:
    """--version, --help, combo --help."""
    program = shutil.which("devops-bench", path=str(Path(sys.executable).parent)) or "devops-bench"
    targets = {"--version": "<= 60 ms, 4 x", "--help": "<= 80 ms, 5.5 x", "combo --help": "<= 160 ms, 8 x"}
    for arguments, target in targets.items():
        subject, bare = in_turn([program, *arguments.split()], [sys.executable, "-c", "pass"])
        row(
            f"devops-bench {arguments}",
            f"{subject.wall * 1000:.0f} ms",
            f"bare python {bare.wall * 1000:.0f} ms, {subject.wall / bare.wall:.1f} x",
            target,
        )

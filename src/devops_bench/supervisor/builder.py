"""`python -m devops_bench.supervisor.builder`: build the control plane in a process of its own, telling progress.

One JSON line each on standard output: {"done", "total"} while building, then {"path"} or {"error"}.
"""

from __future__ import annotations

import json
import sys

from devops_bench.clusters import binary
from devops_bench.clusters.build import BuildProgress
from devops_bench.errors import BenchError


def main() -> int:
    """Build; the exit code is 0 when there is a binary."""

    def report(progress: BuildProgress) -> None:
        print(json.dumps({"done": progress.done, "total": progress.total}), flush=True)

    try:
        print(json.dumps({"path": str(binary.ensure(report))}), flush=True)
    except BenchError as error:
        print(json.dumps({"error": error.message()}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

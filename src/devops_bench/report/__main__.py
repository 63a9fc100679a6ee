"""`python -m devops_bench.report RUN_DIR`: write the summary files of a run; the supervisor calls it at the end."""

from __future__ import annotations

import sys
from pathlib import Path

from devops_bench.report import summarise

if __name__ == "__main__":
    summarise(Path(sys.argv[1]))

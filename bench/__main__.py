"""`make bench [ONLY=name,...]`: every benchmark, each beside a baseline measured in the same run.

These figures are for people: machines differ and are noisy, so look at the ratios. Nothing here can fail a build.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

OPT_IN = {"peers"}
"""Only when they are named: they install a gigabyte and take long."""


def main() -> int:
    """Run the benchmarks named in ONLY or on the command line, else all but OPT_IN."""
    names = sorted(path.stem.removeprefix("bench_") for path in Path(__file__).parent.glob("bench_*.py"))
    wanted = sys.argv[1:] or [name for name in os.environ.get("ONLY", "").split(",") if name]
    wanted = wanted or [name for name in names if name not in OPT_IN]
    unknown = set(wanted) - set(names)
    if unknown:
        print(f"no benchmark {sorted(unknown)[0]!r}; there are {', '.join(names)}", file=sys.stderr)
        return 2
    for name in wanted:
        print(f"== {name}", flush=True)
        import_module(f"bench.bench_{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())

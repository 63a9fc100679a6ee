"""`python -m devops_bench.metrics.passk ROOT [-o FILE] [--k 5] [--threshold 1.0]`: writes `passk_summary.json`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from devops_bench.errors import BenchError, ExitCode
from devops_bench.paths import atomic_write
from devops_bench.scoring.passk import read_rows, summarise


def _at_least_one(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return value


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; exit code 0, or 2 with one line on stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m devops_bench.metrics.passk", description="pass@k and pass^k from rows.json"
    )
    parser.add_argument("root", type=Path, metavar="ROOT", help="folder with rows.json files below it")
    parser.add_argument("-o", dest="out", type=Path, metavar="FILE", help="default: ROOT/passk_summary.json")
    parser.add_argument("--k", type=_at_least_one, default=5, help="attempts drawn (default 5)")
    parser.add_argument("--threshold", type=float, default=1.0, help="outcomeScore that counts as passed (default 1.0)")
    options = parser.parse_args(argv)
    out = options.out or options.root / "passk_summary.json"
    try:
        summary = summarise(read_rows(options.root), options.k, options.threshold)
        atomic_write(out, json.dumps(summary, indent=2) + "\n")
    except BenchError as error:
        print(error.message(), file=sys.stderr)
        return ExitCode.USAGE
    except OSError as error:
        print(f"{out}: cannot be written: {error.strerror}; name another file with -o", file=sys.stderr)
        return ExitCode.USAGE
    print(out)
    return ExitCode.OK


if __name__ == "__main__":
    sys.exit(main())

"""`python -m devops_bench.report RUN_DIR`: write the summary files of a run; the supervisor calls it at the end."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from devops_bench.errors import BenchError, ConfigError, ExitCode
from devops_bench.report import summarise


def main(argv: Sequence[str]) -> int:
    """Entry; what goes wrong is one line on standard error."""
    try:
        if len(argv) != 1:
            raise ConfigError("name one run folder", fix="python -m devops_bench.report RUN_DIR")
        summarise(Path(argv[0]))
    except BenchError as error:
        print(f"error: {error.message()}", file=sys.stderr)
        return int(error.exit_code)
    except OSError as error:
        print(f"error: {error.filename or argv[0]}: {error.strerror}; correct it, then try again", file=sys.stderr)
        return int(ExitCode.INVALID)
    return int(ExitCode.OK)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

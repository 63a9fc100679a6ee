"""`python -m devops_bench SOURCE` is the combo command; the installed `devops-bench` is the group of all commands."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

from devops_bench import cli
from devops_bench._version import __version__
from devops_bench.errors import ExitCode


def group() -> NoReturn:
    """Entry point of the installed `devops-bench` program."""
    cli.main()


def combo() -> NoReturn:
    """Entry point of `python -m devops_bench`."""
    args = sys.argv[1:]
    if args[:1] == ["--version"]:
        print(f"devops-bench {__version__}")
        cli.leave(ExitCode.OK)
    if args and args[0] in cli.COMMANDS and not Path(args[0]).exists():
        print(
            f"error: {args[0]!r} is no task folder; for the command of that name type `devops-bench {args[0]}`",
            file=sys.stderr,
        )
        cli.leave(ExitCode.USAGE)
    cli.leave(cli.run_command("combo", args, "python -m devops_bench"))


if __name__ == "__main__":
    combo()

"""The command line: a table of commands, each in a module of its own that is imported only when it is called.

`devops-bench --help` and `--version` import neither click nor pydantic. A command module exposes a click command (or
group) named `command`. `main` turns the error family into one line and an exit code; no traceback reaches a user.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from devops_bench._version import __version__
from devops_bench.errors import BenchError, ExitCode, HarnessError

# The host's, not ours: a full or read-only disk, missing rights, too many open files.
HOST_ERRORS = frozenset(
    {
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EROFS,
        errno.EIO,
        errno.EACCES,
        errno.EPERM,
        errno.EMFILE,
        errno.ENFILE,
        errno.ENOMEM,
    }
)
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Launch a matrix of task x model x configuration and follow it"),
    "demo": ("demo", "Run the starter matrix with scripted models (no keys, no tokens)"),
    "attach": ("attach", "Follow a run that was launched earlier"),
    "resume": ("resume", "Go on with a run that was stopped or whose supervisor died"),
    "stop": ("stop", "Stop a run; it stays resumable"),
    "retry": ("retry", "Run combos of an earlier run again, as a new run"),
    "status": ("status", "Show the state of a run and its combos"),
    "logs": ("logs", "Print what a combo logged"),
    "events": ("events", "Print the events of a run"),
    "preflight": ("preflight", "Check what must hold before combos are tried again"),
    "doctor": ("doctor", "Look at this host: what runs need and what is missing"),
    "clean": ("clean", "Remove what dead runs left on this host"),
    "known-issues": ("known_issues", "What goes wrong, by its words: list, match, draft, append, check"),
    "report": ("report", "Summarise a run: table, Markdown, JSON, CSV, HTML"),
    "combo": ("combo", "Run one task (or a folder of tasks) in the foreground"),
    "tasks": ("tasks", "List, show, review and prove tasks"),
    "agents": ("agents", "List, install and try agent programs"),
    "smoke": ("smoke", "Try agent configurations with one small task each: are they what they say?"),
    "clusters": ("clusters", "Install and inspect the embedded control plane"),
    "models": ("models", "Serve scripted models; check scenario files"),
}


def root_help() -> str:
    """The help text of the whole program, made from the table alone."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name:<{width}}  {text}" for name, (_module, text) in COMMANDS.items()]
    return (
        "Usage: devops-bench COMMAND [ARGS]...\n\n"
        "Evaluate AI agents on real DevOps tasks, each combo in a Kubernetes cluster of its own.\n\n"
        "Commands:\n" + "\n".join(lines) + "\n\n"
        "Options:\n  --version  Show the version\n"
        "  --help     Show this text; `devops-bench COMMAND --help` shows more\n\n"
        "Exit codes: 0 all passed, 1 a task failed, 2 usage or configuration, 3 invalid or unfinished,\n"
        "            4 already active, 124 the follower gave up waiting, 130 interrupted\n"
    )


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Entry of `devops-bench`. Always exits."""
    args = list(sys.argv[1:] if argv is None else argv)
    if args[:1] in (["--version"], ["-V"]):
        leave(guarded(lambda: print(f"devops-bench {__version__}")))
    if not args or args[0] in {"--help", "-h", "help"}:
        leave(guarded(lambda: print(root_help(), end="")))
    name = args.pop(0)
    if name not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, n=1)
        hint = f"did you mean `{near[0]}`?" if near else "see `devops-bench --help`"
        print(f"error: no command {name!r}; {hint}", file=sys.stderr)
        leave(ExitCode.USAGE)
    leave(run_command(COMMANDS[name][0], args, f"devops-bench {name}"))


def run_command(module: str, args: Sequence[str], prog: str) -> int:
    """Run the click command of `devops_bench.cli.<module>` and return its exit code."""

    def call() -> int:
        import click

        command = import_module(f"devops_bench.cli.{module}").command
        try:
            result = command.main(args=list(args), prog_name=prog, standalone_mode=False)
        except click.exceptions.Abort:
            return ExitCode.INTERRUPTED
        except click.exceptions.Exit as done:
            return int(done.exit_code)
        except click.exceptions.NoArgsIsHelpError as error:
            print(error.format_message(), file=sys.stderr)
            return ExitCode.USAGE
        except click.exceptions.UsageError as error:
            print(f"error: {' '.join(error.format_message().split())}; see `{prog} --help`", file=sys.stderr)
            return ExitCode.USAGE
        except click.exceptions.ClickException as error:
            print(f"error: {' '.join(error.format_message().split())}", file=sys.stderr)
            return ExitCode.USAGE
        return int(result) if isinstance(result, int) else ExitCode.OK

    code = guarded(call)
    # The combo command has three exit codes, whatever went wrong; interruption apart.
    return ExitCode.USAGE if module == "combo" and code in {ExitCode.INVALID, ExitCode.REFUSED} else code


def guarded(call: object) -> int:
    """Run `call()`; every exception becomes one line on stderr and an exit code."""
    assert callable(call)
    try:
        result = call()
        sys.stdout.flush()
    except BenchError as error:
        print(f"error: {error.message()}", file=sys.stderr)
        if isinstance(error, HarnessError):
            print(f"error: details in {write_traceback(error)}", file=sys.stderr)
        return int(error.exit_code)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader went away (`| head`): nothing is wrong, and nothing more can be printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except OSError as error:
        if error.errno not in HOST_ERRORS:
            return internal(error)
        where = f"{error.filename}: " if error.filename else ""
        print(f"error: {where}{error.strerror}; correct it, then try again", file=sys.stderr)
        return ExitCode.INVALID
    except Exception as error:  # the last net: a fault of ours is still one line
        return internal(error)
    return int(result) if isinstance(result, int) else ExitCode.OK


def internal(error: Exception) -> int:
    """One line about a fault of ours, the rest in a file."""
    print(f"error: internal error ({type(error).__name__}); details in {write_traceback(error)}", file=sys.stderr)
    return ExitCode.INVALID


def write_traceback(error: BaseException) -> str:
    """Write the redacted traceback to a private file and return its name."""
    import tempfile
    import traceback

    from devops_bench.redact import Redactor

    text = Redactor.from_env(os.environ).text("".join(traceback.format_exception(error)))
    fd, name = tempfile.mkstemp(prefix="devops-bench-error-", suffix=".txt")
    with os.fdopen(fd, "w") as handle:
        handle.write(text)
    return name


def leave(code: int) -> NoReturn:
    """Exit with `code`."""
    sys.exit(int(code))

"""The second line: commands that already run, or that a transcript or a line of text speaks of.

For what came past the shims: by a full path, too short to be seen running, or where no such tool is installed.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from devops_bench.guard.judge import GUARDED, judge_command
from devops_bench.guard.types import GuardContext, Refusal
from devops_bench.guard.words import listed

LINE_CHARS = 16_384
_SEPARATORS = frozenset([";", "&&", "||", "|", "&", "(", ")", "{", "}", "then", "do", "else", "!", "$("])
_TOOLS = re.compile("|".join(GUARDED))  # what names none of them is not taken apart
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"\\]?)([A-Za-z_][\w.-]*)\1")
_SHELL_READS = re.compile(r"(?:^|[;|&(\s])(?:ba|z|da)?sh\b[^;|&]*<<")
_UNSURE = frozenset("$`*?")
_PYTHONS = ("python", "python3", "node", "bash", "sh")


def scan_process_args(
    argv: Sequence[str], context: GuardContext, *, env: Mapping[str, str] | None = None, cwd: str = ""
) -> Refusal | None:
    """A process's arguments as /proc shows them. Tools written in Python run as `python3 .../bin/gcloud.py ARGS`."""
    words = list(argv)
    if len(words) > 1 and posixpath.basename(words[0]).startswith(_PYTHONS):
        at = next((at for at, word in enumerate(words[1:], 1) if not word.startswith("-")), len(words))
        words = words[at:]
    if not words:
        return None
    name = posixpath.basename(words[0])
    tool = name.removesuffix(".py").removesuffix(".sh")
    if tool not in GUARDED:
        return None
    return judge_command([tool, *words[1:]], context, env=env, cwd=cwd)


def scan_log_line(line: str, context: GuardContext, *, cwd: str = "") -> Refusal | None:
    """A line of text that may hold commands, as a shell would take it apart. Text that only mentions one is no command:
    it has to stand where a command stands.
    """
    return next(_refused(_commands(line[:LINE_CHARS]), context, cwd), None)


def scan_script(text: str, context: GuardContext, *, cwd: str = "") -> Iterator[Refusal]:
    """Every refused command of a shell script, as it stands there. Nothing is expanded: what depends on a variable, a
    pattern or another command is left to those who see the real words. What a here-document writes to a file and what
    a comment says is no command.
    """
    for line in filter(_TOOLS.search, _lines(text)):
        sure = [words for words in _commands(line[:LINE_CHARS]) if _UNSURE.isdisjoint("".join(words))]
        yield from _refused(sure, context, cwd)


def _refused(commands: Iterable[Sequence[str]], context: GuardContext, cwd: str) -> Iterator[Refusal]:
    where = cwd or (context.folders[0] if context.folders else "")
    for words in commands:
        if (refusal := judge_command(words, context, cwd=where)) is not None:
            yield refusal


def _lines(text: str) -> Iterator[str]:
    """The script's commands, a line each: continued lines are joined; comments and here-documents are left out, unless
    it is a shell that reads them.
    """
    ends: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if ends:
            if line.strip() == ends[0]:
                ends.pop(0)
            continue
        if line.lstrip().startswith("#"):
            continue
        yield line
        if not _SHELL_READS.search(line):
            ends = [match[2] for match in _HEREDOC.finditer(line)]


def _commands(line: str) -> list[list[str]]:
    try:
        lexer = shlex.shlex(line.strip(), posix=True, punctuation_chars=";|&()")
        lexer.whitespace_split = True
        lexer.commenters = ""
        tokens = list(lexer)
    except ValueError:  # an open quote: text, or a command that goes on in the next line
        tokens = line.split()
    if tokens and tokens[0] in {"$", "+", "#", ">"}:  # a prompt, or bash -x
        tokens = tokens[1:]
    found: list[list[str]] = [[]]
    for token in tokens:
        if token in _SEPARATORS or (token and not token.strip(";|&()")):
            found.append([])
        else:
            found[-1].append(token)
    return [_unwrapped(words) for words in found if words]


def _unwrapped(words: list[str]) -> list[str]:
    """Without `sudo`, `env A=b`, `timeout 5`, `nohup`, `xargs`, `exec` and their options before a guarded tool."""
    assignments = []
    rest = list(words)
    while rest and (head := posixpath.basename(rest[0])) not in GUARDED:
        if "=" in rest[0] and not rest[0].startswith("-"):
            assignments.append(rest[0])
        elif head not in _WRAPPERS and not rest[0].startswith("-") and not rest[0][:1].isdigit():
            return words
        rest = rest[1:]
    return [*assignments, *rest] if rest else words


_WRAPPERS = listed("sudo env timeout nohup nice ionice time xargs exec command setsid stdbuf unbuffer watch doas")

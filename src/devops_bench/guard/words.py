"""Options and words of a command line, by the rules of the program that will read it.

Where two readings are possible the one that sees more is taken: a value taken for a word can only lead to a refusal of
something that would have failed or was the agent's own, never to a hole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


def listed(text: str) -> frozenset[str]:
    """The words of a text: how tables of names are written here."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """How a program reads its arguments.

    `values`: long options that take one, `flags`: long ones that do not. `letters`: short ones that take one.
    `prefixes`: an option may be shortened (argparse). `one_dash`: long options have one dash or two (Go's flags).
    """

    values: frozenset[str] = frozenset()
    flags: frozenset[str] = frozenset()
    letters: str = ""
    prefixes: bool = False
    one_dash: bool = False


@dataclass(frozen=True, slots=True)
class Parsed:
    """`words` in order, `options` as (name, value) in order, value "" for a flag; what follows `--` is neither."""

    words: tuple[str, ...]
    options: tuple[tuple[str, str], ...]

    def all(self, *names: str) -> tuple[str, ...]:
        """Every value given for any of these options."""
        return tuple(value for name, value in self.options if name in names)

    def has(self, *names: str) -> bool:
        """True when one of them is given."""
        return any(name in names for name, _value in self.options)


def parse(args: Sequence[str], grammar: Grammar) -> Parsed:
    """Read `args` (without the program). Underscores in option names count as dashes."""
    words: list[str] = []
    options: list[tuple[str, str]] = []
    todo = list(args)
    while todo:
        arg = todo.pop(0)
        if arg == "--":
            break
        if not arg.startswith("-") or arg == "-":
            words.append(arg)
        elif arg.startswith("--") or grammar.one_dash:
            _long(arg.lstrip("-"), todo, grammar, options)
        else:
            _short(arg[1:], todo, grammar, options)
    return Parsed(tuple(words), tuple(options))


def _long(text: str, todo: list[str], grammar: Grammar, options: list[tuple[str, str]]) -> None:
    name, sign, value = text.partition("=")
    name = name.replace("_", "-")
    if grammar.prefixes and name not in grammar.values and name not in grammar.flags:
        meant = [known for known in sorted(grammar.values) if known.startswith(name)]
        # Several: the program will refuse it unless one of them is no option of this command. Note them all.
        if meant and not any(known.startswith(name) for known in grammar.flags):
            value = value if sign else (todo.pop(0) if todo else "")
            options.extend((known, value) for known in meant)
            return
    if not sign and name in grammar.values and todo:
        value = todo.pop(0)
    options.append((name, value))


def _short(text: str, todo: list[str], grammar: Grammar, options: list[tuple[str, str]]) -> None:
    for at, letter in enumerate(text):
        if letter not in grammar.letters:
            options.append((letter, ""))
            continue
        value = text[at + 1 :].removeprefix("=")
        if not value and todo:
            value = todo.pop(0)
        options.append((letter, value))
        return

"""A small regular-expression tree, so that one description gives two patterns: the match, and every unfinished match.

A stream may be cut anywhere. What must be held back at a cut is exactly the leftmost suffix that more input could
still turn into a match: a *proper prefix* of the language. `unfinished` derives that pattern from the same tree that
`render` turns into the pattern itself, so the two cannot drift apart. Bytes only, in the syntax that RE2 and `re`
share.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

# One RE2 program for all secrets of a host: 20 secrets take about 2 MiB, a 16 KiB service-account file about 10 MiB.
_RE2_MEMORY = 256 << 20


@dataclass(frozen=True, slots=True)
class Byte:
    """Exactly one byte; `pattern` is a literal byte or a class."""

    pattern: bytes


@dataclass(frozen=True, slots=True)
class Seq:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alt:
    """The first that matches."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Rep:
    """`least` to `most` times (None: no bound), greedy."""

    part: Node
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """A part with a name; only patterns rendered with `groups` show it."""

    name: str
    part: Node


@dataclass(frozen=True, slots=True)
class Edge:
    r"""A word boundary (`\b`)."""


Node = Byte | Seq | Alt | Rep | Group | Edge


def lit(text: str | bytes) -> Node:
    """These bytes, as they are."""
    raw = text.encode() if isinstance(text, str) else text
    return Seq(tuple(Byte(_escape(value)) for value in raw))


def nocase(text: str) -> Node:
    """ASCII text in any mix of upper and lower case."""
    return Seq(tuple(Byte(f"[{c.lower()}{c.upper()}]".encode()) if c.isalpha() else lit(c) for c in text))


def cls(members: str) -> Node:
    """One byte of a class, given as the inside of the brackets."""
    return Byte(b"[" + members.encode() + b"]")


def one_of(values: Iterable[int]) -> Node:
    """One of these byte values."""
    return Byte(b"[" + b"".join(_escape(value) for value in sorted(set(values))) + b"]")


def seq(*parts: Node | str) -> Node:
    """Concatenation; strings are literals."""
    return Seq(tuple(lit(part) if isinstance(part, str) else part for part in parts))


def alt(*parts: Node | str) -> Node:
    """Alternatives, first wins; strings are literals."""
    return Alt(tuple(lit(part) if isinstance(part, str) else part for part in parts))


def opt(part: Node) -> Node:
    """Once or not at all."""
    return Rep(part, 0, 1)


def many(part: Node, least: int = 0, most: int | None = None) -> Node:
    """At least `least` times."""
    return Rep(part, least, most)


def _escape(value: int) -> bytes:
    char = bytes((value,))
    return char if char.isalnum() and value < 128 else b"\\x%02x" % value


def render(node: Node, *, groups: bool = False) -> bytes:
    """The pattern of the whole language."""
    match node:
        case Byte(pattern):
            return pattern
        case Edge():
            return rb"\b"
        case Seq(parts):
            return b"".join([render(part, groups=groups) for part in parts])
        case Alt(parts):
            return b"(?:" + b"|".join(render(part, groups=groups) for part in parts) + b")"
        case Rep(part, least, most):
            inner = render(part, groups=groups)
            if not isinstance(part, Byte):
                inner = b"(?:" + inner + b")"
            return inner + _times(least, most)
        case Group(name, part):
            return (b"(?P<" + name.encode() + b">" if groups else b"(?:") + render(part, groups=groups) + b")"


def _times(least: int, most: int | None) -> bytes:
    if (least, most) == (0, 1):
        return b"?"
    if most is None:
        return {0: b"*", 1: b"+"}.get(least, b"{%d,}" % least)
    return b"{%d,%d}" % (least, most)


def unfinished(node: Node) -> bytes:
    """The pattern of all strings that need at least one more byte, or may take one, to be a match; and some more.

    Loose: a class that repeats may do so any number of times. Without counters the automaton stays small, whatever it
    reads; what is held back needlessly is judged with the next bytes. A trailing word boundary counts: whether it holds
    is only known with the next byte.
    """
    match node:
        case Byte() | Edge():
            return b""
        case Group(_, part):
            return unfinished(part)
        case Alt(parts):
            return _either(unfinished(part) for part in parts)
        case Rep(Byte(pattern), _, _):
            return pattern + b"*"
        case Rep(part, _, most):
            before = b"" if most == 1 else b"(?:" + _loose(part) + b")" + _times(0, most and most - 1)
            return before + unfinished(part)
        case Seq(parts):
            if len(parts) < 2:
                return unfinished(parts[0]) if parts else b""
            first, rest = parts[0], Seq(parts[1:])
            return _either((unfinished(first), _loose(first) + unfinished(rest)))


def _loose(node: Node) -> bytes:
    if not has_re2():
        # `re` has no automaton that could grow; without counters it would try too many ways to cut a text in lines.
        return render(node)
    match node:
        case Byte() | Edge():
            return render(node)
        case Group(_, part):
            return _loose(part)
        case Alt(parts):
            return _either(_loose(part) for part in parts)
        case Rep(Byte(pattern), _, _):
            return pattern + b"*"
        case Rep(part, least, most):
            return b"(?:" + _loose(part) + b")" + _times(least, most)
        case Seq(parts):
            return b"".join([_loose(part) for part in parts])


def _either(ways: Iterable[bytes]) -> bytes:
    return b"(?:" + b"|".join(dict.fromkeys(ways)) + b")"


def has_group(node: Node) -> bool:
    """Whether a group is anywhere in it."""
    match node:
        case Group():
            return True
        case Rep(part, _, _):
            return has_group(part)
        case Seq(parts) | Alt(parts):
            return any(map(has_group, parts))
        case _:
            return False


class Match(Protocol):
    """What both engines give back."""

    def start(self) -> int: ...
    def end(self) -> int: ...
    def span(self, group: int = ...) -> tuple[int, int]: ...


class Pattern(Protocol):
    """What both engines compile to. `search` sees the bytes before `pos` as context."""

    def search(self, text: bytes, pos: int = ...) -> Match | None: ...
    def match(self, text: bytes, pos: int = ...) -> Match | None: ...
    @property
    def groupindex(self) -> Any: ...


Find = Callable[[bytes, int], tuple[int, int]]
"""Start and end of the first match from a position on; (-1, -1) if there is none."""


def compile_pattern(pattern: bytes) -> Pattern:
    """Compile with RE2 (about 30 times as fast), or with `re` where RE2 is not installed. Both lazily."""
    if not has_re2():
        return re.compile(pattern)
    import re2

    compiled: Pattern = re2.compile(pattern, _options())
    return compiled


def finder(pattern: Pattern, *, anchored: bool = False) -> Find:
    """A pattern's `search`, or `match`. Of RE2 without the objects that its Python layer puts around: half the cost."""
    native = getattr(pattern, "_regexp", None)
    if native is None or not hasattr(native, "Match"):
        look = pattern.match if anchored else pattern.search
        return lambda text, at: hit.span() if (hit := look(text, at)) else (-1, -1)
    match, anchors = native.Match, type(native).Anchor
    anchor = anchors.ANCHOR_START if anchored else anchors.UNANCHORED

    def find(text: bytes, at: int) -> tuple[int, int]:
        span: tuple[int, int] = match(anchor, text, at, len(text))[0]
        return span

    return find


def which(patterns: Sequence[bytes]) -> Callable[[bytes], int | None]:
    """Tells the first of `patterns` that matches the whole of a text, by its index."""
    if not has_re2():
        compiled = [re.compile(pattern) for pattern in patterns]
        return lambda text: next((index for index, one in enumerate(compiled) if one.fullmatch(text)), None)
    import re2

    together = re2.Set.FullMatchSet(_options())
    for pattern in patterns:
        together.Add(pattern)
    together.Compile()
    return lambda text: min(together.Match(text) or (), default=None)


def _options() -> Any:
    import re2

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.max_mem = _RE2_MEMORY
    options.log_errors = False
    return options


def text_end() -> bytes:
    """The assertion "end of the text", which the two engines write differently."""
    return rb"\z" if has_re2() else rb"\Z"


@functools.cache
def has_re2() -> bool:
    """Whether RE2 is installed."""
    try:
        import re2  # noqa: F401
    except ImportError:
        return False
    return True


def compile_match(node: Node, *, groups: bool = False) -> Pattern:
    """Compile the language itself."""
    return compile_pattern(render(node, groups=groups))


def compile_unfinished(node: Node) -> Pattern:
    """Compile the search for the leftmost unfinished match, which is empty if there is none.

    RE2 runs a pattern that is bound to the end of the text backwards from there: no more is read than may be needed.
    """
    return compile_pattern(unfinished(node) + text_end())

"""Keys that only their shape tells: the pass that finds them, and which part of a hit is the secret."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from devops_bench.redact.cutter import Span
from devops_bench.redact.rx import (
    Alt,
    Edge,
    Find,
    Group,
    Pattern,
    Seq,
    compile_match,
    compile_unfinished,
    finder,
    has_group,
    many,
    render,
    which,
)
from devops_bench.redact.rx import cls as one_class
from devops_bench.redact.shapes import Shape


class ShapePass:
    """All shapes. Compiled lazily."""

    # More are noise: `sk-sk-sk-` has one at every third byte.
    nested: Final = 4

    def __init__(self, shapes: tuple[Shape, ...]) -> None:
        self._shapes = shapes
        self._tree = Alt(tuple(shape.tree for shape in shapes))
        self._compiled: dict[int, _Parts] = {}

    @functools.cached_property
    def scan(self) -> Pattern:
        return compile_match(self._tree)

    @functools.cached_property
    def _unfinished(self) -> Find:
        return finder(compile_unfinished(self._tree))

    @functools.cached_property
    def _which(self) -> Callable[[bytes], int | None]:
        return which([render(shape.tree) for shape in self._shapes])

    def unfinished(self, text: bytes, at: int) -> int:
        start, _ = self._unfinished(text, at)
        return len(text) if start < 0 else start

    def resolve(self, text: bytes, start: int, end: int) -> tuple[Sequence[Span], int]:
        found = text[start : end + 1]
        # With the byte behind the hit: nested shapes that end where this one does are no candidates.
        beyond, _ = self._unfinished(found, 1)
        index = self._which(found[: end - start])
        spans = () if index is None else self._parts(index).spans(text, start, end)
        return spans, end if beyond < 0 else min(end, start + beyond)

    def _parts(self, index: int) -> _Parts:
        parts = self._compiled.get(index)
        if parts is None:
            parts = self._compiled[index] = _Parts.of(self._shapes[index])
        return parts


@dataclass(frozen=True, slots=True)
class _Parts:
    """What of a hit of one shape is the secret: what follows `lead`; without it all of the hit, or what `groups` say.

    RE2 is much faster when it need not find out about groups.
    """

    label: bytes
    tail: Pattern
    lead: Find | None = None
    groups: Pattern | None = None

    @classmethod
    def of(cls, shape: Shape) -> _Parts:
        """The parts of a shape."""
        tail = compile_match(many(one_class(shape.tail)))
        match shape.tree:
            case Group(name, _) | Seq((Edge(), Group(name, _))) | Seq((Edge(), Group(name, _), Edge())):
                return cls(_label(name), tail)
            case Seq((*lead, Group(name, _))) if not any(map(has_group, lead)):
                # No secret begins with a byte that may end what leads to it.
                return cls(_label(name), tail, lead=finder(compile_match(Seq(tuple(lead))), anchored=True))
            case tree:
                return cls(b"", tail, groups=compile_match(tree, groups=True))

    def spans(self, text: bytes, start: int, end: int) -> Sequence[Span]:
        """What to replace in a hit."""
        if self.lead is not None:
            _, start = self.lead(text, start)
        if self.groups is None:
            return ((start, end, self.label, self.tail),)
        match = self.groups.match(text, start)
        if match is None:
            return ()
        numbers = sorted((number, _label(name)) for name, number in self.groups.groupindex.items())
        return [(*match.span(number), label, self.tail) for number, label in numbers]


def _label(name: str | bytes) -> bytes:
    """The label of a group, whose name RE2 gives as bytes where the pattern is bytes."""
    text = name.decode() if isinstance(name, bytes) else name
    return f"[{text.replace('_', '-')}]".encode()

"""One pass over a stream that may be cut anywhere: what is decided goes out, what more input could change is held.

The cost is linear in the text, whatever it says: every hit moves the search on, nested hits are passed by, and a block
is all that one search can read in vain.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

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

# What one unfinished match may hold back in a stream: the largest PEM block in use (RSA-16384) has 12.7 KiB.
WINDOW: Final = 16 << 10


Span = tuple[int, int, bytes, Pattern | None]
"""One replacement: start, end, label, and the pattern of what a match beyond the window goes on with, if it may."""


class Pass(Protocol):
    """What a cutter asks of one pass."""

    @property
    def scan(self) -> Pattern:
        """Finds hits."""
        ...

    @property
    def nested(self) -> int:
        """How many hits in a row are looked at that reach no farther than one before them."""
        ...

    def unfinished(self, text: bytes, at: int) -> int:
        """From where on a match may begin that more input could finish or lengthen; the end of the text if none."""
        ...

    def resolve(self, text: bytes, start: int, end: int) -> tuple[Sequence[Span], int]:
        """What to replace in a hit, in order, and where to go on.

        No match that begins between the start of the hit and there reaches beyond its end.
        """
        ...


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


class Cutter:
    """State of one pass over one stream.

    `_buffer[:_at]` is context (the byte before, for word boundaries); `_buffer[_at:]` is undecided, of which the first
    `_covered` bytes belong to a replacement that is already out (overlapping values).
    """

    def __init__(self, one: Pass) -> None:
        self._pass = one
        self._find = finder(one.scan)
        self._reset()

    def _reset(self) -> None:
        self._buffer, self._at, self._covered = b"", 0, 0
        self._tail: Pattern | None = None
        self._label: bytes | None = None
        self._swallow: Pattern | None = None

    @property
    def held(self) -> int:
        """Bytes that are undecided now."""
        return max(0, len(self._buffer) - self._at - self._covered)

    def feed(self, chunk: bytes, *, final: bool = False) -> list[bytes]:
        """What is decided, in pieces; with `final` all that is left."""
        text = self._buffer + self._after_swallowing(chunk)
        out: list[bytes] = []
        stop = len(text) if final else self._pass.unfinished(text, self._at)
        clear = self._advance(text, stop, self._at, out)
        if len(text) - stop > WINDOW:
            # What begins at `stop` outgrew the window: it is replaced and what follows swallowed, or it is passed by.
            # And so is what begins soon enough after it to have outgrown the window, too. The rest waits.
            self._advance(text, max(stop + WINDOW // 2, len(text) - WINDOW), clear, out)
            if self._tail and self._covered and self._at + self._covered == len(text):
                self._at, self._covered, self._swallow = len(text), 0, self._tail
        if final:
            self._reset()
        else:
            keep = max(0, self._at - 1)
            self._buffer, self._at = text[keep:], self._at - keep
        return out

    def _advance(self, text: bytes, stop: int, clear: int, out: list[bytes]) -> int:
        """Emit everything up to `stop`, and the replacements that begin before it.

        No hit begins from `_at` to `clear`. Returns the next such place: that of the first hit that is not before
        `stop`, or the end of the text.
        """
        find, resolve, most = self._find, self._pass.resolve, self._pass.nested
        done = reach = self._at + self._covered
        last, tail, nested = self._label, self._tail, 0
        clear = max(clear, self._at)
        while clear < stop:
            start, end = find(text, clear)
            if start < 0:
                clear = len(text)
                break
            if start >= stop:
                clear = start
                break
            spans, clear = resolve(text, start, end)
            for start, stretch, label, more in spans:
                if start > done:
                    out += (text[done:start], label)
                elif start == done and label != last:
                    out.append(label)
                elif stretch <= done:
                    continue
                done, last, tail = stretch, label, more
            # Not simply from the end: values may overlap, and then all of them must go.
            if end > reach:
                nested, reach = 0, end
            else:
                nested += 1
                if nested > most:
                    clear = max(clear, reach)
        if done < stop:
            out.append(text[done:stop])
            done, last = stop, None
        self._at, self._covered, self._label, self._tail = stop, done - stop, last, tail
        return clear

    def _after_swallowing(self, chunk: bytes) -> bytes:
        if self._swallow is None or not chunk:
            return chunk
        match = self._swallow.match(chunk)
        eaten = match.end() if match else 0
        if eaten < len(chunk):
            self._swallow = None
        if eaten:
            self._buffer, self._at = chunk[eaten - 1 : eaten], 1
        return chunk[eaten:]

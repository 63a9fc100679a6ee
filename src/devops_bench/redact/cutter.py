"""One pass over a stream that may be cut anywhere: what is decided goes out, what more input could change is held.

The cost is linear in the text, whatever it says: every hit moves the search on, nested hits are passed by, and a block
is all that one search can read in vain.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final, Protocol

from devops_bench.redact.rx import (
    Alt,
    Edge,
    Find,
    Group,
    Pattern,
    Seq,
    cls,
    compile_match,
    compile_pattern,
    compile_unfinished,
    finder,
    first_bytes,
    many,
)
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
        self._compiled: dict[int, tuple[Pattern, Pattern, list[tuple[int, bytes]]]] = {}

    @functools.cached_property
    def scan(self) -> Pattern:
        return compile_match(self._tree)

    @functools.cached_property
    def _unfinished(self) -> Find:
        return finder(compile_unfinished(self._tree))

    @functools.cached_property
    def _by_first_byte(self) -> dict[int, list[int]]:
        firsts = [compile_pattern(first_bytes(shape.tree)) for shape in self._shapes]
        return {
            byte: [index for index, first in enumerate(firsts) if first.match(bytes((byte,)))] for byte in range(128)
        }

    def unfinished(self, text: bytes, at: int) -> int:
        start, _ = self._unfinished(text, at)
        return len(text) if start < 0 else start

    def resolve(self, text: bytes, start: int, end: int) -> tuple[Sequence[Span], int]:
        # With the byte behind the hit: nested shapes that end where this one does are no candidates.
        beyond, _ = self._unfinished(text[start : end + 1], 1)
        return self._spans(text, start, end), end if beyond < 0 else min(end, start + beyond)

    def _spans(self, text: bytes, start: int, end: int) -> list[Span]:
        for index in self._by_first_byte[text[start]]:
            pattern, tail, groups = self._compile(index)
            match = pattern.match(text, start)
            if match is not None and match.end() == end:
                return [(*match.span(number), label, tail) for number, label in groups]
        return []

    def _compile(self, index: int) -> tuple[Pattern, Pattern, list[tuple[int, bytes]]]:
        """A shape with its groups, its tail, and the groups' numbers and labels."""
        done = self._compiled.get(index)
        if done is None:
            shape = self._shapes[index]
            tail = compile_match(many(cls(shape.tail)))
            match shape.tree:
                case Group(name, _) | Seq((Edge(), Group(name, _))):
                    # The whole hit is the secret: RE2 is much faster when it need not find out about groups.
                    done = compile_match(shape.tree), tail, [(0, _label(name))]
                case tree:
                    pattern = compile_match(tree, groups=True)
                    groups = sorted((number, _label(name)) for name, number in pattern.groupindex.items())
                    done = pattern, tail, groups
            self._compiled[index] = done
        return done


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
        clear = self._at
        while True:
            stop = len(text) if final else self._pass.unfinished(text, self._at)
            clear = self._advance(text, stop, clear, out)
            if len(text) - stop <= WINDOW:
                break
            # What begins at `_at` outgrew the window: it is replaced and what follows swallowed, or it is passed by.
            # And so is what begins soon enough after it to have outgrown the window, too.
            clear = self._advance(text, max(stop + WINDOW // 2, len(text) - WINDOW), clear, out)
            if self._tail and self._covered and self._at + self._covered == len(text):
                self._at, self._covered, self._swallow = len(text), 0, self._tail
                break
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
        nested = 0
        while clear < stop:
            start, end = find(text, max(clear, self._at))
            if start < 0:
                clear = len(text)
                break
            if start >= stop:
                clear = start
                break
            spans, clear = resolve(text, start, end)
            for span in spans:
                done = self._replace(text, span, done, out)
            # Not simply from the end: values may overlap, and then all of them must go.
            if end > reach:
                nested, reach = 0, end
            else:
                nested += 1
                if nested > most:
                    clear = max(clear, reach)
        if done < stop:
            out.append(text[done:stop])
            done, self._label = stop, None
        self._at, self._covered = stop, done - stop
        return clear

    def _replace(self, text: bytes, span: Span, done: int, out: list[bytes]) -> int:
        start, end, label, tail = span
        if start > done:
            out += (text[done:start], label)
        elif start == done and label != self._label:
            out.append(label)
        elif end <= done:
            return done
        self._label, self._tail = label, tail
        return end

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

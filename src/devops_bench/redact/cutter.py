"""One pass over a stream that may be cut anywhere: what is decided goes out, what more input could change is held.

The cost is linear in the text, whatever it says: every hit moves the search on, nested hits are passed by, and a block
is all that one search can read in vain. A hit costs as much as a thousand bytes of clean text, so where a text is
little but secrets, or goes on and on with one in every line, stretches of it are replaced as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from devops_bench.redact.rx import Pattern, finder

# What one unfinished match may hold back in a stream: the largest PEM block in use (RSA-16384) has 12.7 KiB.
WINDOW: Final = 16 << 10

# How many bytes more must have been replaced than kept, lately, before a stretch of up to WINDOW is replaced unseen:
# files of keys, dumps of an environment and logs with a secret in every line stay far below.
DENSE: Final = 32 << 10
# How many more before the next one is: what bounds the text that is lost where the secrets end.
_AGAIN: Final = 512
# What one find counts at most: a large key costs no more than a small one, and is to stay a name of its own.
_COUNTED: Final = 512
# How many bytes there must be for each find in the long run, which makes some 100 MB a second; and how many finds more
# there may be: 20 MB of a log with a secret in every line, half a second.
EACH: Final = 768
RESERVE: Final = 100_000 * EACH
# How often a place that nothing crosses is looked for; there is one between any two words.
_TRIES: Final = 16
_UNSEEN: Final = b"[SECRETS]"


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


class Cutter:
    """State of one pass over one stream.

    `_buffer[:_at]` is context (the byte before, for word boundaries); `_buffer[_at:]` is undecided, of which the first
    `_covered` bytes belong to a replacement that is already out (overlapping values), and hits that were found reach
    over the first `_reach`.
    """

    def __init__(self, one: Pass, *later: Pass) -> None:
        """`later`: the passes after this one; a stretch replaced as a whole must not cut their finds in two either."""
        self._pass = one
        self._later = later
        self._find = finder(one.scan)
        self._reset()

    def _reset(self) -> None:
        self._buffer, self._at, self._covered, self._reach = b"", 0, 0, 0
        self._tail: Pattern | None = None
        self._label: bytes | None = None
        self._swallow: Pattern | None = None
        # How many bytes more were replaced than kept, lately. A function of the text alone, as the finds are.
        self._excess = 0
        # How many bytes the finds so far should have had and did not. As much a function of the text alone.
        self._debt = 0

    @property
    def held(self) -> int:
        """Bytes that are undecided now."""
        return max(0, len(self._buffer) - self._at - self._covered)

    def feed(self, chunk: bytes, *, final: bool = False) -> list[bytes]:
        """What is decided, in pieces; with `final` all that is left."""
        text = self._buffer + self._after_swallowing(chunk)
        out: list[bytes] = []
        stop = len(text) if final else self._pass.unfinished(text, self._at)
        clear = self._advance(text, stop, self._at, out, final=final)
        if len(text) - stop > WINDOW:
            # What begins at `stop` outgrew the window: it is replaced and what follows swallowed, or it is passed by.
            # And so is what begins soon enough after it to have outgrown the window, too. The rest waits.
            self._advance(text, max(stop + WINDOW // 2, len(text) - WINDOW), clear, out)
            if self._tail and self._covered and self._at + self._covered == len(text):
                self._at, self._covered, self._reach, self._swallow = len(text), 0, 0, self._tail
        if final:
            self._reset()
        else:
            keep = max(0, self._at - 1)
            self._buffer, self._at = text[keep:], self._at - keep
        return out

    def _advance(self, text: bytes, stop: int, clear: int, out: list[bytes], *, final: bool = False) -> int:
        """Emit everything up to `stop`, and the replacements that begin before it.

        No hit begins from `_at` to `clear`. Returns the next such place: that of the first hit that is not before
        `stop`, or the end of the text.
        """
        find, resolve, most = self._find, self._pass.resolve, self._pass.nested
        done, reach = self._at + self._covered, self._at + self._reach
        last, tail, nested, excess, debt = self._label, self._tail, 0, self._excess, self._debt
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
            if (excess >= DENSE or debt >= RESERVE) and spans and spans[-1][1] > done:
                first = max(done, spans[0][0])
                if excess - (first - done) >= DENSE or debt - (first - done) >= RESERVE:
                    if first + WINDOW > len(text) and not final:
                        clear = stop = start
                        break
                    border, begun = self._border(text, start, min(first + WINDOW, len(text)))
                    if border > first:
                        spans, clear = ((first, border, _UNSEEN, None), *spans), max(clear, begun)
                    excess = min(excess, DENSE - _AGAIN - _COUNTED)
            for start, stretch, label, more in spans:
                if start > done:
                    out += (text[done:start], label)
                    excess -= start - done
                    if excess < 0:
                        excess = 0
                    debt -= start - done
                    if debt < 0:
                        debt = 0
                    done = start
                elif stretch <= done:
                    continue
                elif start == done and label != last:
                    out.append(label)
                excess += min(stretch - done, _COUNTED)
                debt += EACH - (stretch - done)
                if debt < 0:
                    debt = 0
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
            excess = max(0, excess - (stop - done))
            debt = max(0, debt - (stop - done))
            done, last = stop, None
        self._at, self._covered, self._reach = stop, done - stop, max(0, reach - stop)
        self._label, self._tail, self._excess, self._debt = last, tail, excess, debt
        return clear

    def _border(self, text: bytes, start: int, end: int) -> tuple[int, int]:
        """Up to where, at most `end`, a stretch from `start` on may be replaced unseen, and where to go on searching.

        No match of a later pass crosses the border: its rest would not be known for one. One of this pass may: it is
        found from where it begins. The border is `start` if there is none nearby. No match began before `start` that is
        unfinished there.
        """
        context = max(0, start - 1)
        at = start - context
        for _ in range(_TRIES):
            part = text[context:end]
            crossed = context + min((one.unfinished(part, at) for one in self._later), default=len(part))
            if crossed == end:
                return end, context + self._pass.unfinished(part, at)
            end = crossed
        return start, start

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

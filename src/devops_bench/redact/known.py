"""Known values: one pattern that finds them, the label of a find, and where an unfinished one begins at a cut.

The unfinished search does not use the pattern: an automaton of all prefixes of all forms would be five times as large
and take seconds to build. Instead the last bytes are brought to a canonical form, in which all ways of writing a value
are equal, and looked up among the prefixes of the values. It may hold a few bytes too many, never too few.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from devops_bench.redact import forms
from devops_bench.redact.rx import Pattern, compile_heads, compile_pattern, lit, render

_ESCAPE = re.compile(
    rb"\\+u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\+u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\+u(?P<unit>[0-9a-fA-F]{4})|\\+x(?P<hex>[0-9a-fA-F]{2})|\\+(?P<short>[nrtbf])"
    rb"|%(?:25)*(?P<percent>[0-9a-fA-F]{2})|&(?:(?P<name>amp|lt|gt|quot|apos)|#(?P<number>\d\d)|#x(?P<code>[0-9a-fA-F]{2}));"
    rb"|\\{2,}"
)
# An escape that is not yet whole; a high surrogate waits for its low one, a carriage return for its newline.
_CUT_ESCAPE = re.compile(
    rb"(?:\\+u[dD][89abAB][0-9a-fA-F]{2}(?:\\+(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?"
    rb"|\\+(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?|%(?:25)*[0-9a-fA-F]?|&[#a-zA-Z0-9]{0,5}|\r)\Z"
)
_NAMES = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_SHORT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
# A newline may have been written as a backslash and `n`, which no decoding can tell from those two characters.
_PLAIN = bytes.maketrans(b"\n\r\t\b\f+", b"nrtbf ")
_URLSAFE = bytes.maketrans(b"-_", b"+/")
_BACKSLASH = re.compile(rb"[^\\]+")
_FILLED = re.compile(rb"[^\\ \t\r\n]+")
_FIRST_LOOK = 256
# With three bytes of a prefix a candidate is rarely wrong.
_HEAD = 3


class KnownValues:
    """Values by name, in all forms. The order decides which name a shared form gets. Compiled lazily."""

    def __init__(self, named: Mapping[str, str]) -> None:
        """`named` maps each value to its variable's name."""
        self._pieces = [(piece, name) for value, name in named.items() for piece in forms.pieces(value)]
        self._scan: Pattern | None = None
        self._labels: dict[bytes, bytes] = {}
        self._prefixes: set[bytes] = set()
        self._longest = 0
        self._heads: Pattern | None = None

    def pattern(self) -> bytes:
        """What finds them all."""
        ways = [forms.plain_pattern(piece) for piece, _ in self._pieces]
        ways += [form.pattern() for piece, _ in self._pieces for form in forms.base64_forms(forms.raw(piece))]
        return b"|".join(ways)

    @property
    def scan(self) -> Pattern:
        """The compiled pattern."""
        if self._scan is None:
            self._scan = compile_pattern(self.pattern())
        return self._scan

    def label(self, found: bytes) -> bytes:
        """`[NAME]` for a find of `scan`."""
        if not self._labels:
            self._fill_labels()
        views = _Views(found)
        plain, base64 = views.plain[0], views.base64[0]
        core = base64.rstrip(b"=")
        for form in (plain, found, base64, core, core[:-1]):
            label = self._labels.get(form)
            if label is not None:
                return label
        return b"[SECRET]"

    def unfinished(self, text: bytes, at: int) -> int:
        """Where, from `at` on, the leftmost value begins that more input could finish; the end of the text if none."""
        if self._heads is None:
            self._fill_prefixes()
        look = _FIRST_LOOK
        while True:
            low = max(at, len(text) - look)
            views = _Views(text[low:], cut=True)
            # Escapes may make a value longer than the first look.
            if low == at or len(views.base64[0]) > self._longest:
                break
            look *= 2
        start = low + self._search(text[low:], views)
        while start > at and text[start - 1 : start] == b"\\":
            start -= 1
        return start

    def _search(self, tail: bytes, views: _Views) -> int:
        heads, best = self._heads, views.cut
        assert heads is not None
        same = range(len(tail))
        for view, starts in (views.plain, views.base64, (tail, same), (tail.translate(_URLSAFE), same)):
            head = heads.search(view, max(0, len(view) - self._longest))
            while head is not None:
                if view[head.start() :] in self._prefixes:
                    best = min(best, starts[head.start()])
                    break
                head = heads.search(view, head.start() + 1)
        return best

    def _fill_labels(self) -> None:
        for piece, name in self._pieces:
            raw = forms.raw(piece)
            label = f"[{name}]".encode()
            for form in (raw, _Views(raw).plain[0], *(form.core for form in forms.base64_forms(raw))):
                self._labels.setdefault(form, label)

    def _fill_prefixes(self) -> None:
        found = self._prefixes
        for piece, _ in self._pieces:
            raw = forms.raw(piece)
            for whole in (raw, _Views(raw).plain[0]):
                found.update(whole[:length] for length in range(1, len(whole)))
            for form in forms.base64_forms(raw):
                found.update(form.core[:length] for length in range(1, len(form.core)))
                if form.ends:
                    ended = [form.core + bytes((end,)) for end in form.ends]
                    found.update((form.core, *ended, *(one + b"=" for one in ended)))
        self._longest = max(map(len, found))
        firsts = {one[:_HEAD] for one in found if len(one) >= _HEAD}
        self._heads = compile_heads([tuple(render(lit(one[at : at + 1])) for at in range(_HEAD)) for one in firsts])


class _Views:
    """A text with all escapes undone, read as plain text and as base64, each with the places its bytes come from.

    With `cut`, an escape at the end that is not yet whole is left out, and `cut` is where it begins (else the length).
    """

    def __init__(self, text: bytes, *, cut: bool = False) -> None:
        self.cut = len(text)
        starts: list[int] | range = range(len(text))
        while True:
            if cut and (half := _CUT_ESCAPE.search(text)):
                if half[0] != b"\r":
                    self.cut = min(self.cut, starts[half.start()])
                text, starts = text[: half.start()], starts[: half.start()]
            if _ESCAPE.search(text) is None:
                break
            # Again, until nothing is left: escapes may be nested, and a value may itself look like one.
            text, starts = _unescaped(text, starts)
        self.plain = _kept(_BACKSLASH, text.translate(_PLAIN), starts)
        self.base64 = _kept(_FILLED, text.translate(_URLSAFE), starts)


def _kept(wanted: re.Pattern[bytes], text: bytes, starts: Sequence[int]) -> tuple[bytes, Sequence[int]]:
    found = list(wanted.finditer(text))
    if len(found) == 1 and len(found[0][0]) == len(text):
        return text, starts
    kept: list[int] = []
    for one in found:
        kept.extend(starts[one.start() : one.end()])
    return b"".join([one[0] for one in found]), kept


def _unescaped(text: bytes, starts: Sequence[int]) -> tuple[bytes, list[int]]:
    """One level of escapes undone."""
    out, places, at = bytearray(), list[int](), 0
    for escape in _ESCAPE.finditer(text):
        value = _meaning(escape)
        out += text[at : escape.start()] + value
        places.extend(starts[at : escape.start()])
        places += [starts[escape.start()]] * len(value)
        at = escape.end()
    places.extend(starts[at:])
    return bytes(out + text[at:]), places


def _meaning(escape: re.Match[bytes]) -> bytes:
    """What an escape stands for; a run of backslashes stands for one."""
    match escape.lastgroup:
        case "low":
            return bytes.fromhex((escape["high"] + escape["low"]).decode()).decode("utf-16-be").encode()
        case "unit":
            return chr(int(escape["unit"], 16)).encode("utf-8", "surrogatepass")
        case "hex" | "percent" | "code":
            return bytes.fromhex(escape[escape.lastgroup].decode())
        case "number":
            return chr(int(escape["number"])).encode()
        case "short":
            return _SHORT[escape["short"]]
        case "name":
            return _NAMES[escape["name"]]
        case _:
            return b"\\"

"""Known values: one pattern that finds them, the label of a find, and where an unfinished one begins at a cut.

The unfinished search does not use the pattern: an automaton of all prefixes of all forms would be five times as large
and take seconds to build. Instead the last bytes are brought to a canonical form, in which all ways of writing a value
are equal, and looked up among the prefixes of the values. It may hold a few bytes too many, never too few.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Mapping
from typing import Final

from devops_bench.redact import forms
from devops_bench.redact.cutter import Span
from devops_bench.redact.rx import Match, Pattern, compile_pattern, text_end

# Possessive: a long run of backslashes is read once, not once for every way to end it.
_ESCAPE = re.compile(
    rb"\\++u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\++u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    rb"|\\++u(?P<unit>[0-9a-fA-F]{4})|\\++x(?P<hex>[0-9a-fA-F]{2})|\\++(?P<short>[nrtbf])"
    rb"|%(?:25)*(?P<percent>[0-9a-fA-F]{2})|&(?:(?P<name>amp|lt|gt|quot|apos)|#(?P<number>\d\d)|#x(?P<code>[0-9a-fA-F]{2}));"
    rb"|\\{2,}"
)
# An escape that is not yet whole; a high surrogate waits for its low one.
_CUT_BACKSLASHES = (
    rb"\\+u[dD][89abAB][0-9a-fA-F]{2}(?:\\+(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?"
    rb"|\\+(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?"
)
_CUT_OTHER = rb"%(?:25)*[0-9a-fA-F]?|&[#a-zA-Z0-9]{0,5}"
_CUT = b"(?:" + _CUT_BACKSLASHES + b"|" + _CUT_OTHER + b")"
# Some bytes of a character that has more, each whole.
_CUT_CHARACTER = rb"(?:[\x80-\xff]|(?:%(?:25)*|\\+x)[89a-fA-F][0-9a-fA-F]){1,3}"
# Within a value a carriage return may belong to a line end, too. A run of backslashes is tried from its begin only.
_CUT_ESCAPE = re.compile(rb"(?:(?<!\\)(?:" + _CUT_BACKSLASHES + b")|" + _CUT_OTHER + rb"|\r)\Z")
_NAMES = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}
_SHORT = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}
# A newline may have been written as a backslash and `n`, which no decoding can tell from those two characters.
_PLAIN = bytes.maketrans(b"\n\r\t\b\f+", b"nrtbf ")
_URLSAFE = bytes.maketrans(b"-_", b"+/")
_BLANKS = b" \t\r\n\\"
# A near miss is told by its first bytes; only what goes on being a value is read on.
_FIRST_LOOK = 32
# With four characters of a value a candidate is rarely wrong.
_HEAD = 4
# The most bytes that stand for one byte of a value (`\\u0022`, `&quot;`), runs that may be of any length aside.
_WIDEST = 6
_RUN = re.compile(rb"\\+")
_FIRST_TAIL = 512
# Finds whose labels are remembered; few ways of writing a value are in use at a time.
_REMEMBERED = 4096


class KnownPass:
    """Values by name, in all forms. The order decides which name a shared form gets. Compiled lazily."""

    # All: a value is short, and no byte of one may be missed.
    nested: Final = sys.maxsize

    def __init__(self, named: Mapping[str, str]) -> None:
        """`named` maps each value to its variable's name."""
        self._pieces = [(piece, name) for value, name in named.items() for piece in forms.pieces(value)]
        self._scan: Pattern | None = None
        self._labels: dict[bytes, bytes] = {}
        self._found: dict[bytes, bytes] = {}
        self._prefixes: set[bytes] = set()
        self._longest = 0

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

    def spans(self, text: bytes, hit: Match) -> list[Span]:
        """The hit, with the name of its value."""
        start, end = hit.span()
        found = text[start:end]
        label = self._found.get(found)
        if label is None:
            if len(self._found) >= _REMEMBERED:
                self._found.clear()
            label = self._found[found] = self._label(found)
        return [Span(start, end, label)]

    def beyond(self, text: bytes, hit: Match) -> int:
        """The next byte, or the end of a run of backslashes: from anywhere in it, a match reaches equally far."""
        return _after_run(text, hit.start())

    def _label(self, found: bytes) -> bytes:
        if not self._labels:
            self._fill_labels()
        plain, base64 = _views(found)
        core = base64.rstrip(b"=")
        for form in (plain, found, base64, core, core[:-1]):
            label = self._labels.get(form)
            if label is not None:
                return label
        return b"[SECRET]"

    def unfinished(self, text: bytes, at: int) -> int:
        """Where, from `at` on, the leftmost value begins that more input could finish; the end of the text if none."""
        if not self._prefixes:
            self._fill_prefixes()
        at = self._tail(text, at)
        while (head := self._heads.search(text, at)) is not None:
            if self._is_prefix(text, head.start()):
                return head.start()
            at = _after_run(text, head.start())
        return len(text)

    def _tail(self, text: bytes, at: int) -> int:
        """From where on the text is short enough to be one unfinished value: runs that say nothing do not count."""
        size = _FIRST_TAIL
        while len(text) - size > at:
            telling = (
                text[-size:].replace(rb"\n", b"").replace(rb"\r", b"").translate(None, _BLANKS).replace(b"25", b"")
            )
            # Two more: the padding.
            if len(telling) > _WIDEST * (self._longest + 2):
                return len(text) - size
            size *= 2
        return at

    @functools.cached_property
    def _heads(self) -> Pattern:
        """Finds the first characters of a value in any form, fewer at the end of the text."""
        whole: set[bytes] = set()
        begun: set[bytes] = {_CUT}
        for piece, _ in self._pieces:
            for length, char in enumerate(piece[:_HEAD]):
                if len(forms.raw(char)) > 1:
                    begun.add(forms.plain_pattern(piece[:length]) + _CUT_CHARACTER + b"(?:" + _CUT + b")?")
            starts = [forms.plain_pattern, *(form.start for form in forms.base64_forms(forms.raw(piece)))]
            for start in starts:
                whole.add(start(piece[:_HEAD]))
                begun.update(start(piece[:length]) + _CUT + b"?" for length in range(1, _HEAD))
        return compile_pattern(b"|".join([*sorted(whole), b"(?:" + b"|".join(sorted(begun)) + b")" + text_end()]))

    def _is_prefix(self, text: bytes, start: int) -> bool:
        look = _FIRST_LOOK
        while True:
            plain, base64 = _views(text[start : start + look], cut=True)
            if plain not in self._prefixes and base64 not in self._prefixes:
                return False
            if start + look >= len(text):
                return True
            look *= 2

    def _fill_labels(self) -> None:
        for piece, name in self._pieces:
            raw = forms.raw(piece)
            label = f"[{name}]".encode()
            for form in (raw, _views(raw)[0], *(form.core for form in forms.base64_forms(raw))):
                self._labels.setdefault(form, label)

    def _fill_prefixes(self) -> None:
        found = self._prefixes
        for piece, _ in self._pieces:
            raw = forms.raw(piece)
            for whole in (raw, _views(raw)[0]):
                found.update(whole[:length] for length in range(1, len(whole)))
            for form in forms.base64_forms(raw):
                found.update(form.core[:length] for length in range(1, len(form.core)))
                if form.ends:
                    ended = [form.core + bytes((end,)) for end in form.ends]
                    found.update((form.core, *ended, *(one + b"=" for one in ended)))
        # Of half an escape nothing is left, and it may begin any value.
        found.add(b"")
        self._longest = max(map(len, found))


def _after_run(text: bytes, at: int) -> int:
    run = _RUN.match(text, at)
    return run.end() if run else at + 1


def _views(text: bytes, *, cut: bool = False) -> tuple[bytes, bytes]:
    """`text` with all escapes undone, read as plain text and as base64; with `cut` without half an escape at the end.

    Again and again, until nothing is left: escapes may be nested, and a value may itself look like one.
    """
    while True:
        if cut and (half := _CUT_ESCAPE.search(text)):
            text = text[: half.start()]
        decoded = _ESCAPE.sub(_meaning, text)
        if decoded == text:
            return text.translate(_PLAIN, b"\\"), text.translate(_URLSAFE, _BLANKS)
        text = decoded


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

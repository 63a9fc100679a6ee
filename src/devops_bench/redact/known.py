"""Known values: one pattern that finds them, the name of a find, and where an unfinished one begins at a cut."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from devops_bench.redact import forms
from devops_bench.redact.cutter import Span
from devops_bench.redact.rx import Find, Pattern, compile_pattern, finder, has_re2, text_end, which

# Finds that are remembered, and their length (bytes): few ways of writing a value are in use at a time.
_REMEMBERED: Final = 4096
_SHORT: Final = 1024
# RE2 gives up on a pattern with about a million nodes; a service-account file has more. Bytes of one pattern.
_LARGE: Final = 1 << 19


@dataclass(frozen=True, slots=True)
class _Find:
    """What is known about some bytes that were found: nothing that begins before `skip` in them reaches beyond."""

    label: bytes
    skip: int


class KnownPass:
    """Values by name, in all forms. The order decides which name a shared form gets. Compiled lazily."""

    # All: a value is short, and no byte of one may be missed.
    nested: Final = sys.maxsize

    def __init__(self, named: Mapping[str, str]) -> None:
        """`named` maps each value to its variable's name."""
        pairs = [(piece, f"[{name}]".encode()) for value, name in named.items() for piece in forms.pieces(value)]
        self._pieces = [piece for piece, _ in pairs]
        self._base64 = [(form, label) for piece, label in pairs for form in forms.base64_forms(forms.raw(piece))]
        self._labels = [label for _, label in (*pairs, *self._base64)]
        self._found: dict[bytes, _Find] = {}

    @functools.cached_property
    def _ways(self) -> list[bytes]:
        """One pattern for every label."""
        return [*map(forms.plain_pattern, self._pieces), *(form.pattern() for form, _ in self._base64)]

    @functools.cached_property
    def scan(self) -> Pattern:
        """Finds them all."""
        return compile_pattern(b"|".join(self._ways))

    @functools.cached_property
    def _find(self) -> Find:
        return finder(self.scan)

    @functools.cached_property
    def _unfinished(self) -> list[Find]:
        begun = [*map(forms.plain_begun, self._pieces), *(form.begun() for form, _ in self._base64)]
        groups, size = [[b""]], 0
        for one in filter(None, begun):
            size += len(one)
            if size > _LARGE:
                groups, size = [*groups, [b""]], len(one)
            groups[-1].append(one)
        cut = forms.cut(self._pieces) + text_end()
        return [_unfinished(b"(?:" + b"|".join(group[1:]) + b")?" + cut) for group in groups]

    @functools.cached_property
    def _which(self) -> Callable[[bytes], int | None]:
        return which(self._ways)

    def unfinished(self, text: bytes, at: int) -> int:
        """Where, from `at` on, the leftmost value begins that more input could finish; the end of the text if none."""
        return min([find(text, at)[0] for find in self._unfinished])

    def resolve(self, text: bytes, start: int, end: int) -> tuple[Sequence[Span], int]:
        """The hit, with the name of its value. What begins in it and reaches beyond it is unfinished at its end."""
        found = text[start:end]
        known = self._found.get(found) or self._learn(found)
        return ((start, end, known.label, None),), start + known.skip

    def _learn(self, found: bytes) -> _Find:
        index = self._which(found)
        known = _Find(b"[SECRET]" if index is None else self._labels[index], self.unfinished(found, 1))
        if len(self._found) >= _REMEMBERED:
            self._found.clear()
        if len(found) <= _SHORT:
            self._found[found] = known
        return known


def _unfinished(pattern: bytes) -> Find:
    if has_re2():
        return finder(compile_pattern(pattern))
    # `re` would begin anew at every byte of a run of backslashes.
    find = finder(compile_pattern(rb"(?<!\\)" + pattern + b"|" + text_end()))
    return lambda text, at: (at + find(text[at:], 0)[0], len(text))

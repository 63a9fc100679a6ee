"""How one secret value may be written: as it is, URL-encoded, JSON- or shell-escaped, HTML-escaped, base64.

Per character all escapes may be mixed, since encoders differ in what they leave alone. Base64 is matched in all three
alignments (the value may stand anywhere in the encoded text), in both alphabets, with or without padding, and across
the line breaks that `base64` and MIME put in.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Sequence
from dataclasses import dataclass

from devops_bench.redact.rx import Node, alt, cls, lit, many, nocase, one_of, opt, render, seq

# A longer value is matched piece by piece: bounds the memory of a stream, and catches a value that was cut off.
PIECE = 64
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_LEAST_LINE = 20

_BACKSLASHES = many(lit("\\"), 1)
_SHORT_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", "\b": "b", "\f": "f"}
_HTML = {
    "&": alt("&amp;", "&#38;", "&#x26;"),
    "<": alt("&lt;", "&#60;", "&#x3c;", "&#x3C;"),
    ">": alt("&gt;", "&#62;", "&#x3e;", "&#x3E;"),
    '"': alt("&quot;", "&#34;", "&#x22;"),
    "'": alt("&#39;", "&#x27;", "&apos;"),
}
# base64 output is wrapped, perhaps indented, perhaps inside a JSON string.
_WRAP = many(alt(cls(r"\r\n \t"), seq(_BACKSLASHES, cls("nr"))))
_PAD = alt("=", seq("%", many(lit("25")), nocase("3d")), seq(_BACKSLASHES, nocase("u003d")))
# An escape that is not yet whole; a high surrogate waits for its low one.
_CUT_ESCAPE = (
    rb"\\+(?:u[dD][89abAB][0-9a-fA-F]{2}(?:\\+(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?|u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?)?"
    rb"|%(?:25)*[0-9a-fA-F]?|&[#a-zA-Z0-9]{0,5}"
)
# The first bytes of a character that has more, each whole.
_CUT_CHARACTER = rb"(?:(?:[\x80-\xff]|(?:%(?:25)*|\\+x)[89a-fA-F][0-9a-fA-F]){1,3})?"


@dataclass(frozen=True, slots=True)
class Base64:
    """The part of a base64 text that one value decides alone, and what may stand for its last bits."""

    core: bytes
    ends: bytes

    def begun(self) -> bytes:
        """What more input could finish or lengthen, up to the last whole symbol."""
        if not self.ends:
            return _begun([_symbol(symbol, wrap=True) for symbol in self.core[:-1]])
        last = b"(?:" + render(one_of(self._ends())) + render(opt(_PAD)) + b")"
        return _begun([*(_symbol(symbol, wrap=True) for symbol in self.core), last])

    def pattern(self) -> bytes:
        """What to search for. The first, shared character is left alone: it has at most four bits of the value."""
        body = b"".join([_symbol(symbol, wrap=True) for symbol in self.core[:-1]]) + _symbol(self.core[-1], wrap=False)
        if not self.ends:
            return body
        return body + render(opt(seq(_WRAP, one_of(self._ends()), many(_PAD, 0, 2))))

    def _ends(self) -> set[int]:
        urlsafe = {ord("+"): ord("-"), ord("/"): ord("_")}
        return set(self.ends) | {urlsafe[end] for end in self.ends if end in urlsafe}


def values(secret: str, least: int) -> list[str]:
    """The strings to look for: the value, and each long line without spaces of a multi-line one.

    Empty when the value is shorter than `least` characters, which would redact ordinary words.
    """
    stripped = secret.strip()
    if len(stripped) < least:
        return []
    found = [secret, stripped]
    if "\n" in stripped:
        lines = (line.strip() for line in stripped.splitlines())
        found += [line for line in lines if len(line) >= max(least, _LEAST_LINE) and " " not in line]
    return list(dict.fromkeys(found))


def pieces(value: str) -> list[str]:
    """Equal pieces of about PIECE characters."""
    count = 1 if len(value) <= PIECE * 3 // 2 else -(-len(value) // PIECE)
    size = -(-len(value) // count)
    return [value[at : at + size] for at in range(0, len(value), size)]


def raw(text: str) -> bytes:
    """The bytes of a value; `os.environ` carries bytes that are no UTF-8 as lone surrogates."""
    escaped = any("\udc80" <= char <= "\udcff" for char in text)
    return text.encode("utf-8", "surrogateescape" if escaped else "surrogatepass")


def plain_pattern(piece: str) -> bytes:
    """The pattern of a piece with every character as it is or escaped."""
    return b"".join([_character(char) for char in piece])


def plain_begun(piece: str) -> bytes:
    """What more input could turn into `plain_pattern`, up to the last whole character."""
    return _begun([_character(char) for char in piece[:-1]])


def cut(pieces: Sequence[str]) -> bytes:
    """What may follow such a beginning, or stand alone, where a text is cut: a part of one character, if anything."""
    text = "".join(pieces)
    line_end = rb"|\r" if "\n" in text else b""
    character = b"" if text.isascii() else _CUT_CHARACTER
    return character + b"(?:" + _CUT_ESCAPE + line_end + b")?"


def _begun(parts: list[bytes]) -> bytes:
    """One or more of the first of `parts`: they are nested, so that the pattern is no longer than all of them."""
    found = b""
    for part in reversed(parts):
        found = part + (b"(?:" + found + b")?" if found else b"")
    return found


def base64_forms(piece: bytes) -> list[Base64]:
    """A piece in base64 after 0, 1 or 2 bytes of something else."""
    found = []
    for shift in range(3):
        bits = 8 * (shift + len(piece))
        encoded = base64.b64encode(b"\0" * shift + piece + b"\0" * (-(shift + len(piece)) % 3))
        first, last, rest = -(-8 * shift // 6), bits // 6, bits % 6
        ends = b""
        if rest:
            high = _ALPHABET.index(encoded[last]) >> (6 - rest) << (6 - rest)
            ends = _ALPHABET[high : high + (1 << (6 - rest))]
        found.append(Base64(encoded[first:last], ends))
    return found


@functools.cache
def _character(char: str) -> bytes:
    encoded = raw(char)
    plain = lit(encoded)
    if char == "\\":
        plain = _BACKSLASHES
    elif char in "\"'/":
        plain = seq(many(lit("\\")), plain)
    # Escapes first: of `%25` and `&amp;` the plain way would take the first byte and leave the rest.
    ways = [seq(*(seq("%", many(lit("25")), nocase(f"{byte:02x}")) for byte in encoded))]
    if len(encoded) == 1 and encoded[0] < 128:
        ways.append(seq(_BACKSLASHES, alt("u00", "x"), nocase(encoded.hex())))
    else:
        utf16 = char.encode("utf-16-be", "surrogatepass")
        units = (utf16[at : at + 2].hex() for at in range(0, len(utf16), 2))
        ways.append(seq(*(seq(_BACKSLASHES, "u", nocase(unit)) for unit in units)))
        ways.append(seq(*(seq(_BACKSLASHES, "x", nocase(f"{byte:02x}")) for byte in encoded)))
    if char in _SHORT_ESCAPES:
        ways.append(seq(_BACKSLASHES, _SHORT_ESCAPES[char]))
    if char == "\n":
        ways.append(lit("\r\n"))
    if char == " ":
        ways.append(lit("+"))
    if char in _HTML:
        ways.append(_HTML[char])
    return render(alt(*ways, plain))


@functools.cache
def _symbol(symbol: int, *, wrap: bool) -> bytes:
    node: Node = one_of((symbol,))
    if symbol == ord("+"):
        node = alt(cls(r"+\-"), seq("%", many(lit("25")), nocase("2b")), seq(_BACKSLASHES, nocase("u002b")))
    elif symbol == ord("/"):
        escaped = seq(_BACKSLASHES, alt("/", nocase("u002f")))
        node = alt("_", "/", escaped, seq("%", many(lit("25")), nocase("2f")))
    return render(seq(node, _WRAP) if wrap else node)

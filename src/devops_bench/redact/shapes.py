"""Well-known shapes of credentials, for secrets whose value nobody told us: what an agent finds, makes or prints.

A shape is a tree with named groups; a group is what gets replaced, and its name (with `-` for `_`) is the label. What
surrounds the groups (`client-key-data: `) stays readable. The loose shapes ask for a digit: a value without any is a
word.
Sources: the vendors' documented key formats, RFC 6750, 7519 and 7468, and the kubeconfig schema.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass

from devops_bench.redact.rx import Edge, Group, Node, alt, cls, lit, many, nocase, opt, seq

_URLSAFE = r"A-Za-z0-9_\-"
_BASE64 = r"A-Za-z0-9+/"


@dataclass(frozen=True, slots=True)
class Shape:
    """One shape. `tail` is the class (inside of brackets) that a match longer than a stream's window goes on with."""

    tree: Node
    tail: str = _URLSAFE


def _g(name: str, *parts: Node | str) -> Node:
    return Group(name, seq(*parts))


def _with_digit(members: str, least: int) -> Node:
    """At least `least` bytes of a class that has the digits, of which one is a digit.

    Said by the place of the first digit, so that near misses cost the automaton nothing: no hit has to be looked at.
    """
    words, digit = cls(members.replace("0-9", "")), cls("0-9")
    ways = [seq(many(words, at, at), digit, many(cls(members), least - 1 - at)) for at in range(least - 1)]
    return alt(*ways, seq(many(words, least - 1), digit, many(cls(members))))


_SPACE = many(cls(r" \t"), 0, 8)
_QUOTE = opt(seq(many(lit("\\")), cls("\"'")))
_SEPARATOR = seq(_QUOTE, _SPACE, cls(":="), _SPACE, _QUOTE)
_BREAK = alt(cls(r" \t\r\n"), seq(many(lit("\\"), 1), cls("nrt")))
_LINE = seq(many(cls(_BASE64), 16), many(lit("="), 0, 2))
_SHORT_LINE = seq(many(_BREAK, 1), many(cls(_BASE64), 1, 15), many(lit("="), 0, 2))
_PEM_LABEL = many(cls("A-Z0-9 "), 0, 24)
_PEM_HEADER = seq(many(_BREAK, 1), cls("A-Z"), many(cls(r"A-Za-z\-"), 2), ": ", many(cls("A-Za-z0-9, -"), 1))

_PEM = _g(
    "private_key",
    seq("-----BEGIN ", _PEM_LABEL, "PRIVATE KEY", opt(lit(" BLOCK")), "-----"),
    many(_PEM_HEADER, 0, 4),
    # A break before every further line, or `re` would try all ways to cut one line in two.
    many(_BREAK),
    _LINE,
    many(seq(many(_BREAK, 1), _LINE)),
    opt(_SHORT_LINE),
    opt(seq(many(_BREAK), "-----END ", _PEM_LABEL, "PRIVATE KEY", opt(lit(" BLOCK")), "-----")),
)


def _encoded_pem() -> Node:
    """The first bytes of a private key block in base64, as in a Secret or a kubeconfig."""
    labels = ("", "RSA ", "EC ", "DSA ", "OPENSSH ", "ENCRYPTED ")
    heads = {base64.b64encode(f"-----BEGIN {label}PRIVATE KEY-----".encode())[:32].decode() for label in labels}
    return _g("private_key", alt(*sorted(heads)), many(cls(_BASE64), 16), many(lit("="), 0, 2))


_CREDENTIAL = r"A-Za-z0-9._~+/\-"
_B64TOKEN = _CREDENTIAL + "="


def _credential(least: int, *, digit: bool = True) -> Node:
    """RFC 6750's b64token."""
    return seq(_with_digit(_CREDENTIAL, least) if digit else many(cls(_CREDENTIAL), least), many(lit("="), 0, 2))


def _names(names: str) -> Node:
    return alt(*(nocase(name) for name in names.split()))


_HEADER_NAMES = "authorization x-goog-api-key x-api-key x-auth-token"
_AWS_NAMES = "aws_secret_access_key secret_access_key secretaccesskey aws_secret_key"
_SCHEME = seq(_names("bearer basic token"), many(cls(r" \t"), 1, 8))
_TOKEN_NAMES = "id-token id_token access-token access_token refresh-token refresh_token auth-token auth_token token"  # noqa: S105
_KEY_NAMES = f"client-key-data {_HEADER_NAMES} {_AWS_NAMES} {_TOKEN_NAMES}".split()
_AWS_ID = seq(Edge(), Group("aws_access_key_id", seq(alt("AKIA", "ASIA"), many(cls("A-Z0-9"), 16, 16))), Edge())
_AWS_SECRET = Group("aws_secret_access_key", many(cls(_BASE64), 40, 40))
_AWS_GAP = seq(
    many(cls(r" \t\r\n,;:=|\"'\\"), 1, 12),
    opt(seq(many(cls(r"A-Za-z_\-"), 1, 32), many(cls(r" \t,;:=|\"'\\"), 1, 12))),
)

SHAPES: tuple[Shape, ...] = (
    Shape(_PEM, tail=r"A-Za-z0-9+/=\s\\\-"),
    Shape(seq(Edge(), _encoded_pem()), tail=_BASE64 + "="),
    Shape(
        seq(
            Edge(),
            _g(
                "jwt",
                "eyJ",
                many(cls(_URLSAFE), 8),
                ".eyJ",
                many(cls(_URLSAFE), 6),
                ".",
                many(cls(_URLSAFE)),
                many(seq(".", many(cls(_URLSAFE), 1)), 0, 2),
            ),
        ),
        tail=_URLSAFE + ".",
    ),
    Shape(seq(Edge(), _g("jwt", "ZXlK", many(cls(_BASE64), 60), many(lit("="), 0, 2))), tail=_BASE64 + "="),
    Shape(seq(Edge(), _g("google_api_key", "AIza", many(cls(_URLSAFE), 33)))),
    Shape(seq(Edge(), _g("google_oauth_token", "ya29.", many(cls(_URLSAFE + "."), 20))), tail=_URLSAFE + "."),
    Shape(seq(Edge(), _g("anthropic_api_key", "sk-ant-", many(cls(_URLSAFE), 16)))),
    Shape(seq(Edge(), _g("openai_api_key", "sk-", _with_digit(_URLSAFE, 20)))),
    Shape(seq(Edge(), _g("github_token", "gh", cls("pousr"), "_", many(cls("A-Za-z0-9"), 30))), tail="A-Za-z0-9"),
    Shape(seq(Edge(), _g("github_token", "github_pat_", many(cls("A-Za-z0-9_"), 30))), tail="A-Za-z0-9_"),
    Shape(seq(Edge(), _g("gitlab_token", "glpat-", many(cls(_URLSAFE), 20)))),
    Shape(
        seq(Edge(), _g("slack_token", "xox", cls("abeoprs"), "-", many(cls(r"A-Za-z0-9\-"), 10))), tail=r"A-Za-z0-9\-"
    ),
    Shape(seq(_AWS_ID, _AWS_GAP, _AWS_SECRET, Edge())),
    Shape(_AWS_ID),
    Shape(seq(_names(_AWS_NAMES), _SEPARATOR, _AWS_SECRET)),
    Shape(
        seq(nocase("client-key-data"), _SEPARATOR, _g("client_key_data", many(cls(_BASE64), 16), many(lit("="), 0, 2))),
        tail=_BASE64 + "=",
    ),
    Shape(
        seq(_names(_HEADER_NAMES), _SEPARATOR, _SCHEME, _g("authorization", _credential(8, digit=False))),
        tail=_B64TOKEN,
    ),
    Shape(seq(_names(_HEADER_NAMES), _SEPARATOR, _g("authorization", _credential(12))), tail=_B64TOKEN),
    Shape(seq(Edge(), _SCHEME, _g("bearer_token", _credential(20))), tail=_B64TOKEN),
    Shape(seq(Edge(), _names(_TOKEN_NAMES), _SEPARATOR, _g("token", _credential(16))), tail=_B64TOKEN),
)

# A mapping's key that gives its value away: `obj` looks at the pair as if it stood on one line.
TELLING_KEYS = frozenset(_KEY_NAMES)

"""Known secrets vanish in every form they may be written in."""

from __future__ import annotations

import base64
import html
import json
import random
import urllib.parse

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from devops_bench.redact import Redactor, is_secret_name

SECRET = 'p@ss"w/ord\\+ü😀-Zz09'
# Words of what surrounds a secret; none can be part of one, so that the expected text is exact.
PAD = st.text(alphabet="<>,;| \n", max_size=12)
SECRETS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="<>,;| \n\r\t\x00"), min_size=8, max_size=60)


def unicode_escaped(text: str) -> str:
    units = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


ENCODERS = {
    "raw": lambda s: s,
    "url": lambda s: urllib.parse.quote(s, safe=""),
    "url lower": lambda s: "".join(f"%{b:02x}" for b in s.encode()),
    "url twice": lambda s: urllib.parse.quote(urllib.parse.quote(s, safe=""), safe=""),
    "form": urllib.parse.quote_plus,
    "json": lambda s: json.dumps(s)[1:-1],
    "json utf-8": lambda s: json.dumps(s, ensure_ascii=False)[1:-1],
    "json in json": lambda s: json.dumps(json.dumps(s))[3:-3],
    "json three deep": lambda s: json.dumps(json.dumps(json.dumps(s)))[7:-7],
    "json slashes": lambda s: json.dumps(s)[1:-1].replace("/", "\\/"),
    "unicode escapes": unicode_escaped,
    "unicode escapes upper": lambda s: unicode_escaped(s).upper().replace("\\U", "\\u"),
    "html": html.escape,
}


@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS.keys())
def test_an_encoded_secret_becomes_its_name(encoder) -> None:
    redactor = Redactor({"AGENT_API_KEY": SECRET})
    assert redactor.text(f"<{encoder(SECRET)}>") == "<[AGENT_API_KEY]>"


@given(secret=SECRETS, encoder=st.sampled_from(list(ENCODERS.values())), before=PAD, after=PAD)
@settings(max_examples=300, deadline=None)
def test_any_secret_in_any_escaping_becomes_its_name(secret, encoder, before, after) -> None:
    if secret.strip() != secret:
        return
    encoded = encoder(secret)
    assert Redactor({"KEY": secret}).text(before + encoded + after) == f"{before}[KEY]{after}"


@given(
    secret=st.binary(min_size=9, max_size=200).map(lambda b: base64.b32encode(b).decode()),
    before=st.binary(max_size=7),
    after=st.binary(max_size=7),
    urlsafe=st.booleans(),
    padded=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_base64_of_a_text_around_a_secret_decodes_to_nothing_of_it(secret, before, after, urlsafe, padded) -> None:
    encode = base64.urlsafe_b64encode if urlsafe else base64.b64encode
    encoded = encode(before + secret.encode() + after).decode()
    encoded = encoded if padded else encoded.rstrip("=")
    shown = Redactor({"KEY": secret}).text(f"data: {encoded}\n")
    assert "[KEY]" in shown
    left = shown.removeprefix("data: ").removesuffix("\n").split("[KEY]")
    assert len(left) == 2
    # What is left are the neighbours and at most the symbol that they share with the secret.
    assert len(left[0]) <= -(-8 * len(before) // 6)
    assert len(left[1].rstrip("=")) <= -(-8 * len(after) // 6)


@pytest.mark.parametrize("width", [20, 57, 64, 76])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\n      ", "\\n", "\\\\n"])
@pytest.mark.parametrize("shift", [0, 1, 2])
def test_wrapped_base64_is_found_across_its_lines(width, line_end, shift) -> None:
    secret = "sk-" + "".join(random.Random(width).choices("abcdefghijklmnopqrstuvwxyzABCDEF0123456789", k=101))
    encoded = base64.b64encode(b"x" * shift + b"A" * 30 + secret.encode() + b"tail").decode()
    wrapped = line_end.join(encoded[at : at + width] for at in range(0, len(encoded), width))
    shown = Redactor({"KEY": secret}).text(wrapped)
    assert shown.count("[KEY]") == 1
    core = base64.b64encode(b"x" * shift + b"A" * 30 + secret.encode()).decode()[56:-6]
    assert not any(core[at : at + 6] in shown for at in range(len(core) - 6))


def test_url_encoded_base64_is_found() -> None:
    secret = "\xff\xfe~~~???>>>secret-\xfb"
    encoded = urllib.parse.quote(base64.b64encode(secret.encode()).decode(), safe="")
    assert "%2F" in encoded or "%2B" in encoded
    assert Redactor({"KEY": secret}).text(encoded) == "[KEY]"


def test_a_long_value_is_one_name_and_its_first_half_alone_is_hidden_too() -> None:
    secret = "".join(random.Random(7).choices("abcdefghijklmnopqrstuvwxyz0123456789", k=900))
    redactor = Redactor({"KEY": secret})
    assert redactor.text(f"a {secret} b") == "a [KEY] b"
    assert redactor.text(f"a {secret[:450]}").startswith("a [KEY]")


def test_each_long_line_of_a_multi_line_value_is_hidden() -> None:
    lines = [random.Random(seed).randbytes(30).hex() for seed in range(3)]
    redactor = Redactor({"CERT_SECRET": "\n".join(lines)})
    assert redactor.text("\n".join(lines)) == "[CERT_SECRET]"
    assert redactor.text(f"  | {lines[1]} |") == "  | [CERT_SECRET] |"


def test_short_values_are_left_alone() -> None:
    assert Redactor({"A_TOKEN": "1234567"}).text("1234567") == "1234567"
    assert Redactor({"A_TOKEN": "1234567"}, least=7).text("1234567") == "[A_TOKEN]"
    assert Redactor({"A_TOKEN": "   x    "}).text("a    x    b") == "a    x    b"


def test_overlapping_secrets_leave_no_part_of_either() -> None:
    redactor = Redactor({"A": "aaaa-bbbb", "B": "bbbb-cccc", "C": "bbbb-cccc-and-more"})
    assert redactor.text("aaaa-bbbb-cccc.") == "[A]."
    assert redactor.text("bbbb-cccc-and-more.") == "[C]."
    assert redactor.text("bbbb-cccc-and.") == "[B]-and."


def test_a_key_shape_next_to_a_secret_cannot_save_half_of_it() -> None:
    redactor = Redactor({"PW": "hunter2hunter2hunter2!rest-of-it"})
    assert redactor.text("token: hunter2hunter2hunter2!rest-of-it") == "token: [PW]"


def test_bytes_that_are_no_text_pass_unchanged() -> None:
    noise = bytes(range(256)) * 3
    redactor = Redactor({"KEY": "0123456789abcdef-key"})
    assert redactor.data(noise) is noise
    assert redactor.text("\udcff broken \ud800") == "\udcff broken \ud800"


def test_an_undecodable_value_is_found_as_bytes() -> None:
    value = b"\xff\xfe-secret-\x80".decode("utf-8", "surrogateescape")
    assert Redactor({"KEY": value}).data(b"<\xff\xfe-secret-\x80>") == b"<[KEY]>"


def test_structures_keep_their_shape_and_their_keys_are_redacted() -> None:
    secret = "value-of-the-key"
    redactor = Redactor({"KEY": secret})
    value = {
        "a": [1, None, True, (secret, 2.5)],
        secret: {"x": f"-{secret}-"},
        f"{secret}!": b"value-of-the-key",
        3: "ok",
    }
    assert redactor.obj(value) == {
        "a": [1, None, True, ("[KEY]", 2.5)],
        "[KEY]": {"x": "-[KEY]-"},
        "[KEY]!": b"[KEY]",
        3: "ok",
    }


def test_keys_that_become_equal_stay_apart() -> None:
    redactor = Redactor({"KEY": "value-of-the-key"})
    encoded = base64.b64encode(b"value-of-the-key").decode()
    assert redactor.obj({"value-of-the-key": 1, encoded: 2}) == {"[KEY]": 1, "[KEY]#2": 2}


def test_a_telling_key_hides_its_value() -> None:
    value = {
        "users": [
            {"name": "x", "user": {"client-key-data": "QUJDREVGR0hJSktMTU5PUA==", "token": "abcdef.0123456789abcd"}}
        ]
    }
    user = Redactor({}).obj(value)["users"][0]["user"]
    assert user == {"client-key-data": "[client-key-data]", "token": "[token]"}


def test_the_environment_gives_the_secrets_and_a_shared_value_its_first_name() -> None:
    env = {
        "AGENT_API_KEY": "shared-key-value",
        "GEMINI_API_KEY": "shared-key-value",
        "MY_DB_PASSWORD": "correct-horse",
        "HOME": "/home/someone-long",
        "GITHUB_TOKEN": "tok-tok-tok-tok",
        "GOOGLE_CLOUD_API_KEY": "gcp-vertex-credentials",
        "OPENAI_API_KEY": "",
    }
    redactor = Redactor.from_env(env, also={"EXTRA": "from-the-file"})
    shown = redactor.text(
        "shared-key-value correct-horse /home/someone-long tok-tok-tok-tok gcp-vertex-credentials from-the-file"
    )
    assert shown == "[GEMINI_API_KEY] [MY_DB_PASSWORD] /home/someone-long [GITHUB_TOKEN] gcp-vertex-credentials [EXTRA]"


@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("AGENT_API_KEY", True),
        ("X_TOKEN", True),
        ("CLIENT_SECRET", True),
        ("PGPASSWORD", True),
        ("AWS_SECRET_ACCESS_KEY", True),
        ("TOKEN", True),
        ("TOKEN_FILE", False),
        ("MAX_TOKENS", False),
        ("PATH", False),
        ("MONKEY", False),
    ],
)
def test_secret_variables_are_told_by_name(name, secret) -> None:
    assert is_secret_name(name) is secret

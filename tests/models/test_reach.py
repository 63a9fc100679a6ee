"""Which wire format leads from an agent to a provider; none is an error before anything runs."""

from __future__ import annotations

import pytest

from devops_bench.errors import ConfigError
from devops_bench.models.reach import wire_between

API = ("google", "anthropic", "openai", "openai-responses")
CLAW = ("google", "openai", "anthropic")


@pytest.mark.parametrize(
    ("wires", "provider", "told", "wire"),
    [
        (("google",), "google", None, "google"),
        (("google",), "vertex", "vertex", "google"),
        (("anthropic",), "scripted", None, "anthropic"),
        (CLAW, "scripted", None, "google"),
        (CLAW, "scripted", "anthropic", "anthropic"),
        (CLAW, "anthropic", None, "anthropic"),
        (("openai-responses",), "openai", None, "openai-responses"),
        (API, "openai", None, "openai"),
        (API, "openai-responses", "openai-responses", "openai-responses"),
        (API, "openai-compatible", "openai-compatible", "openai"),
    ],
)
def test_the_wire_that_both_have(wires: tuple[str, ...], provider: str, told: str | None, wire: str) -> None:
    assert wire_between("x", wires, provider, told) == wire


def test_none_in_common_names_the_providers_that_would_do() -> None:
    with pytest.raises(ConfigError) as caught:
        wire_between("claude", ("anthropic",), "google")
    assert caught.value.message() == (
        "agent claude cannot reach a model of provider google; choose a model of anthropic, or another agent"
    )

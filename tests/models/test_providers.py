"""Which provider a model id means, and where its key and base URL come from."""

from __future__ import annotations

import pytest

from devops_bench.errors import ConfigError
from devops_bench.models.prices import cost_usd
from devops_bench.models.providers import bare, key_names, provider_of, resolve


@pytest.mark.parametrize(
    ("model", "explicit", "provider"),
    [
        ("gemini-3.1-pro", None, "google"),
        ("models/gemini-3.1-pro", None, "google"),
        ("claude-opus-5", None, "anthropic"),
        ("gpt-5", None, "openai"),
        ("o3", None, "openai"),
        ("o4-mini", None, "openai"),
        ("codex-mini-latest", None, "openai"),
        ("scripted:solver", None, "scripted"),
        ("scripted:solver", "anthropic", "scripted"),
        ("anthropic/claude-opus-5", None, "anthropic"),
        ("google/gemini-3.1-pro", None, "google"),
        ("openai:gpt-5", None, "openai"),
        ("google-vertex:gemini-3.1-pro", None, "vertex"),
        ("qwen3:8b", "openai-compatible", "openai-compatible"),
        ("meta-llama/Llama-4", "openai-compatible", "openai-compatible"),
        ("gpt-5", "openai-responses", "openai-responses"),
        ("gemini-3.1-pro", "Gemini", "google"),
    ],
)
def test_the_provider_is_told(model: str, explicit: str | None, provider: str) -> None:
    assert provider_of(model, explicit) == provider


@pytest.mark.parametrize("model", ["qwen3:8b", "meta-llama/Llama-4", "olympus-1", "ollama/x", ""])
def test_an_id_that_tells_nothing_has_the_default_provider(model: str) -> None:
    assert provider_of(model) == "google"


def test_an_unknown_provider_is_an_error_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean anthropic"):
        provider_of("x", "antropic")


@pytest.mark.parametrize(
    ("model", "provider", "expected"),
    [
        ("anthropic/claude-opus-5", "anthropic", "claude-opus-5"),
        ("google/gemini-3.1-pro", "vertex", "gemini-3.1-pro"),
        ("openai/gpt-5", "openai-responses", "gpt-5"),
        ("openai/gpt-oss", "openai-compatible", "gpt-oss"),
        ("meta-llama/Llama-4", "openai-compatible", "meta-llama/Llama-4"),
        ("anthropic/claude-opus-5", "openai-compatible", "anthropic/claude-opus-5"),
        ("qwen3:8b", "openai-compatible", "qwen3:8b"),
    ],
)
def test_only_a_prefix_that_names_the_provider_is_taken_off(model: str, provider: str, expected: str) -> None:
    assert bare(model, provider) == expected


def test_the_first_key_that_is_set_counts() -> None:
    env = {
        "AGENT_API_KEY": " ",
        "GOOGLE_API_KEY": "second",
        "GOOGLE_GENAI_API_KEY": "third",
        "GEMINI_BASE_URL": "http://x",
    }
    found = resolve("gemini-3.1-pro", None, env)
    assert (found.key, found.key_name, found.base_url) == ("second", "GOOGLE_API_KEY", "http://x")
    assert "second" not in repr(found)
    assert resolve("gemini-3.1-pro", None, {**env, "JUDGE_API_KEY": "own"}, own="JUDGE_API_KEY").key == "own"


def test_a_missing_key_names_the_variables() -> None:
    with pytest.raises(ConfigError, match="set AGENT_API_KEY or ANTHROPIC_API_KEY"):
        resolve("claude-opus-5", None, {"OPENAI_API_KEY": "x"})


def test_a_server_of_ones_own_needs_its_url_but_no_key() -> None:
    with pytest.raises(ConfigError, match="set OPENAI_COMPATIBLE_BASE_URL"):
        resolve("qwen3:8b", "openai-compatible", {})
    found = resolve("qwen3:8b", "openai-compatible", {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1"})
    assert (found.model, found.base_url, found.key) == ("qwen3:8b", "http://127.0.0.1:11434/v1", None)


def test_ambient_credentials_need_no_key() -> None:
    found = resolve("gemini-3.1-pro", None, {"GOOGLE_GENAI_USE_VERTEXAI": "true"})
    assert (found.provider, found.key) == ("vertex", None)
    assert key_names("vertex") == ()


def test_a_known_price_is_a_price_and_cached_tokens_are_cheaper() -> None:
    full = cost_usd("gemini-2.5-flash", "google", input=100_000, output=1000)
    cached = cost_usd("gemini-2.5-flash", "google", input=100_000, output=1000, cached=90_000)
    assert full and cached and 0 < cached < full
    assert cost_usd("gemini-2.5-flash", "vertex", input=100_000, output=1000) == full


@pytest.mark.parametrize(
    ("model", "provider"),
    [("no-such-model", "google"), ("scripted:x", "scripted"), ("llama", "openai-compatible"), ("", "openai")],
)
def test_an_unknown_price_is_none_and_never_zero(model: str, provider: str) -> None:
    assert cost_usd(model, provider, input=1000, output=1000) is None


def test_unknown_usage_has_no_price() -> None:
    assert cost_usd("gemini-2.5-flash", "google", input=None, output=None) is None

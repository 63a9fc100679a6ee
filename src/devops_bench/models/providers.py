"""The providers of models: which one a model id means, and the variables that hold its key and base URL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from devops_bench.errors import ConfigError
from devops_bench.tasks.suggest import did_you_mean

SCRIPTED_PREFIX = "scripted:"


@dataclass(frozen=True, slots=True)
class Provider:
    """One provider. `keys` and `base_urls` are names of variables, the first that is set counts.

    `keyless`: works without a key (ambient cloud credentials, a server of one's own, a script).
    """

    name: str
    keys: tuple[str, ...] = ()
    base_urls: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    keyless: bool = False
    needs_base_url: bool = False


_OPENAI_URLS = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
_GOOGLE_URLS = ("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL")

PROVIDERS: Mapping[str, Provider] = {
    one.name: one
    for one in (
        Provider(
            "google", ("GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_API_KEY"), _GOOGLE_URLS,
            ("gemini", "google-gla"),
        ),
        Provider("vertex", (), ("GOOGLE_VERTEX_BASE_URL",), ("google-vertex", "vertexai"), keyless=True),
        Provider("openai", ("OPENAI_API_KEY",), _OPENAI_URLS, ("openai-chat",)),
        Provider("openai-responses", ("OPENAI_API_KEY",), _OPENAI_URLS),
        Provider("anthropic", ("ANTHROPIC_API_KEY",), ("ANTHROPIC_BASE_URL",), ("claude",)),
        Provider(
            "openai-compatible", ("OPENAI_COMPATIBLE_API_KEY", "OPENAI_API_KEY"),
            ("OPENAI_COMPATIBLE_BASE_URL", *_OPENAI_URLS), ("compatible",), keyless=True, needs_base_url=True,
        ),
        Provider("scripted", keyless=True),
    )
}  # fmt: skip
_ALIASES = {alias: one.name for one in PROVIDERS.values() for alias in (one.name, *one.aliases)}
# What a bare model id tells; the vendors' own naming.
_TOLD_BY_ID: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"gemini|gemma|learnlm"), "google"),
    (re.compile(r"claude"), "anthropic"),
    (re.compile(r"gpt-|chatgpt|o\d+(-|$)|codex|computer-use"), "openai"),
)

DEFAULT = "google"


@dataclass(frozen=True, slots=True)
class Resolved:
    """Where a model is found. `model` has no provider prefix; `key_name` is the variable the key came from."""

    provider: str
    model: str
    base_url: str | None = None
    key: str | None = field(default=None, repr=False)
    key_name: str | None = None


def provider_of(model: str, explicit: str | None = None) -> str:
    """The provider of a model id: `scripted:` before all, then what the user told, a `provider/` prefix, the id itself.

    When none of them tells it is DEFAULT, as AGENT_PROVIDER's default says. ConfigError for an unknown provider.
    """
    if is_scripted(model):
        return "scripted"
    if explicit:
        return named(explicit)
    prefix, _, rest = _split(model)
    if prefix is not None:
        return prefix
    for pattern, provider in _TOLD_BY_ID:
        if pattern.match(rest.lower()):
            return provider
    return DEFAULT


def provider_in(model: str, explicit: str | None, env: Mapping[str, str]) -> str:
    """As `provider_of`, but `vertex` where `env` sends Google's models through it."""
    provider = provider_of(model, explicit)
    through = env.get("GOOGLE_GENAI_USE_VERTEXAI", "").strip().lower() in {"1", "true"}
    return "vertex" if provider == "google" and through else provider


def named(provider: str) -> str:
    """The canonical name of a provider given by name or alias. Raises ConfigError with the nearest."""
    found = _ALIASES.get(provider.strip().lower())
    if found is None:
        raise ConfigError(f"unknown provider {provider!r}", fix=did_you_mean(provider, PROVIDERS))
    return found


def is_scripted(model: str) -> bool:
    """True for `scripted:NAME`."""
    return model.startswith(SCRIPTED_PREFIX)


def bare(model: str, provider: str) -> str:
    """The model id as its provider knows it: without a prefix that only names this provider."""
    prefix, _, rest = _split(model)
    same = prefix is not None and (prefix == provider or {prefix, provider} <= {"google", "vertex"})
    return rest if same or (prefix is not None and provider.startswith(prefix)) else model


def key_names(provider: str, own: str = "AGENT_API_KEY") -> tuple[str, ...]:
    """The variables that may hold the key, in order; `own` is the one for this role (AGENT_API_KEY, JUDGE_API_KEY)."""
    found = PROVIDERS[provider]
    return (own, *found.keys) if found.keys else ()


def resolve(model: str, explicit: str | None, env: Mapping[str, str], *, own: str = "AGENT_API_KEY") -> Resolved:
    """Everything a client needs to reach `model`.

    Raises ConfigError when the provider is unknown, or its key or base URL is missing; only names are shown.
    """
    provider = provider_in(model, explicit, env)
    found = PROVIDERS[provider]
    names = key_names(provider, own)
    key_name = next((name for name in names if env.get(name, "").strip()), None)
    base_url = next((env[name].strip() for name in found.base_urls if env.get(name, "").strip()), None)
    if key_name is None and not found.keyless:
        raise ConfigError(f"no key for provider {provider} (model {model})", fix=f"set {' or '.join(names)}")
    if base_url is None and found.needs_base_url:
        raise ConfigError(f"no base URL for provider {provider} (model {model})", fix=f"set {found.base_urls[0]}")
    key = env[key_name].strip() if key_name is not None else None
    return Resolved(provider, bare(model, provider), base_url, key, key_name)


def _split(model: str) -> tuple[str | None, str, str]:
    """Provider (if the id begins with one), separator, rest. `qwen3:8b` has none: qwen3 is no provider."""
    for separator in ("/", ":"):
        head, found, rest = model.partition(separator)
        if found and rest and head.lower() in _ALIASES:
            return _ALIASES[head.lower()], separator, rest
    return None, "", model.removeprefix("models/")

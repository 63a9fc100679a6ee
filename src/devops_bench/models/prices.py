"""What a request costs, by the price list that comes with `genai-prices` (extra `agents`). Never asks the network.

A price that is not known is None, never 0: a free run and an unknown one must not look alike.
"""

from __future__ import annotations

_PROVIDER_IDS = {
    "google": "google",
    "vertex": "google",
    "openai": "openai",
    "openai-responses": "openai",
    "anthropic": "anthropic",
}


def preload(provider: str) -> None:
    """Read the price list now, if this provider is in it: it takes half a second that no request should pay."""
    if provider in _PROVIDER_IDS:
        cost_usd("", provider, input=0, output=0)


def has_price(model: str, provider: str) -> bool:
    """Whether requests to `model` have a known price."""
    return cost_usd(model, provider, input=0, output=0) is not None


def cost_usd(
    model: str,
    provider: str,
    *,
    input: int | None,
    output: int | None,
    cached: int | None = None,
    cache_write: int | None = None,
) -> float | None:
    """USD for these tokens, None when the price or both counts are unknown.

    `input` includes `cached` and `cache_write`; `output` includes reasoning. Scripted models and servers of one's own
    have no price.
    """
    known = _PROVIDER_IDS.get(provider)
    if known is None or (input is None and output is None):
        return None
    try:
        from genai_prices import Usage, calc_price
    except ImportError:
        return None
    total = max(input or 0, (cached or 0) + (cache_write or 0))
    usage = Usage(
        input_tokens=total,
        output_tokens=output or 0,
        cache_read_tokens=cached or 0,
        cache_write_tokens=cache_write or 0,
    )
    try:
        price = calc_price(usage, model_ref=model.removeprefix("models/"), provider_id=known)
    except (LookupError, ValueError):
        return None
    return float(price.total_price)

"""Statistics over attempts. Pure; no figure without its n.

pass@k: Chen et al. 2021, "Evaluating Large Language Models Trained on Code" (the unbiased estimator).
pass^k: Yao et al. 2024, "tau-bench". Wilson interval: Wilson 1927, J. Am. Stat. Assoc. 22.
"""

from __future__ import annotations

from math import comb, sqrt

Z_95 = 1.959963984540054


def pass_at_k(n: int, c: int, k: int) -> float | None:
    """Chance that at least one of k attempts drawn from n, of which c passed, passes. None if n < k."""
    _check(n, c, k)
    return None if n < k else 1.0 - comb(n - c, k) / comb(n, k)


def pass_pow_k(n: int, c: int, k: int) -> float | None:
    """Chance that all of k attempts drawn from n, of which c passed, pass. None if n < k."""
    _check(n, c, k)
    return None if n < k else comb(c, k) / comb(n, k)


def wilson(c: int, n: int, z: float = Z_95) -> tuple[float, float] | None:
    """The Wilson score interval of the rate c / n (95% by default). None if n is 0."""
    _check(n, c, 1)
    if n == 0:
        return None
    rate, square = c / n, z * z
    centre = (rate + square / (2 * n)) / (1 + square / n)
    half = z / (1 + square / n) * sqrt(rate * (1 - rate) / n + square / (4 * n * n))
    low = 0.0 if c == 0 else max(0.0, centre - half)
    high = 1.0 if c == n else min(1.0, centre + half)
    return low, high


def _check(n: int, c: int, k: int) -> None:
    if not 0 <= c <= n or k < 1:
        raise ValueError(f"{c} passes of {n} attempts, k={k}: need 0 <= c <= n and k >= 1")

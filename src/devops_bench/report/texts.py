"""Values as people read them. Unknown is a dash, never 0; text from outside is made harmless for a terminal."""

from __future__ import annotations

from devops_bench.plaintext import one_line

plain = one_line

DASH = "–"


def score(value: float | None) -> str:
    """Two decimals; never rounded up to 1.00 or down to 0.00 when it is neither."""
    if value is None:
        return DASH
    shown = f"{value:.2f}"
    if shown == "1.00" and value < 1:
        return "0.99"
    return "0.01" if shown == "0.00" and value > 0 else shown


def percent(value: float | None) -> str:
    """Whole percent; 0% and 100% only when exact."""
    if value is None:
        return DASH
    whole = round(value * 100)
    if whole == 100 and value < 1:
        whole = 99
    if whole == 0 and value > 0:
        whole = 1
    return f"{whole}%"


def interval(low: float | None, high: float | None) -> str:
    """`44–97%`."""
    return DASH if low is None or high is None else f"{percent(low)[:-1]}–{percent(high)}"


def seconds(value: float | None) -> str:
    """`0.4s`, `12s`, `3m05s`, `2h10m`."""
    if value is None:
        return DASH
    if value < 9.95:
        return f"{value:.1f}s"
    whole = round(value)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def usd(value: float | None) -> str:
    """`$0.0042`, `$1.37`; `$0` only when it is known to be nothing."""
    if value is None:
        return DASH
    if value == 0:
        return "$0"
    return f"${value:.4f}" if value < 0.1 else f"${value:,.2f}"


def count(value: int | float | None) -> str:
    """`812`, `12.3k`, `4.5M`."""
    if value is None:
        return DASH
    if value < 10_000:
        return f"{value:.0f}"
    return f"{value / 1000:.1f}k" if value < 999_950 else f"{value / 1e6:.1f}M"


def ratio(part: int | None, whole: int) -> str:
    """`3/4`."""
    return DASH if part is None else f"{part}/{whole}"


def number(value: int | None) -> str:
    """The number, or a dash."""
    return DASH if value is None else str(value)

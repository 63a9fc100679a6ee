"""Kubernetes quantities as exact decimals: `500m` = 0.5, `1Gi` = 1073741824, `1e3` = 1000.

Grammar: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/quantity/
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

_NUMBER = re.compile(
    r"(?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+))(?P<suffix>Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d{1,3})?", re.ASCII
)
_LONGEST = 64  # characters; no real quantity comes near, and a hostile one must not cost time
_SCALES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    **{f"{prefix}i": Decimal(1024) ** power for power, prefix in enumerate("KMGTPE", 1)},
}


def parse(value: Any) -> Decimal | None:
    """The number that `value` (a number, or text in quantity notation) stands for, or None. A boolean is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value)
    if isinstance(value, float):
        number = Decimal(repr(value))
        return number if number.is_finite() else None
    if not isinstance(value, str) or len(value) > _LONGEST:
        return None
    found = _NUMBER.fullmatch(value.strip())
    if found is None:
        return None
    suffix = found["suffix"] or ""
    scale = _SCALES.get(suffix)
    return Decimal(found["number"]) * (scale if scale is not None else Decimal(f"1{suffix}"))


def speaks_numbers(value: Any) -> bool:
    """True for what can only be meant as a number: a number itself, or text with a quantity suffix.

    Plain digits in a string are not: `"1.20"` may be a version, and as a version it differs from `"1.2"`.
    """
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    if not isinstance(value, str) or len(value) > _LONGEST:
        return False
    found = _NUMBER.fullmatch(value.strip())
    return found is not None and found["suffix"] is not None

"""What an agent's own commands did to its program: evidence that a crash is the model's doing and nobody else's.

A run that cannot be judged costs nothing and may be tried again, so an agent must not be able to make one of a run that
goes badly. Only evidence from outside the sandbox counts: what the model asked for, and the kernel's limits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from devops_bench.models.exchange import AskedCall, Exchange

_DEPTH = 8
_KILLS = re.compile(
    r"(?<![A-Za-z0-9])(?:p?kill|killall5?|killpg|skill|fuser|SIG(?:KILL|TERM|INT|HUP|QUIT|ABRT|STOP)|halt|reboot|shutdown)"
    r"(?![A-Za-z0-9])"
)


def killed_itself(turns: Sequence[Exchange]) -> AskedCall | None:
    """The call under way at the end of `turns` that ends processes; None when there is none.

    Only the last reply's calls can have been under way: the model was not asked again after them.
    """
    last = turns[-1] if turns else None
    if last is None or last.fault:
        return None
    return next((call for call in last.calls if any(_KILLS.search(text) for text in _texts(call.args, _DEPTH))), None)


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict):
        for one in value.values():
            yield from _texts(one, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, depth - 1)

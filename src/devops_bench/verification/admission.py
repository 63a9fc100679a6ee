"""What is admitted follows late: the API server takes changed policies into use once a second, and nothing tells when.

Whoever asks at once after the agent's last act would be answered as before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from devops_bench.tasks.spec import Entry
from devops_bench.verification.context import VerifyContext
from devops_bench.verification.snapshot import checks_of

_IN_USE = 1.5  # seconds
_ASKING = frozenset({"dry_run", "script"})  # checks that may ask what is admitted


def await_admission(entries: Sequence[Entry], context: VerifyContext) -> None:
    """Let policies come into use where one of `entries` may ask for their effect."""
    if context.kube is not None and any(check.type in _ASKING for check in checks_of(entries)):
        context.cancelled.wait(_IN_USE)

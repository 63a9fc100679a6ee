"""Turns verdicts, judged scores and integrity into a record's `scores`, and attempts into statistics. Pure.

Invariant: an absent score means that its metric did not run; nothing here turns an absence into a 0.
"""

from devops_bench.scoring.computed import tool_invocation
from devops_bench.scoring.outcome import SCORING_VERSION, score

__all__ = ["SCORING_VERSION", "score", "tool_invocation"]

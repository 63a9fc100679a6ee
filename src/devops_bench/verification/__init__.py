"""Judges what an agent left behind, from evidence that does not come from the agent.

Called by the combo (baseline after setup, one pass before the agent, hold samples during its turn, the whole
verification after it) and by the preflight (`unsupported`). Invariants: it only reads; pass, fail and error are never
exchanged; no entry spends another's time; the order of entries changes nothing.
"""

from devops_bench.verification.baseline import Baseline, take_baseline
from devops_bench.verification.context import Limits, VerifyContext
from devops_bench.verification.hold import HoldSampler, HoldTrack
from devops_bench.verification.result import EntryResult, HoldReport
from devops_bench.verification.rollup import Rollup, rollup
from devops_bench.verification.support import unsupported
from devops_bench.verification.timers import longest_stage_delay
from devops_bench.verification.verdict import Status, Verdict
from devops_bench.verification.verify import assert_once, verify

__all__ = [
    "Baseline",
    "EntryResult",
    "HoldReport",
    "HoldSampler",
    "HoldTrack",
    "Limits",
    "Rollup",
    "Status",
    "Verdict",
    "VerifyContext",
    "assert_once",
    "longest_stage_delay",
    "rollup",
    "take_baseline",
    "unsupported",
    "verify",
]

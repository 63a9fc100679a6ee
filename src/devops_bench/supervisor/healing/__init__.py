"""Unlimited mode: a fault of the program or of a task is handed to a fixer, and the run goes on with its commit.

Opt-in (`run --unlimited --fixer CMD`). Works in a git worktree of its own, never in the user's tree. `STOPS` lists, in
one place, everything that ends it; the run itself goes on and reports what was not repaired.
"""

from __future__ import annotations

STOPS = (
    "the cap of fixes for the run, or for one signature, is reached",
    "the time for fixing is used up",
    "the run's budget is used up: --max-cost, --max-tokens, --max-duration, or what stands for them when none is given",
    "only --max-cost or --max-tokens limits the run, and the fixer does not say what it spends",
    "the same signature comes again after its fix",
    "a change touches answers of tasks, verification, scoring, or what checks the program (the goalposts)",
    "the user's tree has uncommitted changes, or the program does not run from a git checkout",
    "a task outside the checkout is at fault",
)

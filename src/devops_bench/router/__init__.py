"""From a failure's words, phase and exit code to its class and what to do: `docs/appendix/known_issues.md` as data.

Called by the combo (to classify), by the supervisor (may it be tried again?) and by `devops-bench known-issues`.
"""

from devops_bench.router.route import Route, route

__all__ = ["Route", "route"]

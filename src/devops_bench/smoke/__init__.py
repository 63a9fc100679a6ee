"""The smoke test: is every configuration what its label says, on this host, before a matrix spends hours on it?

One small combo for each configuration, played by a scripted model (no tokens) or a real one. Used by `devops-bench
smoke` and as the gate in front of a run.
"""

from devops_bench.smoke.plan import SmokeOptions
from devops_bench.smoke.run import Report, check
from devops_bench.smoke.verdict import Row, Verdict

__all__ = ["Report", "Row", "SmokeOptions", "Verdict", "check"]
